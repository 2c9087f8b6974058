"""Spends in pages: all pairs whose hash begins alike lie together, sorted, in one row of SQLite.

A page is read, merged with what a release costs, and written back whole: millions of pairs in
seconds, with memory for one page. A ledger of an older version has a row for every pair instead; it
is read the same way, and turned into pages before anything is written.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.privacy.hashing import HASH_BITS, Hashes
from discreet.privacy.lifetime import Costs, Spends, Summary

SCHEMA = "CREATE TABLE spend_pages (page INTEGER PRIMARY KEY, content BLOB NOT NULL);"
_PAGE_BITS = 8
_SHIFT: Final = HASH_BITS - _PAGE_BITS
_PAGES: Final = 1 << _PAGE_BITS
_NUMBERS: Final = len(Spends._fields)
_OLD_COLUMNS: Final = 5
_FULL = (math.inf, math.inf, 1.0, math.inf, math.inf)
"""Level and spends of a pair that never counts again."""


class Page:
    """Some pairs: their hashes in order, and the numbers of `Spends`."""

    def __init__(self, hashes: Integers, numbers: Floats) -> None:
        self.hashes, self.numbers = hashes, numbers

    @classmethod
    def of(cls, content: bytes) -> Page:
        """A page as it is stored: which columns are not all zero, and these, little-endian."""
        if not content:
            return cls(np.zeros((2, 0), np.int64), np.zeros((_NUMBERS, 0)))
        there = [k for k in range(_NUMBERS) if content[0] >> k & 1]
        columns = np.frombuffer(content, "<i8", offset=1).reshape(2 + len(there), -1)
        numbers = np.zeros((_NUMBERS, columns.shape[1]))
        numbers[there] = columns[2:].view("<f8")
        return cls(columns[:2], numbers)

    def content(self) -> bytes:
        """What is stored of it."""
        there = self.numbers.any(axis=1)
        first = bytes([sum(1 << int(k) for k in np.flatnonzero(there))])
        return (
            first
            + self.hashes.astype("<i8").tobytes()
            + self.numbers[there].astype("<f8").tobytes()
        )

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

    def merged(self, hashes: Integers, costs: Floats) -> Page:
        """With what these pairs spend: levels are the larger ones, all else adds up."""
        place, known = self.rows_of(hashes)
        numbers, rows = self.numbers.copy(), place[known]
        numbers[0, rows] = np.maximum(numbers[0, rows], costs[0, known])
        numbers[1:, rows] += costs[1:, known]
        if known.all():
            return Page(self.hashes, numbers)
        hashes = np.concatenate([self.hashes, hashes[:, ~known]], axis=1)
        numbers = np.concatenate([numbers, costs[:, ~known]], axis=1)
        order = np.lexsort((hashes[1], hashes[0]))
        return Page(hashes[:, order], numbers[:, order])


def pages(database: sqlite3.Connection) -> Iterator[Page]:
    """All pages that hold a pair."""
    for number in range(_PAGES):
        page = _read(database, number)
        if page.hashes.size:
            yield page


def find(database: sqlite3.Connection, hashes: Hashes) -> Spends:
    """What these pairs have spent; a new one nothing."""
    found = np.zeros((_NUMBERS, len(hashes[0])))
    for number, records in _by_page(hashes):
        page = _read(database, number)
        place, known = page.rows_of(_some(hashes, records))
        found[:, records[known]] = page.numbers[:, place[known]]
    return Spends(*found)


def add(database: sqlite3.Connection, hashes: Hashes, costs: Costs) -> None:
    """Add what pairs spend to what they have spent."""
    counted = np.flatnonzero(costs.counted)
    some = (hashes[0][counted], hashes[1][counted])
    for number, records in _by_page(some):
        spent = np.stack([column[counted[records]] for column in costs])
        _write(database, number, _read(database, number).merged(_some(some, records), spent))


def charge_in_full(database: sqlite3.Connection, hashes: Hashes) -> None:
    """Take these pairs, and all that are known, to have spent all they ever could."""
    full = np.array(_FULL)[:, None]
    for number in range(_PAGES):
        page = _read(database, number)
        if page.hashes.size:
            everything = np.broadcast_to(full, page.numbers.shape)
            _write(database, number, Page(page.hashes, everything))
    count = len(hashes[0])
    add(database, hashes, Costs(*(np.broadcast_to(number, count) for number in _FULL)))


def summary(database: sqlite3.Connection) -> Summary:
    """What pairs have spent, but those charged in full, without limit."""
    count, total, largest = 0, 0.0, np.zeros(3)
    for page in pages(database):
        _, epsilon, delta, pure, mu2 = page.numbers[:, ~_endless(page)]
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


def charged_in_full(database: sqlite3.Connection) -> int:
    """How many pairs were."""
    return sum(int(_endless(page).sum()) for page in pages(database))


def _endless(page: Page) -> NDArray[np.bool_]:
    return np.asarray(np.isinf(page.numbers[1]))


def turn_into_pages(database: sqlite3.Connection) -> None:
    """A ledger of an older version, row for row, in the transaction at hand: nothing is lost."""
    if not _has_rows(database):
        return
    database.execute(SCHEMA)
    for number in range(_PAGES):
        page = _old_page(database, number)
        if page.hashes.size:
            _write(database, number, page)
    database.execute("DROP TABLE spends")


def _has_rows(database: sqlite3.Connection) -> bool:
    found = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'spends'").fetchone()
    return found is not None


def _read(database: sqlite3.Connection, number: int) -> Page:
    try:
        query = "SELECT content FROM spend_pages WHERE page = ?"
        found = database.execute(query, (number,)).fetchone()
    except sqlite3.OperationalError:
        if not _has_rows(database):
            raise
        return _old_page(database, number)
    return Page.of(b"" if found is None else found[0])


def _old_page(database: sqlite3.Connection, number: int) -> Page:
    """What an older version spent was spent undivided."""
    query = "SELECT h1, h2, level, spent, delta FROM spends WHERE h1 >= ? AND h1 < ? ORDER BY 1, 2"
    rows = database.execute(query, (number << _SHIFT, (number + 1) << _SHIFT)).fetchall()
    columns = list(zip(*rows, strict=True)) or [()] * _OLD_COLUMNS
    numbers = np.zeros((_NUMBERS, len(rows)))
    numbers[:3] = np.array(columns[2:], dtype=np.float64)
    return Page(np.array(columns[:2], dtype=np.int64), numbers)


def _write(database: sqlite3.Connection, number: int, page: Page) -> None:
    row = (number, page.content())
    database.execute("INSERT OR REPLACE INTO spend_pages VALUES (?, ?)", row)


def _by_page(hashes: Hashes) -> Iterator[tuple[int, Integers]]:
    """Numbers of pages, and which records each has."""
    page = (hashes[0] >> _SHIFT).astype(np.uint8)
    order = np.argsort(page, kind="stable")
    ends = np.cumsum(np.bincount(page, minlength=_PAGES))
    for number, (lo, hi) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        if lo < hi:
            yield number, order[lo:hi]


def _some(hashes: Hashes, records: Integers) -> Integers:
    return np.stack([column[records] for column in hashes])
