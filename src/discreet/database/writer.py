"""One thread that writes for many: what waits together is committed together.

A commit waits for the disk, and SQLite lets one write at a time: sixty-four ratings in one
transaction cost hardly more than one. Nobody is told that theirs is written before it is.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.database.connection import Database
from discreet.errors import BusyError

MOST_TOGETHER = 256
"""In one transaction: nobody waits long for the others'."""
MOST_WAITING = 5_000
"""Who comes when so many wait is refused: it would take seconds."""
A = TypeVar("A")
T = TypeVar("T")
_Waiting = tuple[Callable[[Connection], Any], "Future[Any]"]


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
        self._waiting: queue.Queue[_Waiting | None] = queue.Queue(MOST_WAITING)
        self._beginning = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[Connection], T]) -> Future[T]:
        """Do this in a transaction, with others' or alone: it may be done anew if theirs fails.

        The future has its result once that is durable, or the error that it ended with.
        """
        self._begin()
        future: Future[T] = Future()
        try:
            self._waiting.put_nowait((work, future))
        except queue.Full:
            raise BusyError("too many are writing at the moment: try again in a second") from None
        return future

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
        with self._beginning:
            if self._thread is not None:
                self._waiting.put(None)
                self._thread.join()
                self._thread = None

    def _begin(self) -> None:
        if self._thread is None:
            with self._beginning:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, daemon=True)
                    self._thread.start()

    def _run(self) -> None:
        going_on = True
        while going_on:
            together, going_on = self._taken()
            # Who has given up by now is left out; from here on nobody can any more.
            self._write([one for one in together if one[1].set_running_or_notify_cancel()])

    def _taken(self) -> tuple[list[_Waiting], bool]:
        """What waits, as much as goes together; and whether there will be more."""
        first = self._waiting.get()
        if first is None:
            return [], False
        together = [first]
        while len(together) < MOST_TOGETHER:
            try:
                another = self._waiting.get_nowait()
            except queue.Empty:
                break
            if another is None:
                return together, False
            together.append(another)
        return together, True

    def _write(self, together: list[_Waiting]) -> None:
        if not together:
            return
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
