"""The pages of a database's ledger: many and small, as people ask for a few pairs of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy.engine import Connection

_NAMES = "spend_pages (page, content)"


class DatabasePages:
    """The pages in a transaction; in the drivers' own fast ways, as others wait to write."""

    bits = 16

    def __init__(self, connection: Connection) -> None:
        self._sqlite = connection.dialect.name == "sqlite"
        self._driver: Any = connection.connection.driver_connection

    def read(self, numbers: Sequence[int]) -> Iterator[bytes]:
        """These pages, in order, of those that there are."""
        given: tuple[object, ...] = (list(numbers),)
        if self._sqlite:
            among, given = f"IN ({', '.join('?' * len(numbers))})", tuple(numbers)
            cursor = self._driver.cursor()
        else:
            among = "= ANY(%s)"
            cursor = self._driver.cursor(binary=True)  # as text it would be twice as long
        query = f"SELECT content FROM spend_pages WHERE page {among} ORDER BY page"
        for (content,) in cursor.execute(query, given):
            yield content

    def write(self, pages: Sequence[tuple[int, bytes]]) -> None:
        """Put pages in place, instead of what was there under their numbers."""
        if self._sqlite:
            self._driver.executemany(f"INSERT OR REPLACE INTO {_NAMES} VALUES (?, ?)", pages)
            return
        numbers = [number for number, _ in pages]
        with self._driver.cursor() as cursor:
            cursor.execute("DELETE FROM spend_pages WHERE page = ANY(%s)", (numbers,))
            with cursor.copy(f"COPY {_NAMES} FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(["int4", "bytea"])
                for page in pages:
                    copy.write_row(page)
