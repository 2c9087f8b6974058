"""Records sorted by pairs of numbers, on all threads.

A record's place among tens of thousands of people is beyond the caches, and so is the wait for it.
Hence records go into about a thousand buckets first (more where there are millions of items), then
each bucket is sorted within the caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.errors import DataError
from discreet.kernels.numbering import Column, Piece, on_shares
from discreet.kernels.simd.instructions import AHEAD, about_to_write, ones
from discreet.kernels.sorting import take
from discreet.kernels.threads import row_ranges, run_all

U = np.uint64

_BUCKET_BITS = 10
_LINE = 8
"""Records in a line of the caches."""
_COMPARED = 2
"""Comparing every two of n numbers is quicker than setting bits if n^2 is below so many times the
words of bits (measured with 5,000 to 1,000,000 bits)."""
_FEW = 1 << 14
"""So many records are sorted in a few milliseconds without any of this."""


class PairTwiceError(Exception):
    """A pair occurs twice; with the first number of the first such pair."""

    def __init__(self, first: int) -> None:
        super().__init__("a pair occurs twice")
        self.first = first


@njit(cache=True, nogil=True)
def _count(values, lo, hi, base, low, counts):  # type: ignore[no-untyped-def]
    for value in values[lo:hi]:
        counts[U(np.int64(value) - base) >> low] += 1


# Room for a bucket's next line, and for records to come, is asked for early.


@njit(cache=True, nogil=True)
def _fill(values, lo, hi, at, base, low, second, bits, carried, place, records):  # type: ignore[no-untyped-def]
    """Put records into the buckets of their first number: its low bits, the second, and what is
    carried; where nothing is, the place it is put."""
    some, last = values[lo:hi], hi - lo - 1
    seconds, words = second[at : at + hi - lo], carried[at : at + hi - lo]
    for k in range(len(some)):
        first = U(np.int64(some[k]) - base)
        p = place[first >> low]
        place[first >> low] = p + U(1)
        about_to_write(records, place[U(np.int64(some[min(k + AHEAD, last)]) - base) >> low])
        about_to_write(records, p + U(_LINE))
        own = first & ((U(1) << low) - U(1))
        word = U(words[k]) if len(words) else p
        records[p] = (own << (bits + U(32))) | (U(seconds[k]) << U(32)) | word


@njit(cache=True, nogil=True)
def _fill_column(values, lo, hi, at, base, low, column, place, out):  # type: ignore[no-untyped-def]
    """Put one more column into the buckets, in the same order."""
    some, last = values[lo:hi], hi - lo - 1
    numbers = column[at : at + hi - lo]
    for k in range(len(some)):
        bucket = U(np.int64(some[k]) - base) >> low
        p = place[bucket]
        place[bucket] = p + U(1)
        about_to_write(out, place[U(np.int64(some[min(k + AHEAD, last)]) - base) >> low])
        about_to_write(out, p + U(_LINE))
        out[p] = numbers[k]


@njit(cache=True, nogil=True)
def _rank_by_bits(row, set_bits, before, second, carried):  # type: ignore[no-untyped-def]
    """Place the records of one row: so many second numbers are less as bits before are set."""
    for w in range(len(set_bits)):
        set_bits[w] = U(0)
    for record in row:
        number = record >> U(32)
        set_bits[number >> U(6)] |= U(1) << (number & U(63))
    total = U(0)
    for w in range(len(set_bits)):
        before[w] = total
        total += ones(set_bits[w])
    for record in row:
        number = record >> U(32)
        w = number >> U(6)
        rank = before[w] + ones(set_bits[w] & ((U(1) << (number & U(63))) - U(1)))
        second[rank], carried[rank] = number, record
    return total == U(len(row))


@njit(cache=True, nogil=True)
def _rank_by_comparing(row, numbers, second, carried):  # type: ignore[no-untyped-def]
    """Place the records of a short row: every one is compared with every other."""
    ranks = np.int64(0)
    for k in range(len(row)):
        numbers[k] = row[k] >> U(32)
    some = numbers[: len(row)]
    for k in range(len(row)):
        own, rank = some[k], np.uint32(0)
        for other in some:
            rank += np.uint32(other < own)
        ranks += np.int64(rank)
        second[U(rank)], carried[U(rank)] = own, row[k]
    return ranks == len(row) * (len(row) - 1) // 2


@njit(cache=True, nogil=True)
def _sort(lo, hi, ptr, records, bits, size, counts, second, carried):  # type: ignore[no-untyped-def]
    """Sort buckets lo..hi and count every first number; the first that has a pair twice, or -1."""
    most = 0
    for bucket in range(lo, hi):
        most = max(most, ptr[bucket + 1] - ptr[bucket])
    by_row, numbers = np.empty(most, dtype=np.uint64), np.empty(most, dtype=np.uint32)
    words = (size + 63) // 64
    set_bits, before = np.empty(words, dtype=np.uint64), np.empty(words, dtype=np.uint64)
    place = np.empty(counts.shape[1], dtype=np.uint64)
    alone = (U(1) << (bits + U(32))) - U(1)
    twice = -1
    for bucket in range(lo, hi):
        start = ptr[bucket]
        some = records[start : ptr[bucket + 1]]
        count = counts[bucket]
        for record in some:
            count[record >> (bits + U(32))] += 1
        total = U(0)
        for row in range(len(place)):
            place[row] = total
            total += U(count[row])
        for record in some:
            row = record >> (bits + U(32))
            by_row[place[row]] = record & alone
            place[row] += U(1)
        for row in range(len(place)):
            n = count[row]
            if n == 0:
                continue
            end = np.int64(place[row])
            own = by_row[end - n : end]
            outs = second[start + end - n : start + end], carried[start + end - n : start + end]
            if n * n < _COMPARED * words:
                distinct = _rank_by_comparing(own, numbers, *outs)
            else:
                distinct = _rank_by_bits(own, set_bits, before, *outs)
            if not distinct and twice < 0:
                twice = bucket * len(place) + row
    return twice


def sort_pairs(
    first: Column, second: NDArray[np.int32], size: int, columns: Sequence[Array]
) -> NDArray[np.int32]:
    """Put records in the order of the first numbers, then the second, which are in 0..size-1.

    `second` and the columns, which are parts of the records too, are moved in place: new memory
    costs as much as sorting. A number has 4 or 8 bytes. Returns how often each number in base..top
    comes first. Where a pair is there twice, an error, and what was moved is of no use any more.
    """
    if first.count < _FEW:
        return _sort_few(first, second, columns)
    if first.count >= 1 << 32:
        raise DataError("a table in memory holds less than 2^32 ratings: use Spark for more")
    threads, shares, count = first.threads, first.shares, first.count
    keys, bits = first.top - first.base + 1, max(size - 1, 0).bit_length()
    # A record keeps what the bucket does not say of its pair in 32 bits.
    low = min(max((keys - 1).bit_length() - _BUCKET_BITS, 0), 32 - bits)
    buckets = ((keys - 1) >> low) + 1
    sizes = np.zeros((len(shares), buckets), dtype=np.int64)
    ptr = np.zeros(buckets + 1, dtype=np.int64)

    def tally(piece: Piece, own: Array) -> None:
        _count(*piece[:3], first.base, U(low), own)

    on_shares(tally, shares, sizes)
    np.cumsum(sizes.sum(axis=0), out=ptr[1:])
    places = (ptr[:-1] + np.cumsum(sizes, axis=0) - sizes).astype(np.uint64)
    # A single column of 4 bytes travels in the records; if there are more, their places do.
    alone = len(columns) == 1 and columns[0].itemsize == 4
    order = columns[0].view(np.uint32) if alone else np.empty(count, dtype=np.uint32)
    carried = order if alone else order[:0]
    records, counts = np.empty(count, dtype=np.uint64), np.zeros((buckets, 1 << low), np.int32)

    def fill(piece: Piece, place: Array) -> None:
        _fill(*piece, first.base, U(low), second, U(bits), carried, place, records)

    on_shares(fill, shares, places.copy())
    calls = [
        partial(_sort, *r, ptr, records, U(bits), size, counts, second, order)
        for r in row_ranges(ptr, threads)
    ]
    twice = [number for number in run_all(calls, threads) if number >= 0]
    if twice:
        raise PairTwiceError(first.base + twice[0])

    def fill_column(piece: Piece, place: Array, column: Array, out: Array) -> None:
        _fill_column(*piece, first.base, U(low), column, place, out)

    for column in () if alone else columns:
        # Through the buckets too: places at random in a long column are slow to come by.
        bucketed = records.view(column.dtype)[:count]
        on_shares(partial(fill_column, column=column, out=bucketed), shares, places.copy())
        take(bucketed, order, threads, out=column)
    return counts.ravel()[:keys]


def _sort_few(
    first: Column, second: NDArray[np.int32], columns: Sequence[Array]
) -> NDArray[np.int32]:
    """The same by NumPy, which is quicker than compiling."""
    keys = first.whole.astype(np.int64)
    order = np.lexsort((second, keys))
    keys = keys[order]
    for column in (second, *columns):
        column[:] = column[order]
    twice = np.flatnonzero((np.diff(keys) == 0) & (np.diff(second) == 0))
    if len(twice):
        raise PairTwiceError(int(keys[twice[0]]))
    counts = np.bincount(keys - first.base, minlength=first.top - first.base + 1)
    return counts.astype(np.int32)
