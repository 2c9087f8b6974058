"""Charts as numbers: what a template needs to draw them as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from discreet.database.ledger import ReleaseEntry
from discreet.privacy.lifetime import Loss
from discreet.service.plain_language import Level, percent, surest

WIDTH, HEIGHT = 440.0, 240.0
"""So narrow that words can be read on a phone."""
LEFT, RIGHT, TOP, BOTTOM = 48.0, 8.0, 22.0, 42.0
_BROADEST = 64.0
"""Of a bar: one alone is no wall."""
_VALUES, _DATES, _MOST = 8, 5, 24
"""Up to so many bars have their values, and their days, written beside them; and are shown."""


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
    """Horizontal lines, explained in a legend."""


class Certainty(NamedTuple):
    """How sure anybody can become about a rating at one level."""

    name: str
    percent: str
    width: float
    """Of 100, from a tossed coin to certainty."""
    tone: int


def certainty(levels: Sequence[Level], delta: float) -> list[Certainty]:
    """A bar for every level on offer, none of which has spent anything yet."""
    found = []
    for tone, level in enumerate(levels):
        share = surest(Loss(level.epsilon, delta))
        width = round(100 * (2 * share - 1), 1)
        found.append(Certainty(level.name, percent(share), width, tone))
    return found


def timeline(releases: Sequence[ReleaseEntry], counted: Mapping[int, int]) -> Chart:
    """For every release, how many pairs it counted that no later one has counted again."""
    shown = list(releases)[-_MOST:]
    dated = len(shown) <= _DATES
    return _bars([(_label(entry, dated), counted.get(entry.number, 0)) for entry in shown])


def _label(entry: ReleaseEntry, dated: bool) -> str:
    if not dated:
        return str(entry.number)
    return f"{entry.number} · {datetime.fromtimestamp(entry.published_at / 1000, UTC):%-d %b}"


def budget(spread: Sequence[tuple[float, float, int]]) -> Chart:
    """How many pairs have spent up to each offered level."""
    return _bars([(f"{low:g} to {high:g}", count) for low, high, count in spread])


def picture(assessed: Mapping[str, Any]) -> Chart | None:
    """Error against level, one for all; lines for nobody's privacy and for guessing the mean. None
    of events, of which no rating is predicted."""
    if "mean" not in assessed:
        return None
    lines = {**_own_lines(assessed), "always the mean": assessed["mean"]}
    return _curve(assessed["uniform"], lines)


def hits(assessed: Mapping[str, Any]) -> Chart | None:
    """Hits among ten listed items against level; None where nobody's lists could be judged."""
    found = assessed.get("hits")
    if not found or any(value is None for _, value in found["uniform"]):
        return None
    return _curve(found["uniform"], _own_lines(found))


def _own_lines(found: Mapping[str, Any]) -> dict[str, float | None]:
    return {"everybody's own level": found["chosen"], "without noise": found["no_noise"]}


def _curve(uniform: Sequence[Sequence[float]], all_lines: Mapping[str, float | None]) -> Chart:
    """A value against the level that everybody has, on a logarithmic scale, and lines."""
    points = [(math.log10(level), value) for level, value in uniform]
    levels = [level for level, _ in uniform]
    lines = {name: value for name, value in all_lines.items() if value is not None}
    values = [value for _, value in points] + list(lines.values())
    low, high = _rounded(min(values), max(values))
    first, last = points[0][0] - 0.15, points[-1][0] + 0.15

    def x(value: float) -> float:
        return LEFT + (value - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    marks = [
        Mark(x(at), y(value), 0, 0, f"epsilon {level:g}", f"{value:.3f}")
        for (at, value), level in zip(points, levels, strict=True)
    ]
    path = " ".join(f"{'L' if k else 'M'}{m.x:.1f},{m.y:.1f}" for k, m in enumerate(marks))
    return Chart(
        marks,
        [Tick(x(math.log10(level)), f"{level:g}") for level in levels],
        [Tick(y(value), f"{value:.2f}") for value in _steps(low, high)],
        path,
        tuple(Mark(LEFT, y(value), 0, 0, name, f"{value:.3f}") for name, value in lines.items()),
    )


def _bars(values: Sequence[tuple[str, int]]) -> Chart:
    most = max([value for _, value in values], default=0)
    top = _nice(most)
    room = (WIDTH - LEFT - RIGHT) / max(1, len(values))
    broad, tall = min(room * 0.7, _BROADEST), HEIGHT - TOP - BOTTOM
    marks = []
    for k, (label, value) in enumerate(values):
        height, x = tall * value / top, LEFT + room * (k + 0.5) - broad / 2
        y = HEIGHT - BOTTOM - height
        marks.append(Mark(x, y, broad, height, label, f"{value:,}"))
    x_ticks = [Tick(mark.x + mark.width / 2, mark.label) for mark in marks]
    y_ticks = [Tick(HEIGHT - BOTTOM - tall * part / 4, _short(top * part / 4)) for part in range(5)]
    return Chart(marks, x_ticks, y_ticks)


def _short(value: float) -> str:
    """A number on an axis.

    >>> _short(37500), _short(2e6), _short(10)
    ('37.5k', '2M', '10')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


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


def frame() -> dict[str, float]:
    """Where a chart's parts are, for the templates."""
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "below": HEIGHT - BOTTOM,
        "most_values": _VALUES,
    }
