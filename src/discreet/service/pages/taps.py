"""Taps: how one says with a single tap what one thinks of an item, or that one chose it."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.database.declaration import Declaration

MOST_STARS = 6
"""Points of a scale; with more, stars would be too small to tap on a card."""
MOST_NUMBERS = 12
"""Points of a scale: two rows of a card; with more, one types a number."""


@dataclass(frozen=True)
class Taps:
    """What a card offers, by what was declared."""

    kind: str
    """stars, halves (of stars), numbers, typed; of events chosen, or weighed where how much must be
    said."""
    points: tuple[float, ...] = ()
    """The ratings to choose from."""
    measured: bool = False
    """Of events: whether one can say how much."""

    @property
    def events(self) -> bool:
        """Whether people choose here, and do not rate."""
        return self.kind in ("chosen", "weighed")


def taps_of(declared: Declaration) -> Taps:
    """Stars on a scale of few points, halves of them from a half on, numbers on one of more.

    >>> [taps_of(Declaration(scale=s)).kind for s in ((1, 5), (0.5, 5), (1, 10), (0, 100))]
    ['stars', 'halves', 'numbers', 'typed']
    """
    rules = declared.rules
    if rules is not None:
        measured = rules.quantity is not None
        # Without a number an event counts as what stands for a missing one, or as one of a sum.
        needed = rules.quantity is not None and rules.quantity.missing is None
        needed = needed and rules.repeats != "sum"
        return Taps("weighed" if needed else "chosen", measured=measured)
    low, high = declared.scale
    if low == 0.5 and high == int(high) and high < MOST_STARS:
        return Taps("halves", tuple(k / 2 for k in range(1, int(2 * high) + 1)))
    if low != int(low) or high != int(high) or high - low >= MOST_NUMBERS:
        return Taps("typed")
    points = tuple(float(value) for value in range(int(low), int(high) + 1))
    return Taps("stars" if len(points) <= MOST_STARS else "numbers", points)
