"""How much privacy loss outcomes prove: Clopper-Pearson bounds on epsilon, corrected for trying."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import Array
from discreet.errors import MissingExtraError

CANDIDATES = 4
"""So many thresholds are tried on fresh outcomes, in each direction; the bound pays for each."""
_GRID = 400


class Proof(NamedTuple):
    """The largest epsilon that outcomes prove, by the event score >= threshold or its opposite."""

    epsilon: float
    threshold: float
    upwards: bool


def betaincinv(a: Array, b: Array, share: Any) -> Array:
    """The quantile of a Beta distribution."""
    try:
        from scipy.special import betaincinv as quantile
    except ImportError:
        raise MissingExtraError(
            "an audit needs SciPy and scikit-learn: install them with: pip install "
            "'discreet[audit]'"
        ) from None
    return np.asarray(quantile(a, b, share))


def at_least(successes: Array, runs: int, alpha: float) -> Array:
    """A probability that the true one is below with a chance of at most alpha."""
    low = betaincinv(np.maximum(successes, 1), runs - successes + 1, alpha)
    return np.where(successes > 0, low, 0.0)


def at_most(successes: Array, runs: int, alpha: float) -> Array:
    """A probability that the true one is above with a chance of at most alpha."""
    high = betaincinv(successes + 1, np.maximum(runs - successes, 1), 1 - alpha)
    return np.where(successes < runs, high, 1.0)


def event_bounds(
    more: Array, runs_more: int, less: Array, runs_less: int, alpha: float, delta: float
) -> Array:
    """Lower bounds on epsilon from how often an event happened on either side: at least 0.

    P(event) <= e^epsilon Q(event) + delta, so epsilon >= log((P - delta)/Q); half of alpha pays
    for the estimate of P, half for that of Q.
    """
    p = at_least(more, runs_more, alpha / 2) - delta
    q = at_most(less, runs_less, alpha / 2)
    return np.log(np.maximum(p, q) / q)


def choose_thresholds(one: Array, other: Array, alpha: float, delta: float) -> list[Proof]:
    """The thresholds that would prove most, as seen on outcomes that are not used to prove."""
    pooled = np.sort(np.concatenate([one, other]))
    # Tails decide much: a grid that is fine at both ends.
    tail = np.geomspace(1 / len(pooled), 0.5, _GRID // 2)
    places = np.concatenate([tail, 1 - tail]) * (len(pooled) - 1)
    grid = np.unique(pooled[places.astype(np.int64)])
    found = []
    for upwards in (True, False):
        bounds = _bounds(one, other, grid, alpha, delta, upwards)
        best = np.argsort(-bounds)[:CANDIDATES]
        found += [Proof(float(bounds[k]), float(grid[k]), upwards) for k in best]
    return found


def prove(one: Array, other: Array, chosen: list[Proof], alpha: float, delta: float) -> Proof:
    """The best of the chosen thresholds on fresh outcomes, with alpha divided among them."""
    share = alpha / len(chosen)
    proven = [
        candidate._replace(
            epsilon=float(
                _bounds(
                    one, other, np.array([candidate.threshold]), share, delta, candidate.upwards
                )[0]
            )
        )
        for candidate in chosen
    ]
    return max(proven, key=lambda proof: proof.epsilon)


def _bounds(
    one: Array, other: Array, thresholds: Array, alpha: float, delta: float, upwards: bool
) -> Array:
    """Upwards: one has more scores at or above a threshold; downwards: other has more below."""
    above_one = len(one) - np.searchsorted(np.sort(one), thresholds)
    above_other = len(other) - np.searchsorted(np.sort(other), thresholds)
    if upwards:
        return event_bounds(above_one, len(one), above_other, len(other), alpha, delta)
    below_one, below_other = len(one) - above_one, len(other) - above_other
    return event_bounds(below_other, len(other), below_one, len(one), alpha, delta)
