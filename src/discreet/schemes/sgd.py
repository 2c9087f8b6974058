"""Stochastic gradient descent, a rating at a time, with one result for any number of threads."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.gradients import deal, shuffle, take_steps
from discreet.kernels.tables import take
from discreet.kernels.threads import run_all, thread_count
from discreet.progress import Progress
from discreet.ratings import Ratings
from discreet.schemes.gradient import Side, diverged
from discreet.schemes.model import TracePoint

GRID = 8
"""People and items are in so many groups each, however many the threads: these change no result."""
_HOPELESS = 1e3
"""No useful model has such an error, in quarters of the scale; a diverging one passes it soon."""

Array = NDArray[Any]


class _Blocks(NamedTuple):
    """The ratings of every group of people on every group of items."""

    records: Side
    ptr: NDArray[np.int64]

    @classmethod
    def of(
        cls, data: Ratings, centre: float, dtype: Any, rng: np.random.Generator, threads: int
    ) -> _Blocks:
        """Ratings as quarters of the scale above the centre, in random order within each block.

        Two in a row are seldom of one person or one item, whose factors had to be waited for.
        """
        people, items = (_groups(order.ptr) for order in (data.by_user, data.by_item))
        records = Side.of(data.by_user, centre, dtype)
        np.divide(records.r, data.scale.span / 4, out=records.r)
        block_of = take(people, records.rows, threads)
        block_of *= GRID
        block_of += take(items, records.cols, threads)
        dealt = records.empty()
        ptr = deal(block_of, GRID * GRID, *records, *dealt)
        seeds = rng.integers(2**63, size=GRID * GRID)
        run_all(
            [
                partial(shuffle, lo, hi, *dealt, seed)
                for (lo, hi), seed in zip(pairwise(ptr.tolist()), seeds, strict=True)
            ],
            threads,
        )
        return cls(dealt, ptr)

    def round(self, shift: int) -> list[tuple[int, int]]:
        """The ranges of blocks of which no two have a person or an item in common."""
        blocks = [row * GRID + (row + shift) % GRID for row in range(GRID)]
        return [(int(self.ptr[block]), int(self.ptr[block + 1])) for block in blocks]


def _groups(ptr: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The group of each row; all groups have about as many records."""
    groups = ptr[:-1] * GRID // max(1, ptr[-1])
    return np.asarray(np.minimum(groups, GRID - 1), dtype=np.uint8)  # empty rows come last


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
    blocks = _Blocks.of(data, centre, U.dtype, rng, workers)
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
