"""Columns checked and their ids numbered, on all threads.

Columns come in parts, as readers leave them: putting them together would take as long as numbering.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.kernels.threads import WORTH_THREADS, even_ranges, run_all

Array = NDArray[Any]


# Loops run over slices, or over unsigned numbers: where the compiler cannot tell that an index is
# not negative, it makes room for one that counts from the end, and no longer takes many at once.


@njit(cache=True, nogil=True)
def _scan(values, lo, hi):  # type: ignore[no-untyped-def]
    """The least and the greatest value, whether they ascend, and how many runs of equal ones."""
    least = most = values[lo]
    ascending, runs = True, 1
    before, after = values[lo : hi - 1], values[lo + 1 : hi]
    for k in range(len(after)):
        least, most = min(least, after[k]), max(most, after[k])
        ascending &= after[k] >= before[k]
        runs += after[k] != before[k]
    return np.int64(least), np.int64(most), ascending, runs


@njit(cache=True, nogil=True)
def _number_runs(values, lo, hi, at, row, known, out):  # type: ignore[no-untyped-def]
    """Ascending values: the first one's row is given, and each new one's is the next."""
    some, rows = values[lo:hi], out[at : at + hi - lo]
    k, end = np.uint64(0), np.uint64(hi - lo)
    while k < end:
        value = known[row] = some[k]
        while k < end and some[k] == value:
            rows[k] = row
            k += np.uint64(1)
        row += 1


@njit(cache=True, nogil=True)
def _mark(values, lo, hi, base, seen):  # type: ignore[no-untyped-def]
    for value in values[lo:hi]:
        place = np.uint64(np.int64(value) - base)
        if not seen[place]:  # writing again would take the cache line from the other threads
            seen[place] = True


@njit(cache=True, nogil=True)
def _look_up(values, lo, hi, at, base, table, out):  # type: ignore[no-untyped-def]
    some, found, size = values[lo:hi], out[at : at + hi - lo], np.uint64(len(table))
    for k in range(len(some)):
        place = np.uint64(np.int64(some[k]) - base)  # below base: beyond any table
        found[k] = table[place] if place < size else -1


@njit(cache=True, nogil=True)
def _narrow(values, lo, hi, at, least, most, out):  # type: ignore[no-untyped-def]
    some, small = values[lo:hi], out[at : at + hi - lo]
    within = exact = True
    for k in range(len(some)):
        value = np.float64(some[k])
        within &= (value >= least) & (value <= most)  # false for NaN as well
        small[k] = np.float32(value)
        exact &= np.float64(small[k]) == value
    return within, exact


@njit(cache=True, nogil=True)
def _ascend(lo, hi, first, second):  # type: ignore[no-untyped-def]
    lo = max(lo, 1)
    rising = True
    first_before, first_after = first[lo - 1 : hi - 1], first[lo:hi]
    second_before, second_after = second[lo - 1 : hi - 1], second[lo:hi]
    for k in range(len(first_after)):
        same = (first_after[k] == first_before[k]) & (second_after[k] > second_before[k])
        rising &= (first_after[k] > first_before[k]) | same
    return rising


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


class _Piece(NamedTuple):
    """values[lo:hi], which stands in a column from some place on."""

    values: Array
    lo: int
    hi: int
    at: int


def _shares(parts: Sequence[Array], threads: int) -> list[list[_Piece]]:
    """A column's pieces, about as much for every thread."""
    ends = np.cumsum([0, *map(len, parts)]).tolist()
    shares = []
    for begin, end in even_ranges(ends[-1], threads, least=WORTH_THREADS):
        cuts = [
            (part, max(begin - first, 0), min(end, last) - first, max(begin, first))
            for part, (first, last) in zip(parts, pairwise(ends), strict=True)
        ]
        shares.append([_Piece(*cut) for cut in cuts if cut[1] < cut[2]])
    return shares


