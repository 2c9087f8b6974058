"""Records sorted, on all threads.

Every sort is a stable counting sort, so the number of threads changes no result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.kernels.threads import WORTH_THREADS, even_ranges, run_all, run_ranges

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def _count(lo, hi, keys, counts):  # type: ignore[no-untyped-def]
    for key in keys[lo:hi]:
        counts[np.uint64(key)] += 1  # unsigned: no index counts from the end


@njit(cache=True, nogil=True)
def _place(lo, hi, keys, place, out):  # type: ignore[no-untyped-def]
    for k in range(lo, hi):
        out[place[keys[k]]] = k
        place[keys[k]] += 1


@njit(cache=True, nogil=True)
def _carry(lo, hi, keys, place, x, out):  # type: ignore[no-untyped-def]
    for k in range(lo, hi):
        out[place[keys[k]]] = x[k]
        place[keys[k]] += 1


@njit(cache=True, nogil=True)
def _carry_two(lo, hi, keys, place, x, y, x_out, y_out):  # type: ignore[no-untyped-def]
    for k in range(lo, hi):
        p = place[keys[k]]
        x_out[p], y_out[p] = x[k], y[k]
        place[keys[k]] = p + 1


@njit(cache=True, nogil=True)
def _take(lo, hi, source, order, out):  # type: ignore[no-untyped-def]
    for k in range(lo, hi):
        out[k] = source[order[k]]


def _pass(
    place: Callable[..., None], keys: Array, size: int, threads: int, *arrays: Array
) -> Array:
    """One counting sort: every thread places its own records; returns where each key starts.

    Keys are in 0..size-1: nothing checks it any more.
    """
    ranges = even_ranges(len(keys), threads, least=WORTH_THREADS)
    counts = np.zeros((len(ranges), size), dtype=np.int64)
    run_all([partial(_count, *r, keys, c) for r, c in zip(ranges, counts, strict=True)], threads)
    ptr = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(counts.sum(axis=0), out=ptr[1:])
    # Of one key, the records of earlier ranges come first.
    places = ptr[:-1] + np.cumsum(counts, axis=0) - counts
    run_all(
        [partial(place, *r, keys, p, *arrays) for r, p in zip(ranges, places, strict=True)], threads
    )
    return ptr


def stable_order(keys: Array, size: int, threads: int = 1) -> tuple[Array, Array]:
    """The stable order that sorts keys in 0..size-1, and where each key starts in it."""
    order: Array = np.empty(len(keys), dtype=_index_type(len(keys)))
    return order, _pass(_place, keys, size, threads, order)


def sort_column(keys: Array, size: int, x: Array, threads: int = 1) -> Array:
    """x in the stable order that sorts keys in 0..size-1."""
    out = np.empty_like(x)
    _pass(_carry, keys, size, threads, x, out)
    return out


def sort_columns(
    keys: Array, size: int, x: Array, y: Array, threads: int = 1
) -> tuple[Array, Array, Array]:
    """x and y in the stable order that sorts keys in 0..size-1, and where each key starts."""
    outs = np.empty_like(x), np.empty_like(y)
    return *outs, _pass(_carry_two, keys, size, threads, x, y, *outs)


def pair_order(first: Array, second: Array, sizes: tuple[int, int], threads: int = 1) -> Array:
    """The stable order that sorts pairs of keys by the first, then the second."""
    by_second, _ = stable_order(second, sizes[1], threads)
    by_first, _ = stable_order(take(first, by_second, threads), sizes[0], threads)
    return take(by_second, by_first, threads)


def take(source: Array, order: Array, threads: int = 1) -> Array:
    """source[order]."""
    out = np.empty(len(order), dtype=source.dtype)
    run_ranges(
        _take, even_ranges(len(order), threads, least=WORTH_THREADS), threads, source, order, out
    )
    return out


def read_only(array: Array) -> Array:
    """The same numbers, not to be written to.

    To the compiler that is another type: what always comes so is compiled once.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def _index_type(count: int) -> type:
    return np.int32 if count < 2**31 else np.int64
