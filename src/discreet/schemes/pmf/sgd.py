"""Stochastic gradient descent, a rating at a time, with one result for any number of threads."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.ratings import Ratings
from discreet.kernels.gradients import partition, shuffle, take_steps
from discreet.kernels.sorting import take
from discreet.kernels.threads import run_all, thread_count
from discreet.progress import Progress
from discreet.schemes.model import TracePoint
from discreet.schemes.pmf.gradient import Side, diverged

_MANY = 1 << 22
"""So many ratings are worth more bands, and more threads: it decides about time (docs/speed.md)."""
_HOPELESS = 1e3
"""No useful model has such an error, in quarters of the scale; a diverging one passes it soon."""


class Blocks(NamedTuple):
    """The ratings of every band of people on every band of items."""

    records: Side
    ptr: NDArray[np.int64]
    bands: int
    """Of people, and of items: at most so many threads find work."""

    @classmethod
    def of(
        cls, data: Ratings, centre: float, dtype: Any, rng: np.random.Generator, threads: int
    ) -> Blocks:
        """Ratings as quarters of the scale above the centre, in random order within each block.

        Two in a row are seldom of one person or item, whose factors would have to be waited for.
        """
        # By the table's size, not by the number of threads, which must not change a result.
        bands = 8 if len(data) < _MANY else 16
        people, items = (_bands(order.ptr, bands) for order in (data.by_user, data.by_item))
        records = Side.of(data.by_user, centre, dtype)
        np.divide(records.r, data.scale.span / 4, out=records.r)
        block_of = take(people, records.rows, threads)
        block_of *= bands
        block_of += take(items, records.cols, threads)
        dealt = records.empty()
        ptr = partition(block_of, bands**2, *records, *dealt)
        seeds = rng.integers(2**63, size=bands**2)
        run_all(
            [
                partial(shuffle, lo, hi, *dealt, seed)
                for (lo, hi), seed in zip(pairwise(ptr.tolist()), seeds, strict=True)
            ],
            threads,
        )
        return cls(dealt, ptr, bands)

    def round(self, shift: int) -> list[tuple[int, int]]:
        """The ranges of blocks of which no two have a person or an item in common."""
        blocks = [row * self.bands + (row + shift) % self.bands for row in range(self.bands)]
        return [(int(self.ptr[block]), int(self.ptr[block + 1])) for block in blocks]

    def walk(self, shifts: Iterable[int], U: Array, V: Array, threads: int, *sizes: Any) -> float:
        """A step for every rating of these rounds; the sum of the squared errors before each."""
        squared = 0.0
        for shift in shifts:
            calls = [
                partial(take_steps, lo, hi, *self.records, U, V, *sizes)
                for lo, hi in self.round(shift)
            ]
            squared += sum(run_all(calls, threads))
        return squared


def _bands(ptr: NDArray[np.int64], count: int) -> NDArray[np.uint8]:
    """The band of each row; all bands have about as many records."""
    band = ptr[:-1] * count // max(1, ptr[-1])
    return np.asarray(band, dtype=np.uint8)  # that of a row without records is never asked for


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

    Pass by pass the steps shorten in equal parts, from gamma to gamma / passes. Every rating
    regularises its person and its item once, and so both by their numbers of ratings.
    """
    workers, number = thread_count(threads), U.dtype.type
    blocks = Blocks.of(data, centre, U.dtype, rng, workers)
    trace = []
    for step in range(1, passes + 1):
        progress("SGD", step - 1, passes)
        rate = gamma * (1 - (step - 1) / passes)
        sizes = (number(rate), *(number(1 - rate * ridge) for ridge in ridges))
        squared = blocks.walk(rng.permutation(blocks.bands).tolist(), U, V, workers, *sizes)
        rmse = float(np.sqrt(squared / max(1, len(data))))
        if not rmse <= _HOPELESS:  # also true for NaN
            raise diverged(gamma, "SGD pass", step, "is too long")
        trace.append(TracePoint("SGD pass", step, rmse * data.scale.span / 4))
    if not (np.isfinite(U).all() and np.isfinite(V).all()):  # by the last steps
        raise diverged(gamma, "SGD pass", passes, "is too long")
    progress("SGD", passes, passes)
    return tuple(trace)
