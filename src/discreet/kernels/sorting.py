"""Records sorted, on all threads.

Every sort is a stable counting sort, so the number of threads changes no result.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit

from discreet.arrays import Array
from discreet.kernels.simd.instructions import AHEAD, about_to_write
from discreet.kernels.threads import WORTH_THREADS, even_ranges, run_all, run_ranges


@njit(cache=True, nogil=True)
def _count(lo, hi, keys, counts):  # type: ignore[no-untyped-def]
    for key in keys[lo:hi]:
        counts[np.uint64(key)] += 1  # unsigned: no index counts from the end


# Where records go is asked for early: most of the time would pass waiting for it.


@njit(cache=True, nogil=True)
def _carry(lo, hi, keys, place, x, out):  # type: ignore[no-untyped-def]
    last = len(keys) - 1
    for k in range(lo, hi):
        p = place[np.uint64(keys[k])]
        place[np.uint64(keys[k])] = p + 1
        about_to_write(out, place[np.uint64(keys[min(k + AHEAD, last)])])
        out[np.uint64(p)] = x[k]


@njit(cache=True, nogil=True)
def _turn(lo, hi, ptr, cols, values, place, rows_out, values_out):  # type: ignore[no-untyped-def]
    last = len(cols) - 1
    for row in range(lo, hi):
        for k in range(ptr[row], ptr[row + 1]):
            p = place[np.uint64(cols[k])]
            place[np.uint64(cols[k])] = p + 1
            later = place[np.uint64(cols[min(k + AHEAD, last)])]
            about_to_write(rows_out, later)
            about_to_write(values_out, later)
            rows_out[np.uint64(p)], values_out[np.uint64(p)] = row, values[k]


@njit(cache=True, nogil=True)
def _take(lo, hi, source, order, out):  # type: ignore[no-untyped-def]
    some, taken = order[lo:hi], out[lo:hi]
    for k in range(len(some)):
        taken[k] = source[np.uint64(some[k])]


def _places(
    keys: Array, size: int, ranges: list[tuple[int, int]], threads: int
) -> tuple[Array, Array]:
    """Where each key starts in the order of keys, and where each range's records of it do.

    Keys are in 0..size-1: nothing checks it any more.
    """
    counts = np.zeros((len(ranges), size), dtype=np.int64)
    run_all([partial(_count, *r, keys, c) for r, c in zip(ranges, counts, strict=True)], threads)
    ptr = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(counts.sum(axis=0), out=ptr[1:])
    # Of one key, the records of earlier ranges come first.
    return ptr, ptr[:-1] + np.cumsum(counts, axis=0) - counts


def sort_column(keys: Array, size: int, x: Array, threads: int = 1) -> Array:
    """x in the stable order that sorts keys in 0..size-1."""
    out = np.empty_like(x)
    ranges = even_ranges(len(keys), threads, least=WORTH_THREADS)
    _, places = _places(keys, size, ranges, threads)
    shares = zip(ranges, places, strict=True)
    run_all([partial(_carry, *r, keys, place, x, out) for r, place in shares], threads)
    return out


def transpose(
    ptr: Array, cols: Array, values: Array, size: int, threads: int = 1
) -> tuple[Array, Array, Array]:
    """A compressed table by its columns, of which there are `size`: rows, values, and pointers.

    The records of row i are ptr[i]..ptr[i+1]; those of a column end up in the order of their rows.
    """
    outs = np.empty(len(cols), dtype=np.int32), np.empty_like(values)
    cuts = [np.searchsorted(ptr, r) for r in even_ranges(len(cols), threads, least=WORTH_THREADS)]
    records = [(int(ptr[lo]), int(ptr[hi])) for lo, hi in cuts]
    by_column, places = _places(cols, size, records, threads)
    shares = zip(cuts, places, strict=True)
    run_all([partial(_turn, *r, ptr, cols, values, place, *outs) for r, place in shares], threads)
    return *outs, by_column


def take(source: Array, order: Array, threads: int = 1, *, out: Array | None = None) -> Array:
    """source[order], where it is to go or in a new array."""
    if out is None:
        out = np.empty(len(order), dtype=source.dtype)
    ranges = even_ranges(len(order), threads, least=WORTH_THREADS)
    run_ranges(_take, ranges, threads, read_only(source), read_only(order), out)
    return out


def read_only(array: Array) -> Array:
    """The same numbers, not to be written to.

    To the compiler that is another type: what always comes so is compiled once.
    """
    view = array.view()
    view.flags.writeable = False
    return view
