"""The rating scale: public, declared before any rating is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import ParameterError


@dataclass(frozen=True)
class RatingScale:
    """The closed interval that ratings live in.

    >>> RatingScale(0.5, 5).middle
    2.75
    """

    lo: float = 1.0
    hi: float = 5.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.hi - self.lo) and self.lo < self.hi):
            raise ParameterError(
                f"a rating scale needs finite lo < hi: got lo={self.lo!r}, hi={self.hi!r}"
            )
        object.__setattr__(self, "lo", float(self.lo))
        object.__setattr__(self, "hi", float(self.hi))

    @classmethod
    def of(cls, value: RatingScale | tuple[float, float]) -> RatingScale:
        """Accept a scale or a (lo, hi) pair."""
        return value if isinstance(value, RatingScale) else cls(*value)

    @property
    def middle(self) -> float:
        """The centre of the scale, a public constant that ratings may be centred on."""
        return (self.lo + self.hi) / 2

    @property
    def span(self) -> float:
        """The largest difference between two ratings."""
        return self.hi - self.lo

    @property
    def largest(self) -> float:
        """The largest absolute rating, r_max of the paper's Theorem 1."""
        return max(abs(self.lo), abs(self.hi))

    def clip(self, values: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """Move every value into the scale."""
        return np.asarray(np.clip(values, self.lo, self.hi))

    def __str__(self) -> str:
        return f"{self.lo:g}..{self.hi:g}"
