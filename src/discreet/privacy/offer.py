"""Levels on offer: what people could choose from, declared and public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.data.ratings import Ratings
from discreet.errors import SpecError
from discreet.kernels.threads import blockwise


@dataclass(frozen=True)
class Offer:
    """The levels that people could choose from: declared and public, unlike who chose what.

    >>> Offer(1.0, min_level=0.1).describe("rating")
    "each rating's own epsilon, offered from 0.1 up to 1.0; no default"
    """

    max_level: float
    min_level: float | None = None
    default: float | None = None
    """The level of a rating without one, if declared; otherwise such a rating is an error. The
    paper's eps_def is 1.0: the least private level, which is nobody's silent choice."""

    def __post_init__(self) -> None:
        top = read_level("max_level", self.max_level)
        low = None if self.min_level is None else read_level("min_level", self.min_level)
        usual = None if self.default is None else read_level("default", self.default)
        if low is not None and low > top:
            raise SpecError(f"min_level must be at most max_level: got {low:g} > {top:g}")
        if usual is not None and not (low or 0.0) <= usual <= top:
            raise SpecError(f"the default level must be one that is offered: got {usual:g}")
        for name, value in (("max_level", top), ("min_level", low), ("default", usual)):
            object.__setattr__(self, name, value)

    def fill(self, levels: Floats, ratings: Ratings) -> Floats:
        """The default where a record has no level (NaN); without a default, an error that names
        the record."""
        usual = self.default
        if usual is not None:
            return blockwise(lambda some: np.where(np.isnan(some), usual, some), np.float64, levels)
        blank = blockwise(np.isnan, np.bool_, levels)
        if blank.any():
            raise SpecError(no_level(*_pair(ratings, int(np.argmax(blank)))))
        return levels

    def check(self, levels: Floats, ratings: Ratings) -> Floats:
        """The levels, if all were on offer; otherwise an error that names one that was not."""
        low = 0.0 if self.min_level is None else self.min_level
        top = self.max_level
        bad = blockwise(lambda some: (some > top) | (some < low), np.bool_, levels)
        if bad.any():
            k = int(np.argmax(bad))
            user, item = _pair(ratings, k)
            name = "max_level" if levels[k] > self.max_level else "min_level"
            raise SpecError(
                f"epsilon must be within the declared {name} = {getattr(self, name):g}: got "
                f"{levels[k]:g} (user {user!r}, item {item!r}); declare another {name} "
                f"(--{name.replace('_', '-')}), or mend the level"
            )
        return levels

    def describe(self, whose: str) -> str:
        """What was offered, in words for a certificate."""
        floor = "above 0" if self.min_level is None else f"from {self.min_level!r}"
        blank = "no default" if self.default is None else f"{self.default!r} if none was given"
        return f"each {whose}'s own epsilon, offered {floor} up to {self.max_level!r}; {blank}"


def no_level(user: Any, item: Any) -> str:
    """What to say of a rating that has no level, where no default was declared."""
    return (
        f"the rating of user {user!r}, item {item!r} has no level, and no default was declared: "
        "fill the level in, or declare the one that ratings without get, with default=... "
        "(--default-level)"
    )


def _pair(ratings: Ratings, record: int) -> tuple[Any, Any]:
    """The ids of one record, for its owner."""
    user, item = int(ratings.user[record]), int(ratings.item[record])
    return ratings.users.values[user], ratings.items.values[item]


def read_level(name: str, value: Any) -> float:
    """A level as a float, or an error by this name: levels are finite and above zero."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or not np.isfinite(number) or number <= 0:
        raise SpecError(f"{name} must be finite and > 0: got {value!r}")
    return number
