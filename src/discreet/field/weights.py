"""How much each of a person's ratings counts, so that the squares of a person's weights sum to one.

Chien et al. (2021) keep k ratings of everybody, drawn at random (uniform) or those of the least
rated items (tail). Krichene et al. (2023) keep all, and weigh an item's by a power of its count, so
that rare items, whose sums have more noise for their signal, are heard more.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.ratings import Ratings
from discreet.errors import ParameterError

SAMPLINGS = ("uniform", "tail", "adaptive")
_LEAST_COUNT = 1.0


def weigh_ratings(
    data: Ratings, sampling: str, counts: Array | None, k: int, power: float, coins: Array
) -> Floats:
    """A weight for every rating, from noisy counts and from the person's own ratings alone.

    `coins` has a uniform number for every rating.
    """
    if sampling == "uniform":
        return _kept(data, coins, k)
    if counts is None:
        raise ParameterError(f"{sampling} weights need noisy counts: give them a share")
    rare = np.maximum(counts, _LEAST_COUNT)
    if sampling == "tail":
        return _kept(data, rare[data.item], k)
    return normalised(rare[data.item] ** -power, data.ptr)


def normalised(raw: Array, ptr: Array) -> Floats:
    """Weights in proportion to these, of which every person's squares sum to one."""
    counts = np.diff(ptr)
    squares = np.add.reduceat(np.append(raw**2, 0.0), ptr[:-1]) * (counts > 0)
    return np.asarray(raw / np.sqrt(np.repeat(np.maximum(squares, 1e-300), counts)))


def _kept(data: Ratings, order: Array, k: int) -> Floats:
    """1/sqrt(k) for the k of a person's ratings that come first in this order, else zero."""
    ranked = np.lexsort((order, data.user))
    place = np.arange(len(data)) - np.repeat(data.ptr[:-1], np.diff(data.ptr))
    weights = np.zeros(len(data))
    weights[ranked] = np.where(place < k, 1 / np.sqrt(k), 0.0)
    return weights
