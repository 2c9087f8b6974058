"""One thread that reads for many: a server is asked once for all that wait together.

Every request asks who it is, and most of them for one person's own rows. To change to a thread for
each, and ask a server each time, takes longer than what is done with the answer.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import Future
from typing import Any

import sqlalchemy as sa

from discreet.database import glance
from discreet.database.connection import Database
from discreet.database.glance import Row
from discreet.database.together import Together, Waiting

MOST_TOGETHER = 64
"""In one statement: nobody waits long for the others' rows."""
AMONG = "among"
"""What a question calls the keys that it is asked for, an array."""


class Reader:
    """Answers questions: statements whose rows begin with one of the keys they are asked for."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._together: Together[tuple[sa.sql.expression.Executable, str]] = Together(
            self._read, MOST_TOGETHER
        )

    def submit(self, question: sa.sql.expression.Executable, key: str) -> Future[list[Row]]:
        """The rows that begin with this key, without it."""
        return self._together.submit((question, key))

    def close(self) -> None:
        """Answer what waits, and end."""
        self._together.close()

    def _read(self, together: list[Waiting[tuple[sa.sql.expression.Executable, str]]]) -> None:
        asked = defaultdict(list)
        for (question, key), future in together:
            asked[question].append((key, future))
        for question, waiting in asked.items():
            self._answer(question, waiting)

    def _answer(
        self, question: sa.sql.expression.Executable, waiting: list[tuple[str, Future[Any]]]
    ) -> None:
        keys, found = list({key for key, _ in waiting}), defaultdict(list)
        try:
            for key, *row in glance.rows(self.database, question, {AMONG: keys}):
                found[key].append(row)
        except Exception as error:
            for _, future in waiting:
                future.set_exception(error)
            return
        for key, future in waiting:
            future.set_result(found[key])
