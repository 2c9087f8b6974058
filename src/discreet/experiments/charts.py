"""Charts as SVG inside a page: curves over levels of privacy, and lines for what has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log10
from typing import NamedTuple

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 52, 190, 34, 42
COLOURS = (
    "#0b57d0", "#cf222e", "#1a7f37", "#9a6700", "#8250df", "#bf3989", "#0a7ea4", "#57606a",
    "#b35900", "#4d7c0f", "#7c2d12", "#334155",
)  # fmt: skip


class Chart(NamedTuple):
    """What is drawn: curves by name, of points (level, value), and lines that have no level."""

    title: str
    curves: Mapping[str, Sequence[tuple[float, float]]]
    lines: Mapping[str, float]
    first: str = ""
    """A curve that is drawn thicker than the others."""
    logarithmic: bool = False


def draw(chart: Chart) -> str:
    """The chart as an SVG element; names of near lines do not cover each other."""
    points = [point for curve in chart.curves.values() for point in curve]
    values = [value for _, value in points] + list(chart.lines.values())
    if not points:
        return ""
    low, high = min(values), max(values)
    if chart.logarithmic:
        low, high = log10(max(low, 1e-3)), log10(max(high, 1e-3))
    margin = 0.06 * (high - low) or 0.01
    low, high = low - margin, high + margin
    levels = sorted({level for level, _ in points})
    first, last = log10(levels[0]) - 0.1, log10(levels[-1]) + 0.1

    def x(level: float) -> float:
        return LEFT + (log10(level) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        at = log10(max(value, 1e-3)) if chart.logarithmic else value
        return HEIGHT - BOTTOM - (at - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    drawn = [*_axes(chart, levels, x, low, high)]
    ends: list[tuple[float, str, str]] = []
    for k, (name, curve) in enumerate(chart.curves.items()):
        colour = COLOURS[k % len(COLOURS)]
        at = [(x(level), y(value)) for level, value in sorted(curve)]
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py in at)
        width = 3.4 if name == chart.first else 1.6
        drawn.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        drawn += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in at]
        ends.append((at[-1][1], name, colour))
    for name, value in chart.lines.items():
        drawn.append(
            f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="#8b949e" '
            'stroke-dasharray="4 4"/>'
        )
        ends.append((y(value), f"{name}, not private", "#6e7781"))
    below = float("-inf")
    for at_y, name, colour in sorted(ends):
        below = max(at_y + 4, below + 13)
        drawn.append(
            f'<text x="{WIDTH - RIGHT + 8}" y="{below:.1f}" fill="{colour}">{escape(name)}</text>'
        )
    height = max(HEIGHT, below + 8)
    inside = "\n".join(drawn)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(chart.title)}; '
        f'the table has the numbers" font-size="11">\n{inside}\n</svg>'
    )


def _axes(chart: Chart, levels: Sequence[float], x: object, low: float, high: float) -> list[str]:
    assert callable(x)
    bottom = HEIGHT - BOTTOM
    found = [
        f'<text class="ink" x="{LEFT}" y="18" font-size="14">{escape(chart.title)}</text>',
        f'<path d="M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}" fill="none" stroke="#8b949e"/>',
        f'<text class="ink" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" '
        'text-anchor="middle">epsilon</text>',
    ]
    found += [
        f'<text class="ink" x="{x(level):.1f}" y="{bottom + 16}" '
        f'text-anchor="middle">{level:g}</text>'
        for level in levels
    ]
    for part in range(5):
        value = low + (high - low) * part / 4
        at = bottom - part / 4 * (bottom - TOP)
        told = f"{10**value:.2g}" if chart.logarithmic else f"{value:.3f}"
        found.append(
            f'<text class="ink" x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{told}</text>'
        )
    return found
