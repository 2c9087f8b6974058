"""One thread that does for many what they want of the database: together it costs little more."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from discreet.errors import BusyError

MOST_WAITING = 5_000
"""Who comes when so many wait is refused: it would take seconds."""
W = TypeVar("W")
Waiting = tuple[W, "Future[Any]"]
"""What somebody wants, and where they wait for it."""


class Together(Generic[W]):
    """Gives what waits, in the order in which it came and so much at a time, to who does it."""

    def __init__(self, do: Callable[[list[Waiting[W]]], None], most: int) -> None:
        self._do, self._most = do, most
        self._waiting: queue.SimpleQueue[Waiting[W] | None] = queue.SimpleQueue()
        self._beginning = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, wanted: W) -> Future[Any]:
        """Let this be done with what waits."""
        self._begin()
        if self._waiting.qsize() >= MOST_WAITING:
            raise BusyError("too many are waiting at the moment: try again in a second")
        future: Future[Any] = Future()
        self._waiting.put((wanted, future))
        return future

    def close(self) -> None:
        """Do what waits, and end."""
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
            still = [one for one in together if one[1].set_running_or_notify_cancel()]
            if still:
                self._do(still)

    def _taken(self) -> tuple[list[Waiting[W]], bool]:
        """What waits, as much as goes together; and whether there will be more."""
        first = self._waiting.get()
        if first is None:
            return [], False
        together = [first]
        while len(together) < self._most:
            try:
                another = self._waiting.get_nowait()
            except queue.Empty:
                break
            if another is None:
                return together, False
            together.append(another)
        return together, True
