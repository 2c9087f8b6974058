"""Personalisation: how one mechanism, private with epsilon = t, serves epsilons of their own.

Either a rating with a smaller epsilon is *weighed*: it counts min(1, epsilon/t) of a vote. Or it is
*sampled*: it is kept with a probability below one, and then counts in full. Both are proven to cost
min(epsilon, t): docs/proofs/weighing.md and sampling.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.ids import Ids
from discreet.data.ratings import Ratings
from discreet.errors import SpecError, require_choice, require_positive
from discreet.kernels.threads import blockwise
from discreet.privacy.fixedpoint import (
    COIN_GRID,
    COIN_SHAVE,
    ONE_VOTE,
    PERSON_SHAVE,
    WEIGHT_SHAVE,
)
from discreet.privacy.hashing import pair_uniforms
from discreet.privacy.noise import Randomness

# Computed from the ratings at hand, so one record moves everybody's probability: never proven.
DATA_THRESHOLDS: dict[str, Callable[[NDArray[np.float64]], Any]] = {"mean": np.mean, "max": np.max}

Threshold = float | str
_BELOW_ONE = float(np.nextafter(1.0, 0.0))


def check_threshold(threshold: Threshold) -> Threshold:
    """A threshold t as it is declared: a number above zero, or "mean" or "max" of the levels."""
    if isinstance(threshold, str):
        return str(require_choice("threshold", threshold, [*DATA_THRESHOLDS, "a number > 0"]))
    return require_positive("threshold", threshold)


def resolve_threshold(threshold: Threshold, levels: NDArray[np.float64]) -> float:
    """The number t; for "mean" and "max" it is computed from the levels and therefore secret."""
    if isinstance(threshold, str):
        return float(DATA_THRESHOLDS[threshold](levels))
    return float(threshold)


def inclusion_probability(epsilon: Any, t: float) -> NDArray[np.float64]:
    """With which probability a rating is kept, so that a t-DP step costs it min(eps, t).

    pi = (e^eps - 1) / (e^t - 1) below t, else 1.

    >>> inclusion_probability([0.1, 0.5, 2.0], 0.5).round(3).tolist()
    [0.162, 1.0, 1.0]
    """
    levels = np.asarray(epsilon, dtype=np.float64)
    if not (levels >= 0).all() or not t > 0:
        raise SpecError(f"epsilon must be >= 0 and t > 0: got epsilon = {epsilon!r}, t = {t!r}")
    m = np.minimum(levels, t)
    # exp overflows for large t; this form does not, and keeps its digits for small eps.
    pi = np.exp(m - t) * np.expm1(-m) / np.expm1(-t)
    # Below t nothing is certain, also where the quotient was rounded up to 1.
    return np.asarray(np.where(levels < t, np.minimum(pi, _BELOW_ONE), 1.0))


def weigh(levels: NDArray[np.float64], t: float) -> NDArray[np.int32]:
    """How much of a vote each rating counts: w = min(1, eps/t), in steps of 2^-20, rounded down.

    >>> weigh(np.array([0.25, 3.0]), 1.0).tolist()  # a quarter of a vote, and a whole one
    [262143, 1048576]
    """

    def steps(some: NDArray[np.float64]) -> NDArray[np.float64]:
        # The shave keeps a quotient that floating point rounded up from reaching the next step.
        share = np.where(some < t, some / t * (1 - WEIGHT_SHAVE), 1.0)
        return np.asarray(np.floor(share * ONE_VOTE))

    return blockwise(steps, np.int32, levels)


def levelled(ratings: Ratings, levels: NDArray[np.float64], unit: str, catalogue: Ids) -> Ratings:
    """The records of a catalogue's items, with the level that each is counted at as `epsilon`.

    That is the record's own, or with the person as unit the smallest that the person gave to *any*
    rating: so levels come before records of items outside the catalogue are dropped
    (docs/proofs/tally.md, "The whole person").
    """
    if unit == "person":
        least = np.full(len(ratings.users), np.inf)
        np.minimum.at(least, ratings.user, levels)
        levels = least[ratings.user]
    return replace(ratings, epsilon=levels).with_items(catalogue)


def share_among_own(
    ratings: Ratings, weights: NDArray[np.float64], whole: int, norm: int
) -> NDArray[np.int32]:
    """Divide each person's weight among the person's own records, in steps of 2^-20 votes.

    Every record gets weight * whole / n^(1/norm), n the person's number of records, so that the
    weights of a person have a sum (norm 1) or a root of the sum of squares (norm 2) of at most
    `whole` votes.
    """
    n = np.bincount(ratings.user, minlength=len(ratings.users))[ratings.user]
    share = weights * (1 - PERSON_SHAVE) * whole / n ** (1 / norm)
    return np.asarray(np.floor(share * ONE_VOTE), dtype=np.int32)


def sample(
    ratings: Ratings,
    levels: NDArray[np.float64],
    t: float,
    randomness: Randomness,
    *,
    threads: int | None = None,
) -> Ratings:
    """Keep each record with its `inclusion_probability`: the paper's Algorithm 1, RSM."""
    probability = inclusion_probability(levels, t)
    return ratings.subset(keep_records(ratings, probability, randomness, threads=threads))


def keep_records(
    ratings: Ratings,
    probability: NDArray[np.float64],
    randomness: Randomness,
    *,
    threads: int | None = None,
) -> NDArray[np.bool_]:
    """Which records are kept, each with its own probability.

    The coin is a keyed hash of (user, item), so it belongs to the record: order, threads and
    other records do not change it.
    """
    coins = pair_uniforms(
        randomness.key("sample"),
        ratings.users.values,
        ratings.items.values,
        ratings.user,
        ratings.item,
        threads=threads,
    )
    # A coin is a multiple of 2^-52: the probability is rounded down to one, never up.
    whole = np.floor(probability * (1 - COIN_SHAVE) * COIN_GRID)
    certain = probability >= 1
    return np.asarray(certain | (coins[:, 0] * COIN_GRID < whole))
