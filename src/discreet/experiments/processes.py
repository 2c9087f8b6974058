"""Processes side by side that leave Ctrl-C to the one that started them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from typing import Any


def each_in_a_process(
    work: Callable[..., None], calls: Sequence[tuple[Any, ...]], side_by_side: int
) -> Generator[None]:
    """Do `work` with the arguments of each call, so many side by side; yield when one is done.

    Interrupted, the processes are ended in the middle: what they do must bear that.
    """
    # One core each: a linear algebra library that starts threads of its own would only get in the
    # way. Spawned processes take this over; what the caller had set comes first.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    others = set(active_children())
    pool = ProcessPoolExecutor(side_by_side, mp_context=get_context("spawn"))
    try:
        with _without_interrupts():
            futures: list[Future[None]] = [pool.submit(work, *call) for call in calls]
        for future in as_completed(futures):
            future.result()
            yield
    except (KeyboardInterrupt, GeneratorExit):
        for process in set(active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold interrupts back: processes that start meanwhile never get any, from their first
    instruction on, and print no traceback; this one gets them afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
