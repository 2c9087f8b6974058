"""The demo's figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.cli.results import Result
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


def draw_lists(results: Sequence[Result], title: str, path: Path) -> Path:
    """Draw how good everybody's lists are, with the interval over people, best at the top."""
    from discreet.evaluate.crossval import NOT_PRIVATE

    order = sorted(results, key=lambda result: float(result.figures["ndcg@10"]))
    colours = {NOT_PRIVATE: "0.7", "the truth": "0.35"}
    with canvas(path) as axes:
        axes.barh(
            [result.names[0] for result in order],
            [result.figures["ndcg@10"] for result in order],
            xerr=[result.figures["ndcg@10_margin"] for result in order],
            color=[colours.get(str(result.mechanism), "tab:blue") for result in order],
            error_kw={"ecolor": "0.2", "elinewidth": 1},
        )
        axes.set(title=title, xlabel="NDCG@10; blue: with noise, grey: not private")
        axes.grid(alpha=0.3, axis="x")
        axes.set_axisbelow(True)
    return path
