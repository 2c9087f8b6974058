"""One's own mean beside the regression: whoever always gives the same needs no model of items.

A regression on item values cannot know how steadily somebody rates. Their own ratings can: both
predictions are judged by how well they explain them, and mixed by that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array, Floats, Integers

_STEADY = (0.1, 0.02)
"""Shape and rate of the inverse gamma distribution of somebody's variance around a prediction,
before anything is seen: so wide that a few equal ratings overrule it."""
_USUAL = (1.0, 0.8)
"""The same, where somebody with few ratings is taken for usual: around 0.8, as the ridges are."""
_APART = 0.15
"""That rate is at least this share of what the regression leaves of a rating's variance."""
LOG_ODDS = 3.0
"""In favour of the regression, before anything is seen."""


class OwnLevel(NamedTuple):
    """How a person's own level is judged: public values of a release."""

    mean: float
    """That of all ratings, towards which somebody's own is drawn."""
    ridge: float
    """As if they had rated so many items just like that."""


class OwnMeans(NamedTuple):
    """People's own means, and how much the regression is trusted beside each: from 0 to 1."""

    means: Floats
    shift: Floats
    """What the regression is to be corrected by: whoever rates steadily shows their level."""
    trust: Floats

    def mixed(self, who: Array, scores: Array) -> Floats:
        """Scores of these people, with their own means mixed in."""
        means = self.means[who]
        return np.asarray(means + self.trust[who] * (scores + self.shift[who] - means))


def judge_own_means(
    ptr: NDArray[np.int64],
    ratings: Array,
    residual: Array,
    penalty: Array,
    level: OwnLevel,
    unit: float,
) -> OwnMeans:
    """Each person's own mean, and the odds that the regression explains them better.

    Either leaves a sum of squares Q around its level: that of the ratings around their mean, or of
    the residuals around theirs, with the `penalty` of the coefficients. With a variance that is not
    known, Q has a likelihood of (rate + Q/2)^-(shape + (n - 1)/2). `unit` is a quarter of the
    scale, squared.
    """
    n = np.diff(ptr)
    mean, alone = _moments(ptr, ratings.astype(np.float64) - level.mean)
    rest, explained = _moments(ptr, residual)
    alone, explained = alone / (2 * unit), (explained + penalty) / (2 * unit)
    freedom = np.maximum(n - 1, 0) / 2
    shape, least = _STEADY
    # Where people are hard to explain, ratings are few points far apart, and equal by chance.
    rate = least + _APART * explained / (freedom + 1)
    odds = LOG_ODDS + (shape + freedom) * np.log((rate + alone) / (rate + explained))
    trust = np.where(n > 0, 1 / (1 + np.exp(-np.clip(odds, -50, 50))), 1.0)
    return OwnMeans(
        means=level.mean + mean * n / (n + _ridge(level, alone, freedom)),
        shift=_shift(rest, n, level.ridge, _ridge(level, explained, freedom)),
        trust=trust,
    )


def _ridge(level: OwnLevel, squares: Floats, freedom: Floats) -> Floats:
    """What a level is drawn by: less, where somebody varies less around it than is usual."""
    shape, rate = _USUAL
    return level.ridge * np.minimum((rate + squares) / (shape + freedom) / (rate / shape), 1.0)


def _shift(rest: Floats, n: Integers, ridge: float, smaller: Floats) -> Floats:
    """What a level S/(n + ridge) is to be corrected by to become S/(n + smaller).

    It has left a mean residual of rest = S/n - S/(n + ridge).
    """
    return rest * n * (1 - smaller / ridge) / (n + smaller)


def _moments(ptr: NDArray[np.int64], values: Floats) -> tuple[Floats, Floats]:
    """Every person's mean, and the sum of squares around it."""
    n = np.maximum(np.diff(ptr), 1)
    mean = _sums(ptr, values) / n
    return mean, np.maximum(_sums(ptr, values * values) - n * mean * mean, 0.0)


def _sums(ptr: NDArray[np.int64], values: Floats) -> Floats:
    """Every person's sum, of their own values alone: nobody else changes how it is rounded."""
    sums, some = np.zeros(len(ptr) - 1), ptr[1:] > ptr[:-1]
    if some.any():
        sums[some] = np.add.reduceat(values, ptr[:-1][some])
    return sums
