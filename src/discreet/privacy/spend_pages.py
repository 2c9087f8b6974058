"""Spends in pages: pairs whose hashes begin alike lie together, sorted, in one stored row.

Pages are read, merged with what a release costs, and written back whole: millions of pairs in
seconds, with memory for a few pages. A store, a ledger's file or a database, says where they lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.privacy.hashing import HASH_BITS, Hashes
from discreet.privacy.lifetime import Costs, Spends, Summary

_BATCHES: Final = 256
"""In so many steps all pages are gone through."""
_HASHES, _NUMBERS, _MARKS = 2, len(Spends._fields), 2
_COLUMNS: Final = _HASHES + _NUMBERS + _MARKS


class Store(Protocol):
    """Where pages lie."""

    bits: int
    """The first bits of a pair's hash, which are the number of its page."""

    def read(self, numbers: Sequence[int]) -> Iterable[bytes]:
        """These pages, in order, of those that there are."""
        ...

    def write(self, pages: Sequence[tuple[int, bytes]]) -> None:
        """Put pages in place, instead of what was there under their numbers."""
        ...


class Page:
    """Some pairs in the order of their hashes: a column for each, nine rows of 64 bits.

    These are two hashes, the numbers of `Spends`, and two marks of the latest release that counted
    the pair: its number, and the revision of the rating that it counted. A ledger's file has none.
    """

    def __init__(self, columns: Integers) -> None:
        self.columns = columns

    @classmethod
    def made(cls, hashes: Integers, numbers: Floats, marks: Integers | int = 0) -> Page:
        """Of pairs in any order."""
        columns = np.empty((_COLUMNS, hashes.shape[1]), dtype=np.int64)
        page = cls(columns)
        page.hashes[:], page.numbers[:], page.marks[:] = hashes, numbers, marks
        return cls(columns[:, np.lexsort((hashes[1], hashes[0]))])

    @classmethod
    def of(cls, contents: Iterable[bytes]) -> Page:
        """Pages as they are stored, one after the other."""
        parts = [_columns(content) for content in contents]
        return cls(np.concatenate(parts or [np.zeros((_COLUMNS, 0), dtype=np.int64)], axis=1))

    @property
    def hashes(self) -> Integers:
        """Of the pairs."""
        return self.columns[:_HASHES]

    @property
    def numbers(self) -> Floats:
        """Those of `Spends`."""
        return self.columns[_HASHES : _HASHES + _NUMBERS].view(np.float64)

    @property
    def marks(self) -> Integers:
        """Number and revision."""
        return self.columns[_HASHES + _NUMBERS :]

    @property
    def endless(self) -> NDArray[np.bool_]:
        """Which pairs were charged without limit."""
        return np.asarray(np.isinf(self.numbers[1]))

    def stored(self, bits: int) -> list[tuple[int, bytes]]:
        """Numbers and contents: which rows are not all zero, and these, little-endian."""
        number = self.columns[0] >> (HASH_BITS - bits)
        starts = np.flatnonzero(np.diff(number, prepend=-1))
        parts = np.split(self.columns, starts[1:], axis=1) if len(starts) else []
        contents = []
        for part in parts:
            there = [k for k in range(_COLUMNS) if k < _HASHES or part[k].any()]
            first = bytes([sum(1 << k - _HASHES for k in there[_HASHES:])])
            contents.append(first + part[there].astype("<i8", copy=False).tobytes())
        return list(zip(number[starts].tolist(), contents, strict=True))

    def rows_of(self, hashes: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """Where these pairs stand, and which of them are there at all."""
        first, second = self.hashes
        at, last = np.searchsorted(first, hashes[0]), max(len(first) - 1, 0)
        if len(first) == 0:
            return at, np.zeros(len(at), dtype=np.bool_)
        while True:
            place = np.minimum(at, last)
            same = (at <= last) & (first[place] == hashes[0])
            # Two pairs may share the first half of their hashes.
            other = same & (second[place] < hashes[1])
            if not other.any():
                return place, same & (second[place] == hashes[1])
            at = at + other

    def merged(self, more: Page) -> Page:
        """With what pairs spend: levels are the larger ones, marks the later, all else adds up."""
        place, known = self.rows_of(more.hashes)
        after, rows = Page(self.columns.copy()), place[known]
        numbers, added = after.numbers, more.numbers[:, known]
        numbers[0, rows] = np.maximum(numbers[0, rows], added[0])
        numbers[1:, rows] += added[1:]
        after.marks[:, rows] = more.marks[:, known]
        if known.all():
            return after
        columns = np.concatenate([after.columns, more.columns[:, ~known]], axis=1)
        return Page(columns[:, np.lexsort((columns[1], columns[0]))])


def _columns(content: bytes) -> Integers:
    there = [k for k in range(_COLUMNS) if k < _HASHES or content[0] >> (k - _HASHES) & 1]
    found = np.frombuffer(content, "<i8", offset=1).reshape(len(there), -1)
    columns = np.zeros((_COLUMNS, found.shape[1]), dtype=np.int64)
    columns[there] = found
    return columns


def pages(store: Store) -> Iterator[Page]:
    """All that are stored, some at a time."""
    together = _together(store)
    for first in range(0, 1 << store.bits, together):
        page = Page.of(store.read(range(first, first + together)))
        if page.hashes.size:
            yield page


def look_up(store: Store, hashes: Hashes) -> Iterator[tuple[Integers, Page]]:
    """Which of these pairs are known, and what about them, some at a time."""
    for numbers, records in _batches(store, hashes):
        page = Page.of(store.read(numbers))
        place, known = page.rows_of(_some(hashes, records))
        yield records[known], Page(page.columns[:, place[known]])


def find(store: Store, hashes: Hashes) -> Spends:
    """What these pairs have spent; a new one nothing."""
    found = np.zeros((_NUMBERS, len(hashes[0])))
    for records, page in look_up(store, hashes):
        found[:, records] = page.numbers
    return Spends(*found)


def add(
    store: Store, hashes: Hashes, costs: Costs, release: int = 0, revisions: Integers | None = None
) -> None:
    """Add what pairs spend to what they have spent, and mark them with the release."""
    counted = np.flatnonzero(costs.counted)
    some = (hashes[0][counted], hashes[1][counted])
    for numbers, records in _batches(store, some):
        rows = counted[records]
        marks = np.zeros((_MARKS, len(rows)), dtype=np.int64)
        marks[0] = release
        if revisions is not None:
            marks[1] = revisions[rows]
        spent = np.stack([column[rows] for column in costs])
        new = Page.made(_some(some, records), spent, marks)
        store.write(Page.of(store.read(numbers)).merged(new).stored(store.bits))


def change(store: Store, into: Callable[[Page], None]) -> None:
    """Change the numbers or marks of all pairs."""
    for page in pages(store):
        into(page)
        store.write(page.stored(store.bits))


def summary(stored: Iterable[Page]) -> Summary:
    """What pairs have spent, but those charged in full, without limit."""
    count, total, largest = 0, 0.0, np.zeros(3)
    for page in stored:
        _, epsilon, delta, pure, mu2 = page.numbers[:, ~page.endless]
        spent = epsilon + pure
        count, total = count + len(spent), total + float(spent.sum())
        largest = np.maximum(largest, [column.max(initial=0.0) for column in (spent, delta, mu2)])
    return Summary(
        pairs=float(count),
        total=total,
        mean=total / max(count, 1),
        largest=float(largest[0]),
        largest_delta=float(largest[1]),
        largest_mu=math.sqrt(largest[2]),
    )


def _together(store: Store) -> int:
    return max((1 << store.bits) // _BATCHES, 1)


def _batches(store: Store, hashes: Hashes) -> Iterator[tuple[list[int], Integers]]:
    """Numbers of pages, some at a time, and which records are in them."""
    page = (hashes[0] >> (HASH_BITS - store.bits)).astype(np.uint16)  # these are sorted fastest
    order = np.argsort(page, kind="stable")
    starts = np.flatnonzero(np.diff(page[order].astype(np.int64), prepend=-1))
    ends, together = np.append(starts[1:], len(order)), _together(store)
    for first in range(0, len(starts), together):
        some = slice(first, first + together)
        records = order[starts[first] : ends[some][-1]]
        yield page[order[starts[some]]].tolist(), records


def _some(hashes: Hashes, records: Integers) -> Integers:
    return np.stack([column[records] for column in hashes])
