"""The demo's figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.figure import canvas


def draw_error_cdf(errors: dict[str, Any], title: str, path: Path) -> Path:
    """Draw, for every scheme, the share of ratings whose absolute error is at most x."""
    with canvas(path) as axes:
        _error_cdf(axes, errors, title)
    return path


def _error_cdf(axes: Any, errors: dict[str, Any], title: str) -> None:
    grid = np.linspace(0, 4, 401)
    for name, sizes in errors.items():
        share = np.searchsorted(np.sort(sizes), grid, side="right") / len(sizes)
        ideal = name.startswith("a perfect")
        axes.plot(
            grid,
            share,
            label=name,
            linewidth=1.6,
            linestyle="--" if ideal else "-",
            color="0.35" if ideal else None,
        )
    axes.set(
        title=title,
        xlabel="absolute error (stars)",
        ylabel="share of ratings with at most it",
        xlim=(0, 4),
        ylim=(0, 1),
    )
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
