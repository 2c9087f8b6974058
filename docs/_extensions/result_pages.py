"""Results as charts and tables, from the files that benchmarks write to docs/results."""

from __future__ import annotations

from math import ceil, floor, log10
from pathlib import Path

import polars as pl

FOLDER = Path(__file__).parents[1] / "results"
NAMES = {
    "club": "The cinema club (synthetic)",
    "ml-100k": "MovieLens 100K",
    "ml-1m": "MovieLens 1M",
    "netflix-7128": "Netflix, 7,128 people",
}
FIGURES = {"rmse": "RMSE: lower is better", "ndcg@10": "lists, NDCG@10: higher is better"}
HEADS = ("RMSE", "NDCG@10")
PRIVATE = {"own mean": "takes nobody else's rating", "noisy popularity": "epsilon = 1"}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 400, 270, 44, 16, 34, 40
SCHEMES = ("Tally", "Chorus")
NEAR = 12
"""Lines so near to each other share their words."""


def write_picture() -> str:
    """The charts of the club, for the landing page."""
    return _charts(_levels().filter(pl.col("data") == "club"))


def write_levels() -> str:
    """For every table its charts and its figures."""
    found = _levels()
    parts = []
    for name in found["data"].unique(maintain_order=True):
        rows = found.filter(pl.col("data") == name)
        splits = rows["splits"][0]
        parts.append(
            f"## {NAMES.get(name, name)}\n\nMeans over {splits} split{'s' * (splits > 1)}.\n\n"
            f"{_charts(rows)}\n\n{_table(rows)}"
        )
    return "\n\n".join(parts)


def _levels() -> pl.DataFrame:
    return pl.read_csv(FOLDER / "levels.csv", schema_overrides={"epsilon": pl.Float64})


def _table(rows: pl.DataFrame) -> str:
    """The schemes level by level, side by side; then what stands beside them."""
    known = {(m, e): v for m, e, *v in rows.select("method", "epsilon", *FIGURES).iter_rows()}
    levels = rows.filter(pl.col("method").is_in(SCHEMES))["epsilon"].unique().sort()
    columns = [(scheme, k) for k in range(len(FIGURES)) for scheme in SCHEMES]
    heads = [f"{scheme}, {HEADS[k]}" for scheme, k in columns]
    lines = [_row("epsilon", *heads), _row("---:", *["---:"] * len(heads))]
    lines += [_row(f"{e:g}", *(_number(known[s, e][k]) for s, k in columns)) for e in levels]
    lines += [
        "",
        _row("beside them", "private", *HEADS),
        _row("---", "---", *["---:"] * len(HEADS)),
    ]
    for (method, level), figures in known.items():
        if method not in SCHEMES:
            private = PRIVATE.get(method, "no" if level is None else f"epsilon = {level:g}")
            lines.append(_row(method, private, *map(_number, figures)))
    return "\n".join(lines)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _charts(rows: pl.DataFrame) -> str:
    charts = "\n".join(_chart(rows, figure) for figure in FIGURES)
    return f'```{{raw}} html\n<div class="charts">\n{charts}\n</div>\n```'


def _chart(rows: pl.DataFrame, figure: str) -> str:
    """Curves of the schemes over levels, and a line for each baseline."""
    rows = rows.filter(pl.col(figure).is_not_null())
    low, high = float(rows[figure].min()), float(rows[figure].max())  # type: ignore[arg-type]
    margin = 0.08 * (high - low)
    low, high = low - margin, high + margin
    levels = sorted(rows["epsilon"].drop_nulls().unique())
    first, last = log10(levels[0]) - 0.1, log10(levels[-1]) + 0.1

    def x(level: float) -> float:
        return LEFT + (log10(level) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    drawn = [
        f'<text class="head" x="{LEFT}" y="18">{FIGURES[figure]}</text>',
        f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>',
        f'<text class="tick" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" '
        'text-anchor="middle">epsilon of every rating</text>',
    ]
    drawn += [
        f'<text class="tick" x="{x(level):.1f}" y="{HEIGHT - BOTTOM + 16}" '
        f'text-anchor="middle">{level:g}</text>'
        for level in levels
    ]
    drawn += [
        f'<text class="tick" x="{LEFT - 6}" y="{y(value) + 4:.1f}" '
        f'text-anchor="end">{value:.2f}</text>'
        for value in _ticks(low, high)
    ]
    baselines = rows.filter(pl.col("epsilon").is_null()).sort(figure, descending=True)
    told: list[tuple[float, list[str]]] = []
    for method, value in baselines.select("method", figure).iter_rows():
        at = y(value)
        drawn.append(f'<path class="beside" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
        if told and at - told[-1][0] < NEAR:
            told[-1][1].append(method)
        else:
            told.append((at, [method]))
    names = [
        f'<text class="beside" x="{LEFT + 5}" y="{at - 4:.1f}">{", ".join(methods)}</text>'
        for at, methods in told
    ]
    for scheme in SCHEMES:
        points = rows.filter(pl.col("method") == scheme).sort("epsilon")
        at = [(x(e), y(v)) for e, v in points.select("epsilon", figure).iter_rows()]
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py in at)
        name = scheme.lower()
        drawn.append(f'<path class="curve {name}" d="M{path}"/>')
        drawn += [f'<circle class="{name}" cx="{px:.1f}" cy="{py:.1f}" r="3.5"/>' for px, py in at]
    drawn += names  # above the curves
    for k, scheme in enumerate(SCHEMES):
        at_x = WIDTH - RIGHT - 104 + 56 * k
        drawn.append(f'<text class="key {scheme.lower()}" x="{at_x}" y="18">{scheme}</text>')
    label = f"{FIGURES[figure]}, against epsilon; the table has the numbers"
    inside = "\n".join(drawn)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">\n{inside}\n</svg>'


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers in a range, four to eight of them."""
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / step < 8)
    return [k * step for k in range(ceil(low / step), floor(high / step) + 1)]