def _on_shares(work: Callable[[_Piece], Any], shares: list[list[_Piece]]) -> list[Any]:
    """The results of work on all pieces, in their order, a thread for every share."""

    def one(share: list[_Piece]) -> list[Any]:
        return [work(piece) for piece in share]

    done = run_all([partial(one, share) for share in shares], len(shares))
    return [result for results in done for result in results]


def distinct_integers(parts: Sequence[Array], threads: int = 1) -> tuple[Array, Array]:
    """The distinct values of a column in ascending order, and for every value its place there."""
    count = sum(map(len, parts))
    rows = np.empty(count, dtype=np.int32)
    shares = _shares(parts, threads)
    pieces = [piece for share in shares for piece in share]
    if not pieces:
        return np.empty(0, dtype=np.int64), rows
    found = _on_shares(lambda piece: _scan(*piece[:3]), shares)
    leasts, mosts, ascending, runs = zip(*found, strict=True)
    if all(ascending) and all(m <= n for m, n in zip(mosts, leasts[1:], strict=False)):
        # A piece's first value is a new one, or that which the piece before ended with.
        new = [m < n for m, n in zip(mosts, leasts[1:], strict=False)]
        firsts = np.cumsum([0, *(r - 1 + n for r, n in zip(runs, new, strict=False))]).tolist()
        known = np.empty(firsts[-1] + runs[-1], dtype=np.int64)
        first_of = {piece.at: first for piece, first in zip(pieces, firsts, strict=True)}
        _on_shares(lambda piece: _number_runs(*piece, first_of[piece.at], known, rows), shares)
        return known, rows
    base, top = min(leasts), max(mosts)
    if not dense(base, top, count):
        known, places = np.unique(np.concatenate(parts), return_inverse=True)
        return known.astype(np.int64), places.astype(np.int32)
    # All threads mark in one table: what one of them writes is what another would.
    seen = np.zeros(top - base + 1, dtype=np.bool_)
    _on_shares(lambda piece: _mark(*piece[:3], base, seen), shares)
    places = np.cumsum(seen, dtype=np.int32)
    places -= 1
    _on_shares(lambda piece: _look_up(*piece, base, places, rows), shares)
    return np.flatnonzero(seen) + base, rows


def narrowed(
    parts: Sequence[Array], least: float, most: float, threads: int = 1
) -> tuple[NDArray[np.float32], bool, bool]:
    """A column in 32 bits; whether all lies within least..most, and whether all fits exactly."""
    out = np.empty(sum(map(len, parts)), dtype=np.float32)
    shares = _shares(parts, threads)
    found = _on_shares(lambda piece: _narrow(*piece, least, most, out), shares)
    return out, all(within for within, _ in found), all(exact for _, exact in found)


def _on_all(kernel: Callable[..., Any], threads: int, values: Array, *arrays: Any) -> list[Any]:
    """The results of kernel(lo, hi, values, ...) on the ranges of all threads."""
    ranges = even_ranges(len(values), threads, least=WORTH_THREADS)
    return run_all([partial(kernel, lo, hi, values, *arrays) for lo, hi in ranges], threads)


def pairs_ascend(first: Array, second: Array, threads: int = 1) -> bool:
    """Whether every pair is greater than the one before, by the first, then the second."""
    return all(_on_all(_ascend, threads, first, second))


def dense(base: int, top: int, count: int) -> bool:
    """Whether a table over base..top is worth its memory for so many values."""
    return top - base < 4 * count + 1024


def look_up(values: Array, base: int, table: Array, threads: int = 1) -> NDArray[np.int32]:
    """table[values - base], and -1 for values outside of the table."""
    rows = np.empty(len(values), dtype=np.int32)
    _on_shares(lambda piece: _look_up(*piece, base, table, rows), _shares([values], threads))
    return rows


def written_usually(values: NDArray[np.int64], lengths: Array, threads: int = 1) -> bool:
    """Whether every integer's usual text ("7", not "07" or "+7") has so many characters."""
    return all(_on_all(_lengths_match, threads, values, lengths))
