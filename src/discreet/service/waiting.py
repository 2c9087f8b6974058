"""Waiting for others who write: in a thread, never on the event loop, where all would wait along.

A publication or an import holds SQLite's one place to write for seconds. Hardly any request needs
it, and a change of threads costs more than the work of most: so it is tried on the loop, and given
to a thread where it turns out that it would write.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.concurrency import run_in_threadpool

T = TypeVar("T")


HEAVY_AT_ONCE = 1
"""What computes for long, one at a time: Python lets one thread compute anyway, and everybody who
asks for something small would wait for a turn of each."""


class WouldWaitError(Exception):
    """This is about to write, on the event loop."""


def leave_the_loop() -> None:
    """To be called before writing; WouldWaitError on the event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise WouldWaitError


async def at_once(work: Callable[[], T]) -> T:
    """Do this here and now, or in a thread if it would wait."""
    try:
        return work()
    except WouldWaitError:
        return await run_in_threadpool(work)


class Arrivals:
    """Where requests wait for what another thread does for many: all that it has done since the
    event loop last looked arrives at once. To wake the loop for each takes both threads' time."""

    def __init__(self) -> None:
        self._done: deque[tuple[Future[Any], asyncio.Future[Any]]] = deque()
        self._woken = False

    async def of(self, future: Future[T]) -> T:
        """What this ends with; it is cancelled where nobody waits any more."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[T] = loop.create_future()

        def note(done: Future[T]) -> None:
            self._done.append((done, waiting))
            if not self._woken:
                self._woken = True
                loop.call_soon_threadsafe(self._deliver)

        future.add_done_callback(note)
        try:
            return await waiting
        except asyncio.CancelledError:
            future.cancel()
            raise

    def _deliver(self) -> None:
        self._woken = False  # before looking: what is done from here on wakes us again
        while self._done:
            done, waiting = self._done.popleft()
            if waiting.done():
                continue  # nobody waits any more
            error = done.exception()
            if error is None:
                waiting.set_result(done.result())
            else:
                waiting.set_exception(error)


class InTurn:
    """What computes for long: in a thread, when its turn has come; who waits holds no thread."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(HEAVY_AT_ONCE)

    async def __call__(self, work: Callable[[], T]) -> T:
        """Do this in its turn."""
        return await to_thread.run_sync(work, limiter=self._limiter)
