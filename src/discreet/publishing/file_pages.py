"""The pages of a ledger's file, each a row of SQLite.

A ledger of an older version has a row for every pair instead; it is read the same way, and turned
into pages before anything is written.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from discreet.privacy import spend_pages
from discreet.privacy.hashing import HASH_BITS, Hashes
from discreet.privacy.lifetime import Costs, Spends
from discreet.privacy.spend_pages import Page

SCHEMA = "CREATE TABLE spend_pages (page INTEGER PRIMARY KEY, content BLOB NOT NULL);"
_OLD_COLUMNS: Final = 5
_FULL = (math.inf, math.inf, 1.0, math.inf, math.inf)
"""Level and spends of a pair that never counts again."""


class FilePages:
    """The pages of an open file: few and large, as whole tables are what it is asked for."""

    bits = 8

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def read(self, numbers: Sequence[int]) -> Iterator[bytes]:
        """These pages."""
        if self._has_rows():
            yield from self._of_rows(numbers)
            return
        query = "SELECT content FROM spend_pages WHERE page = ?"
        for number in numbers:
            for (content,) in self._database.execute(query, (number,)):
                yield content

    def write(self, pages: Sequence[tuple[int, bytes]]) -> None:
        """Put pages in place."""
        self._database.executemany("INSERT OR REPLACE INTO spend_pages VALUES (?, ?)", pages)

    def charge_in_full(self, hashes: Hashes) -> None:
        """Take these pairs, and all that are known, to have spent all they ever could."""

        def charge(page: Page) -> None:
            page.numbers[:] = np.array(_FULL)[:, None]

        self.replace_rows()
        spend_pages.change(self, charge)
        count = len(hashes[0])
        full = Costs(*(np.broadcast_to(number, count) for number in _FULL))
        spend_pages.add(self, hashes, full)

    def replace_rows(self) -> None:
        """A ledger of an older version, row for row, in this transaction: nothing is lost."""
        if not self._has_rows():
            return
        self._database.execute(SCHEMA)
        for number in range(1 << self.bits):
            self.write([(number, content) for content in self._of_rows([number])])
        self._database.execute("DROP TABLE spends")

    def _has_rows(self) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE name = 'spends'"
        return self._database.execute(query).fetchone() is not None

    def _of_rows(self, numbers: Sequence[int]) -> Iterator[bytes]:
        """What an older version spent was spent undivided."""
        query = "SELECT h1, h2, level, spent, delta FROM spends WHERE h1 >= ? AND h1 < ?"
        for number in numbers:
            bounds = (n << HASH_BITS - self.bits for n in (number, number + 1))
            rows = self._database.execute(query, tuple(bounds)).fetchall()
            columns = list(zip(*rows, strict=True)) or [()] * _OLD_COLUMNS
            spent = np.zeros((len(Spends._fields), len(rows)))
            spent[:3] = np.array(columns[2:], dtype=np.float64)
            page = Page.made(np.array(columns[:2], dtype=np.int64), spent)
            yield from (content for _, content in page.stored(self.bits))
