"""Accounting for Gaussian noise: how much of it an (epsilon, delta) needs, rounded to be safe.

A mechanism is mu-GDP (Gaussian differential privacy) if telling its results with and without a
record apart is at least as hard as telling a normal number of mean 0 from one of mean mu. Noise of
deviation sigma on a sum that a record moves by D is D/sigma-GDP; of several such releases the
squares of mu add up. The functions here translate mu to (epsilon, delta) and back, exactly.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.kernels.threads import blockwise
from discreet.privacy.fixedpoint import BUDGET_SHAVE, FUNCTIONS_HAIR

_TABLE = 2048
_STEPS = 44
"""Binary digits of a mu: what is below them is not worth looking for."""
_NOTHING = 1e-290
"""Below it erfc may have lost its digits: added to one tail, and the other is left out."""


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The least delta with which a mu-GDP mechanism is (epsilon, delta)-DP.

    delta = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2)

    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    upper = _normal_tail(epsilon / mu - mu / 2)
    lower = _normal_tail(epsilon / mu + mu / 2)
    # In logarithms, because e^eps may overflow where the tail underflows.
    second = math.exp(epsilon + math.log(lower)) if lower > 0 else 0.0
    return max(upper - second, 0.0)


def _normal_tail(x: float) -> float:
    """P(N > x)."""
    return 0.5 * math.erfc(x / math.sqrt(2))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu, rounded down, with which mu-GDP implies (epsilon, delta)-DP.

    The larger mu, the less noise. A hair of both is set aside, for whoever computed them.

    >>> round(gaussian_mu(1.0, 1e-6), 4)
    0.2367
    """
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be between 0 and 1: got {delta!r}")
    epsilon, delta = (1 - BUDGET_SHAVE) * epsilon, (1 - BUDGET_SHAVE) * delta
    if epsilon <= 0:
        return 0.0
    # Whatever is answered has passed a check that rounding cannot fool.
    mu = 1.0
    while delta_at_most(mu, epsilon) <= delta:
        mu *= 2
    while mu > _NOTHING and delta_at_most(mu, epsilon) > delta:
        mu /= 2
    if mu <= _NOTHING:
        return 0.0
    step = mu
    for _ in range(_STEPS):
        step /= 2
        if delta_at_most(mu + step, epsilon) <= delta:
            mu += step
    return mu


def delta_at_most(mu: float, epsilon: float) -> float:
    """A number that is at least `gaussian_delta`, whatever was rounded: #gaussian-accounting.

    Both tails are taken a hair to the unfavourable side, in their argument and their value.
    """
    far = epsilon / mu + mu / 2
    upper = (
        _normal_tail(epsilon / mu - mu / 2 - FUNCTIONS_HAIR * far) * (1 + FUNCTIONS_HAIR) + _NOTHING
    )
    lower = _normal_tail(far + FUNCTIONS_HAIR * far)
    if lower < _NOTHING:
        return upper
    error = FUNCTIONS_HAIR * (2 + epsilon - math.log(lower))
    return upper - math.exp(epsilon + math.log(lower)) * (1 - error)


def usable_mu(epsilon: float, delta: float) -> float:
    """`gaussian_mu`, or an error where an epsilon or a delta is too small for Gaussian noise."""
    if (mu := gaussian_mu(epsilon, delta)) > 0:
        return mu
    raise ParameterError(
        f"an epsilon of {epsilon:g} and a delta of {delta:g} are too small for Gaussian noise: its "
        "accounting is in 64-bit numbers"
    )


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least epsilon with which a mu-GDP mechanism is (epsilon, delta)-DP, at least 0.

    >>> round(gaussian_epsilon(1.0, 0.126937), 3)
    1.0
    """
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(mu, middle) > delta else (low, middle)
    return high


def gaussian_weights(levels: NDArray[np.float64], t: float, delta: float) -> NDArray[np.float64]:
    """How much each record may count under noise that was made for a level of t, from 0 to 1.

    min(1, mu(eps, delta) / mu(t, delta)) for every level eps, rounded down on a grid of levels.

    >>> gaussian_weights(np.array([1.0, 2.0]), 1.0, 1e-6).tolist()
    [1.0, 1.0]
    """
    grid, table = _weight_table(t, delta)

    def weights(some: NDArray[np.float64]) -> NDArray[np.float64]:
        # mu grows with eps, so the value at the grid point below a level is never too large.
        place = np.floor(np.minimum(some / t, 1.0) * _TABLE).astype(np.int64)
        # A quotient that was rounded up to a grid point belongs to the point below.
        place = np.where(grid[place] > some, place - 1, place)
        return np.asarray(table[place])

    return blockwise(weights, np.float64, levels)


@lru_cache(maxsize=64)
def _weight_table(t: float, delta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    grid = t * np.arange(_TABLE + 1) / _TABLE
    top = gaussian_mu(t, delta)
    if top <= 0:
        return grid, np.zeros(_TABLE + 1)
    table = np.array([gaussian_mu(level, delta) for level in grid[:-1]] + [top]) / top
    return grid, np.minimum(table, 1.0)
