"""Threads: kernels run on disjoint ranges of rows, so their number changes no result."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import require_count

T = TypeVar("T")
WORTH_THREADS = 1 << 16
"""Fewer records, of little work each, are not worth a second thread."""
_BLOCK = 1 << 15

_most_threads = 1 << 30


def limit_threads(most: int) -> None:
    """At most so many in this process from now on, for one that shares its machine with others."""
    global _most_threads
    _most_threads = require_count("threads", most)


def thread_count(threads: int | None) -> int:
    """How many threads to use: what was asked for, else every core this process may run on."""
    if threads is not None:
        return require_count("threads", threads)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@lru_cache(maxsize=8)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=threads, thread_name_prefix="discreet")


def run_all(calls: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """The results of all calls, in their order; compiled kernels release the interpreter lock.

    The caller works too: waking a thread takes longer than a short call, which the caller may have
    finished by then.
    """
    count = min(threads, len(calls), _most_threads)
    if count <= 1:
        return [call() for call in calls]
    results: dict[int, T] = {}
    waiting = deque(enumerate(calls))

    def work() -> None:
        while waiting:
            try:
                place, call = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            results[place] = call()

    helpers = [_pool(threads).submit(work) for _ in range(count - 1)]
    try:
        work()
    finally:
        waiting.clear()  # nothing is left, unless a call failed
        wait([helper for helper in helpers if not helper.cancel()])
    for helper in helpers:
        if not helper.cancelled():
            helper.result()
    return [results[place] for place in range(len(calls))]


def run_ranges(
    kernel: Callable[..., Any], ranges: list[tuple[int, int]], threads: int, *arrays: Any
) -> None:
    """Call kernel(lo, hi, *arrays) for every range."""
    run_all([partial(kernel, lo, hi, *arrays) for lo, hi in ranges], threads)


def blockwise(function: Callable[..., Any], dtype: Any, *arrays: NDArray[Any]) -> NDArray[Any]:
    """function(*arrays), which works element by element: in blocks, on all threads.

    What NumPy keeps between its steps then stays in a cache instead of filling the memory.
    """
    out = np.empty(len(arrays[0]), dtype=dtype)

    def work(lo: int) -> None:
        block = slice(lo, lo + _BLOCK)
        out[block] = function(*(array[block] for array in arrays))

    run_all([partial(work, lo) for lo in range(0, len(out), _BLOCK)], thread_count(None))
    return out


def row_ranges(ptr: NDArray[np.int64], threads: int) -> list[tuple[int, int]]:
    """Cut the rows of a compressed table into ranges of about equal work."""
    rows = len(ptr) - 1
    if threads == 1 or rows < 2 * threads:
        return [(0, rows)]
    # A row costs its records and a little for itself; several ranges a thread even out the rest.
    work = ptr + 4 * np.arange(rows + 1, dtype=np.int64)
    parts = 4 * threads
    targets = work[-1] * np.arange(1, parts, dtype=np.int64) // parts
    cuts = np.unique(np.concatenate([[0], np.searchsorted(work, targets), [rows]]))
    return [(int(lo), int(hi)) for lo, hi in pairwise(cuts)]


def record_ranges(rows: NDArray[np.int32], lo: int, hi: int, threads: int) -> list[tuple[int, int]]:
    """Cut records lo..hi, sorted by row, so that no row is split between two ranges."""
    if threads == 1 or hi - lo < 4096:
        return [(lo, hi)]
    cuts = [lo]
    parts = 4 * threads  # a thread that wakes up late leaves some to the others
    for part in range(1, parts):
        middle = lo + (hi - lo) * part // parts
        cut = lo + int(np.searchsorted(rows[lo:hi], rows[middle]))
        if cut > cuts[-1]:
            cuts.append(cut)
    return list(pairwise([*cuts, hi]))


def even_ranges(count: int, threads: int, *, least: int = 4096) -> list[tuple[int, int]]:
    """Cut 0..count into one range a thread, or leave it whole where it is small."""
    if threads == 1 or count < least:
        return [(0, count)]
    cuts = [count * part // threads for part in range(threads + 1)]
    return list(pairwise(cuts))
