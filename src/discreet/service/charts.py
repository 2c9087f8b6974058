"""Charts as numbers: what a template needs to draw them as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from discreet.database.ledger import ReleaseEntry

WIDTH, HEIGHT = 640.0, 260.0
LEFT, RIGHT, TOP, BOTTOM = 90.0, 20.0, 20.0, 44.0


class Mark(NamedTuple):
    """A bar or a point, with the words that go with it."""

    x: float
    y: float
    width: float
    height: float
    label: str
    value: str


class Tick(NamedTuple):
    """A place on an axis."""

    at: float
    label: str


class Chart(NamedTuple):
    """All that the template draws."""

    marks: list[Mark]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    path: str = ""
    lines: tuple[Mark, ...] = ()
    """Horizontal lines."""


def timeline(releases: Sequence[ReleaseEntry], counted: Mapping[int, int]) -> Chart:
    """For every release, how many pairs it counted that no later one has counted again."""
    shown = list(releases)[-24:]
    dated = len(shown) <= 8
    return _bars([(_label(entry, dated), counted.get(entry.number, 0)) for entry in shown])


def _label(entry: ReleaseEntry, dated: bool) -> str:
    if not dated:
        return str(entry.number)
    return f"{entry.number} · {datetime.fromtimestamp(entry.published_at / 1000, UTC):%-d %b}"


def budget(spread: Sequence[tuple[float, float, int]]) -> Chart:
    """How many pairs have spent up to each offered level."""
    return _bars([(f"{low:g} to {high:g}", count) for low, high, count in spread])


def picture(assessed: Mapping[str, Any]) -> Chart:
    """Error against level, one for all; lines for nobody's privacy and for guessing the mean."""
    points = [(math.log10(level), error) for level, error in assessed["uniform"]]
    levels = [level for level, _ in assessed["uniform"]]
    lines = {
        "always the mean": assessed["mean"],
        "everybody's own level": assessed["chosen"],
        "no noise": assessed["no_noise"],
    }
    lines = {name: error for name, error in lines.items() if error is not None}
    errors = [error for _, error in points] + list(lines.values())
    low, high = _rounded(min(errors), max(errors))
    first, last = points[0][0] - 0.15, points[-1][0] + 0.15

    def x(value: float) -> float:
        return LEFT + (value - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    marks = [
        Mark(x(at), y(error), 0, 0, f"epsilon {level:g}", f"{error:.3f}")
        for (at, error), level in zip(points, levels, strict=True)
    ]
    path = " ".join(f"{'L' if k else 'M'}{m.x:.1f},{m.y:.1f}" for k, m in enumerate(marks))
    return Chart(
        marks,
        [Tick(x(math.log10(level)), f"{level:g}") for level in levels],
        [Tick(y(value), f"{value:.2f}") for value in _steps(low, high)],
        path,
        _apart(
            [Mark(LEFT, y(error), 0, -5, name, f"{error:.3f}") for name, error in lines.items()]
        ),
    )


def _apart(lines: list[Mark]) -> tuple[Mark, ...]:
    """Each line's words above it (`height` is where), or below if another's would be in the way."""
    placed: list[Mark] = []
    for line in sorted(lines, key=lambda mark: mark.y):
        crowded = bool(placed) and line.y - placed[-1].y < 18
        placed.append(line._replace(height=14) if crowded else line)
    return tuple(placed)


def _bars(values: Sequence[tuple[str, int]]) -> Chart:
    most = max([value for _, value in values], default=0)
    top = _nice(most)
    room = (WIDTH - LEFT - RIGHT) / max(1, len(values))
    tall = HEIGHT - TOP - BOTTOM
    marks = []
    for k, (label, value) in enumerate(values):
        height = tall * value / top
        marks.append(
            Mark(
                LEFT + room * (k + 0.15),
                HEIGHT - BOTTOM - height,
                min(room * 0.7, 90.0),
                height,
                label,
                f"{value:,}",
            )
        )
    x_ticks = [Tick(mark.x + mark.width / 2, mark.label) for mark in marks]
    y_ticks = [
        Tick(HEIGHT - BOTTOM - tall * part / 4, f"{top * part / 4:,.6g}") for part in range(5)
    ]
    return Chart(marks, x_ticks, y_ticks)


def _nice(value: float) -> float:
    """The next of 4, 8, 20, 40, 80, ...: quarters of it are whole."""
    size = 4.0
    for factor in (2, 2.5, 2) * 20:
        if size >= value:
            break
        size *= factor
    return size


def _rounded(low: float, high: float) -> tuple[float, float]:
    low, high = math.floor(low * 20) / 20, math.ceil(high * 20) / 20
    return (low, high) if high > low else (low, low + 0.05)


def _steps(low: float, high: float) -> list[float]:
    count = round((high - low) / 0.05)
    step = 0.05 * max(1, math.ceil(count / 6))
    return [low + k * step for k in range(int((high - low) / step + 1e-9) + 1)]
