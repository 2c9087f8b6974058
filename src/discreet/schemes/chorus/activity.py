"""Whether people have ratings enough for factors: sums over people of what they gave, in two parts.

Where everybody rated a few items, hidden tastes cannot be told from chance, however often single
items were rated. What people gave beyond their first ratings tells it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.data.ratings import Ratings

FEW = 20
"""Ratings, of the typical weight: measured in docs/constants.md."""
Weights = Callable[[Ratings], NDArray[np.int32]]


def weight_beyond(weights: Weights, enough: int, counted: Ratings) -> Integers:
    """Sum over people of min(W, enough) and of max(W - enough, 0), W a person's whole weight.

    Both grow with W and add up to it: one record moves the two by its weight in all.
    """
    total = _of_people(counted, weights(counted).astype(np.int64))
    return np.array([np.minimum(total, enough).sum(), np.maximum(total - enough, 0).sum()])


def people_beyond(weights: Weights, enough: int, counted: Ratings) -> Integers:
    """The same, for whole persons: each adds the norm of their weights, divided between the two.

    In proportion to their number of records up to `enough` and beyond; rounded so that one person
    moves the two by at most that norm, in all and so in norm.
    """
    records = _of_people(counted, np.ones(len(counted), np.int64))
    squares = _of_people(counted, weights(counted).astype(np.int64) ** 2)
    norm = np.floor(np.sqrt(squares)).astype(np.int64)
    up_to = norm * np.minimum(records, enough) // np.maximum(records, 1)
    return np.array([up_to.sum(), (norm - up_to).sum()])


def _of_people(counted: Ratings, values: Integers) -> Integers:
    """The sum of each person's values, exactly."""
    ends = np.concatenate([[0], np.cumsum(values)])[counted.ptr]
    return np.asarray(np.diff(ends))
