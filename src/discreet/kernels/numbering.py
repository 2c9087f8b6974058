"""Columns checked and their ids numbered, on all threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.kernels.bits import ones
from discreet.kernels.threads import WORTH_THREADS, even_ranges, run_all

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def _extent(lo, hi, values):  # type: ignore[no-untyped-def]
    least = most = np.int64(values[lo])
    for k in range(lo, hi):
        least, most = min(least, np.int64(values[k])), max(most, np.int64(values[k]))
    return least, most


@njit(cache=True, nogil=True)
def _narrow(lo, hi, values, least, most, out):  # type: ignore[no-untyped-def]
    within = exact = True
    for k in range(lo, hi):
        value = np.float64(values[k])
        within &= (value >= least) & (value <= most)  # false for NaN as well
        out[k] = value
        exact &= np.float64(out[k]) == value
    return within, exact


@njit(cache=True, nogil=True)
def _ascend(lo, hi, first, second):  # type: ignore[no-untyped-def]
    rising = True
    for k in range(max(lo, 1), hi):
        same = (first[k] == first[k - 1]) & (second[k] > second[k - 1])
        rising &= (first[k] > first[k - 1]) | same
    return rising


# A set of integers is a bit for each, 64 to a word: hundreds of thousands stay in a cache.


@njit(cache=True, nogil=True)
def _set_of(lo, hi, values, base, size):  # type: ignore[no-untyped-def]
    words = np.zeros(size, dtype=np.uint64)
    for k in range(lo, hi):
        place = np.int64(values[k]) - base
        words[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
    return words


@njit(cache=True, nogil=True)
def _place_in_set(lo, hi, values, base, words, before, out):  # type: ignore[no-untyped-def]
    """out[k] = how many of the set are less than values[k]; `before`: than a word's first."""
    for k in range(lo, hi):
        place = np.int64(values[k]) - base
        word = place >> 6
        below = (np.uint64(1) << np.uint64(place & 63)) - np.uint64(1)
        out[k] = before[word] + np.int32(ones(words[word] & below))


@njit(cache=True, nogil=True)
def _look_up(lo, hi, values, base, table, out):  # type: ignore[no-untyped-def]
    for k in range(lo, hi):
        place = np.int64(values[k]) - base
        out[k] = table[place] if 0 <= place < len(table) else -1


@njit(cache=True, nogil=True)
def _lengths_match(lo, hi, values, lengths):  # type: ignore[no-untyped-def]
    for k in range(lo, hi):
        value, length = values[k], 1
        if value < 0:
            length += 1
        while not -10 < value < 10:
            value = value // 10 if value > 0 else -(-value // 10)
            length += 1
        if length != lengths[k]:
            return False
    return True


def _on_all(kernel: Callable[..., Any], threads: int, values: Array, *arrays: Any) -> list[Any]:
    """The results of kernel(lo, hi, values, ...) on the ranges of all threads."""
    ranges = even_ranges(len(values), threads, least=WORTH_THREADS)
    return run_all([partial(kernel, lo, hi, values, *arrays) for lo, hi in ranges], threads)


def narrowed(
    values: Array, least: float, most: float, threads: int = 1
) -> tuple[NDArray[np.float32], bool, bool]:
    """The values in 32 bits; whether all lie within least..most, and whether all fit exactly."""
    out = np.empty(len(values), dtype=np.float32)
    found = _on_all(_narrow, threads, values, least, most, out)
    return out, all(within for within, _ in found), all(exact for _, exact in found)


def pairs_ascend(first: Array, second: Array, threads: int = 1) -> bool:
    """Whether every pair is greater than the one before, by the first, then the second."""
    return all(_on_all(_ascend, threads, first, second))


def distinct_integers(values: Array, threads: int = 1) -> tuple[Array, Array]:
    """The distinct values in ascending order, and for every value its place among them."""
    if len(values) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    extents = _on_all(_extent, threads, values)
    base, top = min(least for least, _ in extents), max(most for _, most in extents)
    if not dense(base, top, len(values)):
        known, rows = np.unique(values, return_inverse=True)
        return known.astype(np.int64), rows.astype(np.int32)
    sets = _on_all(_set_of, threads, values, base, (top - base) // 64 + 1)
    words = np.bitwise_or.reduce(sets)
    count = np.bitwise_count(words)
    before = np.cumsum(count, dtype=np.int32) - count
    rows = np.empty(len(values), dtype=np.int32)
    _on_all(_place_in_set, threads, values, base, words, before, rows)
    members = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    return members + base, rows


def dense(base: int, top: int, count: int) -> bool:
    """Whether a table over base..top is worth its memory for so many values."""
    return top - base < 4 * count + 1024


def look_up(values: Array, base: int, table: Array, threads: int = 1) -> NDArray[np.int32]:
    """table[values - base], and -1 for values outside of the table."""
    rows = np.empty(len(values), dtype=np.int32)
    _on_all(_look_up, threads, values, base, table, rows)
    return rows


def written_usually(values: NDArray[np.int64], lengths: Array, threads: int = 1) -> bool:
    """Whether every integer's usual text ("7", not "07" or "+7") has so many characters."""
    return all(_on_all(_lengths_match, threads, values, lengths))
