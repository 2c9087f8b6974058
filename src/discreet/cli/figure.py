"""Figures, for those who installed the extra `plots`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import MissingExtraError, OutputError


def draw_error_cdf(errors: dict[str, Any], title: str, path: Path) -> Path:
    """Draw, for every scheme, the share of ratings whose absolute error is at most x."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError(
            "drawing needs Matplotlib: install the extra with: pip install 'discreet[plots]'"
        ) from None
    figure, axes = pyplot.subplots(figsize=(7.2, 4.5), dpi=150, layout="constrained")
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error}") from None
    finally:
        pyplot.close(figure)
    return path
