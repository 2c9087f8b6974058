"""Figures, for those who installed the extra `plots`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import MissingExtraError, OutputError

if TYPE_CHECKING:
    from discreet.audit.game import Finding


@contextmanager
def _figure(path: Path, size: tuple[float, float] = (7.2, 4.5), columns: int = 1) -> Iterator[Any]:
    """Axes to draw on; what was drawn is saved to `path`."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError(
            "drawing needs Matplotlib: install the extra with: pip install 'discreet[plots]'"
        ) from None
    figure, axes = pyplot.subplots(1, columns, figsize=size, dpi=150, layout="constrained")
    try:
        yield axes
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write {path}: {error}") from None
    finally:
        pyplot.close(figure)


def draw_error_cdf(errors: dict[str, Any], title: str, path: Path) -> Path:
    """Draw, for every scheme, the share of ratings whose absolute error is at most x."""
    with _figure(path) as axes:
        _error_cdf(axes, errors, title)
    return path


def _error_cdf(axes: Any, errors: dict[str, Any], title: str) -> None:
    grid = np.linspace(0, 4, 401)
    for name, sizes in errors.items():
        share = np.searchsorted(np.sort(sizes), grid, side="right") / len(sizes)
        ideal = name.startswith("a perfect")
        axes.plot(
            grid, share, label=name, linewidth=1.6,
            linestyle="--" if ideal else "-", color="0.35" if ideal else None,
        )  # fmt: skip
    axes.set(
        title=title, xlabel="absolute error (stars)", ylabel="share of ratings with at most it",
        xlim=(0, 4), ylim=(0, 1),
    )  # fmt: skip
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)


_MARKS = {
    "Tally": ("o", "tab:blue", 0.94), "Chorus": ("s", "tab:green", 1.06),
    "DP-PMF": ("^", "tab:orange", 0.88), "PDP-PMF": ("v", "tab:red", 1.13),
}  # fmt: skip
"""Marker, colour, and a little to the side so that marks do not hide each other."""


def draw_audit(findings: list[Finding], path: Path) -> Path:
    """Claimed epsilon against the proven lower bound, one mark a game."""
    with _figure(path, (7.2, 5.6)) as axes:
        shown = set()
        for finding in findings:
            game = finding.game
            if game.claimed is None:
                axes.axhline(finding.lower_bound, color="0.4", linestyle=":", linewidth=1.2)
                axes.text(
                    0.056, finding.lower_bound * 1.06, f"{game.scheme}, which claims nothing",
                    fontsize=8, color="0.3",
                )  # fmt: skip
                continue
            marker, colour, aside = _MARKS[game.scheme]
            label = f"{game.scheme}{', broken on purpose' if game.control else ''}"
            axes.scatter(
                game.claimed * aside, max(finding.lower_bound, 0.01), marker=marker, s=42,
                label=None if label in shown else label, edgecolors=colour, linewidths=1.4,
                facecolors="none" if game.control else colour, alpha=0.85,
            )  # fmt: skip
            shown.add(label)
        line = np.array([0.05, 6.0])
        axes.plot(line, line, color="0.3", linewidth=1)
        axes.fill_between(line, line, 20, color="tab:red", alpha=0.06)
        axes.text(0.056, 12, "refuted: more is lost than claimed", fontsize=9, color="tab:red")
        axes.set(
            xscale="log", yscale="log", xlim=(0.05, 6), ylim=(0.009, 20),
            xlabel="claimed epsilon",
            ylabel="proven lower bound (0.01 or less at the bottom)",
            title="What attacks prove against what is claimed",
        )  # fmt: skip
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
        axes.grid(alpha=0.3, which="both", linewidth=0.4)
        axes.legend(frameon=False, fontsize=8, loc="lower right")
    return path
