"""Stochastic gradient descent, a rating at a time, with one result for any number of threads."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.gradients import deal, take_steps
from discreet.kernels.threads import run_all, thread_count
from discreet.progress import Progress
from discreet.ratings import Ratings
from discreet.schemes.gradient import Side, diverged
from discreet.schemes.model import TracePoint

GRID = 8
"""People and items are in so many groups each, however many the threads: these change no result."""
_PILES = 256
"""Piles of each block's ratings, one after another: what follows a rating is seldom of the same
person, whose factors would have to be waited for."""
_HOPELESS = 1e3
"""No useful model has such an error, in quarters of the scale; a diverging one passes it soon."""

Array = NDArray[Any]


class _Blocks(NamedTuple):
    """The ratings of every group of people on every group of items."""

    records: Side
    ptr: NDArray[np.int64]

    @classmethod
    def of(cls, data: Ratings, centre: float, dtype: Any, rng: np.random.Generator) -> _Blocks:
        """Ratings as quarters of the scale above the centre."""
        people, items = (_groups(order.ptr) for order in (data.by_user, data.by_item))
        piles = rng.integers(_PILES, size=len(data), dtype=np.uint16)
        piles += (people[data.user] * GRID + items[data.item]) * np.uint16(_PILES)
        records = Side.of(data.by_user, centre, dtype)
        np.divide(records.r, data.scale.span / 4, out=records.r)
        dealt = records.empty()
        ptr = deal(piles, GRID * GRID * _PILES, *records, *dealt)
        return cls(dealt, ptr[::_PILES])

    def round(self, shift: int) -> list[tuple[int, int]]:
        """The ranges of blocks of which no two have a person or an item in common."""
        blocks = [row * GRID + (row + shift) % GRID for row in range(GRID)]
        return [(int(self.ptr[block]), int(self.ptr[block + 1])) for block in blocks]


def _groups(ptr: NDArray[np.int64]) -> NDArray[np.uint16]:
    """The group of each row; all groups have about as many records."""
    groups = ptr[:-1] * GRID // max(1, ptr[-1])
    return np.asarray(np.minimum(groups, GRID - 1), dtype=np.uint16)  # empty rows come last


def descend(
    data: Ratings,
    U: Array,
    V: Array,
    ridges: tuple[float, float],
    *,
    gamma: float,
    passes: int,
    centre: float,
    rng: np.random.Generator,
    threads: int | None,
    progress: Progress,
) -> tuple[TracePoint, ...]:
    """Move U and V, rating by rating, towards r - centre in quarters of the scale; how it went.

    The steps shorten from gamma to zero in equal parts, pass by pass. A
    rating regularises its person and item, which therefore are so by their numbers of ratings.
    """
    workers, number = thread_count(threads), U.dtype.type
    blocks = _Blocks.of(data, centre, U.dtype, rng)
    trace = []
    for step in range(1, passes + 1):
        progress("SGD", step - 1, passes)
        rate = gamma * (1 - (step - 1) / passes)
        sizes = (number(rate), *(number(1 - rate * ridge) for ridge in ridges))
        squared = 0.0
        for shift in rng.permutation(GRID).tolist():
            ranges = blocks.round(shift)
            calls = [partial(take_steps, *r, *blocks.records, U, V, *sizes) for r in ranges]
            squared += sum(run_all(calls, workers))
        rmse = float(np.sqrt(squared / max(1, len(data))))
        if not rmse <= _HOPELESS:  # also true for NaN
            raise diverged(gamma, "SGD pass", step, "is too long")
        trace.append(TracePoint("SGD pass", step, rmse * data.scale.span / 4))
    progress("SGD", passes, passes)
    return tuple(trace)
