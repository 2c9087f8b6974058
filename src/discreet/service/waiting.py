"""Waiting for others who write: in a thread, never on the event loop, where all would wait along.

A publication or an import holds SQLite's one place to write for seconds. Hardly any request needs
it, and a change of threads costs more than the work of most: so it is tried on the loop, and given
to a thread where it turns out that it would write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

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


class InTurn:
    """What computes for long: in a thread, when its turn has come; who waits holds no thread."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(HEAVY_AT_ONCE)

    async def __call__(self, work: Callable[[], T]) -> T:
        """Do this in its turn."""
        return await to_thread.run_sync(work, limiter=self._limiter)
