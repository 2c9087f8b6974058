"""Columns checked and their ids numbered, on all threads.

Columns come in parts, as readers leave them: putting them together would take as long as numbering.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from operator import le, lt
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.kernels.sorting import read_only
from discreet.kernels.threads import (
    WORTH_THREADS,
    even_ranges,
    row_ranges,
    run_all,
    run_ranges,
)

_LEAP = 32
"""Values at once, where many are the same."""


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
def _find_runs(values, lo, hi, at, row, new, known, ptr):  # type: ignore[no-untyped-def]
    """Ascending values: the first one's row is given, and each new one's is the next."""
    some, k, end = values[lo:hi], np.uint64(0), np.uint64(hi - lo)
    leap = np.uint64(_LEAP)
    while k < end:
        if new:
            known[row], ptr[row] = some[k], at + np.int64(k)
        value, new = some[k], True
        row += 1
        while k + leap < end and some[k + leap] == value:
            k += leap  # what lies between is the same
        while k < end and some[k] == value:
            k += np.uint64(1)


@njit(cache=True, nogil=True)
def _fill_rows(lo, hi, ptr, out):  # type: ignore[no-untyped-def]
    for row in range(lo, hi):
        for k in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            out[k] = row


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
def _ascend(lo, hi, ptr, values):  # type: ignore[no-untyped-def]
    for row in range(lo, hi):
        some = values[ptr[row] : ptr[row + 1]]
        rising = True
        for k in range(1, len(some)):
            rising &= some[k] > some[k - 1]
        if not rising:
            return False
    return True


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


class Piece(NamedTuple):
    """values[lo:hi], which stands in a column from some place on."""

    values: Array
    lo: int
    hi: int
    at: int


def _shares(parts: Sequence[Array], threads: int) -> list[list[Piece]]:
    """A column's pieces, about as much for every thread."""
    ends = np.cumsum([0, *map(len, parts)]).tolist()
    shares = []
    for begin, end in even_ranges(ends[-1], threads, least=WORTH_THREADS):
        cuts = [
            (part, max(begin - first, 0), min(end, last) - first, max(begin, first))
            for part, (first, last) in zip(parts, pairwise(ends), strict=True)
        ]
        shares.append([Piece(*cut) for cut in cuts if cut[1] < cut[2]])
    return shares


def on_shares(
    work: Callable[..., Any], shares: list[list[Piece]], *more: Iterable[Any]
) -> list[Any]:
    """The results of work on all pieces, in their order, a thread for every share.

    Work is also given what belongs to its share of each of `more`.
    """

    def one(share: list[Piece], *own: Any) -> list[Any]:
        return [work(piece, *own) for piece in share]

    calls = [partial(one, *given) for given in zip(shares, *more, strict=True)]
    return [result for results in run_all(calls, len(shares)) for result in results]


class Column:
    """A column of integers, scanned once: `ascends` says whether they are in order."""

    def __init__(self, parts: Sequence[Array], threads: int = 1) -> None:
        self.parts, self.threads = [read_only(part) for part in parts], threads
        self.shares = _shares(self.parts, threads)
        self.count = sum(map(len, parts))
        found = on_shares(lambda piece: _scan(*piece[:3]), self.shares)
        leasts, mosts, ascending, self._runs = list(zip(*found, strict=True)) or [()] * 4
        self.base, self.top = min(leasts, default=0), max(mosts, default=-1)
        self.ascends = all(ascending) and all(map(le, mosts, leasts[1:]))
        # If they ascend, a piece's first value is new, or that which the piece before ended with.
        self._new = [True, *map(lt, mosts, leasts[1:])]

    @property
    def dense(self) -> bool:
        """Whether a table over base..top is worth its memory."""
        return dense(self.base, self.top, self.count)

    @property
    def whole(self) -> Array:
        """The column in one piece."""
        return np.concatenate(self.parts)

    def runs(self) -> tuple[Array, Array]:
        """Of a column that ascends: the distinct values, and where each of them starts."""
        pieces = [piece for share in self.shares for piece in share]
        rows = np.cumsum([run - 1 + new for run, new in zip(self._runs, self._new, strict=False)])
        size = int(rows[-1]) if len(rows) else 0
        known, ptr = np.empty(size, dtype=np.int64), np.full(size + 1, self.count, dtype=np.int64)
        firsts = rows - self._runs
        of = {piece.at: start for piece, *start in zip(pieces, firsts, self._new, strict=False)}
        on_shares(lambda piece: _find_runs(*piece, *of[piece.at], known, ptr), self.shares)
        return known, ptr

    def numbered(self) -> tuple[Array, Array]:
        """The distinct values in ascending order, and for every value its place there."""
        if self.ascends:
            known, ptr = self.runs()
            return known, rows_of(ptr, self.threads)
        if not self.dense:
            known, places = np.unique(self.whole, return_inverse=True)
            return known.astype(np.int64), places.astype(np.int32)
        # All threads mark in one table: what one of them writes is what another would.
        seen = np.zeros(self.top - self.base + 1, dtype=np.bool_)
        on_shares(lambda piece: _mark(*piece[:3], self.base, seen), self.shares)
        places = np.cumsum(seen, dtype=np.int32)
        places -= 1
        rows = np.empty(self.count, dtype=np.int32)
        on_shares(lambda piece: _look_up(*piece, self.base, places, rows), self.shares)
        return np.flatnonzero(seen) + self.base, rows


def rows_of(ptr: NDArray[np.int64], threads: int = 1) -> NDArray[np.int32]:
    """For every record its row, the records of row i being ptr[i]..ptr[i+1]."""
    out = np.empty(int(ptr[-1]), dtype=np.int32)
    run_ranges(_fill_rows, row_ranges(ptr, threads), threads, read_only(ptr), out)
    return out


def narrowed(
    parts: Sequence[Array], least: float, most: float, threads: int = 1
) -> tuple[NDArray[np.float32], bool, bool]:
    """A column in 32 bits; whether all lies within least..most, and whether all fits exactly."""
    out = np.empty(sum(map(len, parts)), dtype=np.float32)
    shares = _shares(parts, threads)
    found = on_shares(lambda piece: _narrow(*piece, least, most, out), shares)
    return out, all(within for within, _ in found), all(exact for _, exact in found)


def rows_ascend(ptr: NDArray[np.int64], values: Array, threads: int = 1) -> bool:
    """Whether in every row each value is greater than the one before."""
    table = read_only(ptr), read_only(values)
    calls = [partial(_ascend, *r, *table) for r in row_ranges(ptr, threads)]
    return all(run_all(calls, threads))


def dense(base: int, top: int, count: int) -> bool:
    """Whether a table over base..top is worth its memory for so many values."""
    return top - base < 4 * count + 1024


def look_up(values: Array, base: int, table: Array, threads: int = 1) -> NDArray[np.int32]:
    """table[values - base], and -1 for values outside of the table."""
    rows = np.empty(len(values), dtype=np.int32)
    on_shares(lambda piece: _look_up(*piece, base, table, rows), _shares([values], threads))
    return rows


def written_usually(values: NDArray[np.int64], lengths: Array, threads: int = 1) -> bool:
    """Whether every integer's usual text ("7", not "07" or "+7") has so many characters."""
    ranges = even_ranges(len(values), threads, least=WORTH_THREADS)
    calls = [partial(_lengths_match, *r, values, lengths) for r in ranges]
    return all(run_all(calls, threads))
