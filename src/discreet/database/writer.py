"""One thread that writes for many: what waits together is committed together.

A commit waits for the disk, and SQLite lets one write at a time: sixty-four ratings in one
transaction cost hardly more than one. Nobody is told that theirs is written before it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.database.connection import Database
from discreet.database.together import Together, Waiting

MOST_TOGETHER = 256
"""In one transaction: nobody waits long for the others'."""
A = TypeVar("A")
T = TypeVar("T")
Work = Callable[[Connection], Any]


@dataclass(frozen=True)
class Alike(Generic[A, T]):
    """Work of which much is cheaper at once: a server is asked once for all that wait together."""

    do: Callable[[Connection, Sequence[A]], list[T]]
    """What does all of it, in the order that it is given."""
    wanted: A

    def __call__(self, connection: Connection) -> T:
        """Do this one alone."""
        [result] = self.do(connection, [self.wanted])
        return result


class Writer:
    """Writes what it is given, in the order in which it comes."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._together: Together[Work] = Together(self._write, MOST_TOGETHER)

    def submit(self, work: Callable[[Connection], T]) -> Future[T]:
        """Do this in a transaction, with others' or alone: it may be done anew if theirs fails.

        The future has its result once that is durable, or the error that it ended with.
        """
        return self._together.submit(work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Do this, and wait until it is durable."""
        return self.submit(work).result()

    def write_apart(self, work: Callable[[Connection], T]) -> T:
        """Do this, and wait until it is durable: on a server in a transaction of its own.

        For what locks more than its own rows: a server lets such transactions wait for each other,
        and others' ratings should not wait with them. SQLite lets all of them wait in any case.
        """
        if self.database.sqlite:
            return self.write(work)
        with self.database.writing() as connection:
            return work(connection)

    def close(self) -> None:
        """Write what waits, and end."""
        self._together.close()

    def _write(self, together: list[Waiting[Work]]) -> None:
        try:
            with self.database.writing() as connection:
                results = _results(connection, [work for work, _ in together])
        except Exception as error:
            # One that cannot be written must not take the others along; a database that is away,
            # or busy, is so for all of them.
            away = self.database.sqlite and isinstance(error, sa.exc.OperationalError)
            if len(together) > 1 and not away:
                for one in together:
                    self._write([one])
                return
            for _, future in together:
                future.set_exception(error)
            return
        for (_, future), result in zip(together, results, strict=True):
            future.set_result(result)


def _results(connection: Connection, works: list[Callable[[Connection], Any]]) -> list[Any]:
    """What all of it ends with, in order; neighbours that are alike are done at once."""
    results: list[Any] = []
    for do, group in groupby(works, lambda work: work.do if isinstance(work, Alike) else None):
        if do is None:
            results += [work(connection) for work in group]
        else:
            results += do(connection, [work.wanted for work in group if isinstance(work, Alike)])
    return results
