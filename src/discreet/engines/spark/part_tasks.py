"""What runs on the executors of people's parts: divided, numbered, prepared, added up.

Nothing here draws noise or says anything of a single record: an executor's log may be read by
others than the ratings' keeper.
"""

from __future__ import annotations

import gc
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.data.ratings import Ratings
from discreet.engines.spark.people import PeopleRun, Rows
from discreet.engines.spark.scan import CHANGED, Scan
from discreet.engines.spark.store import Store
from discreet.engines.spark.tasks import Read, Task, arrow_batch, read_part
from discreet.errors import DataError, DiscreetError
from discreet.kernels.threads import limit_threads

if TYPE_CHECKING:
    import pyarrow as pa

PART, KEPT = "part", "kept"
"""Columns of what tasks give one another: of which part, and what."""
RECORDS = 1_000_000
"""About so many records are in a task's memory at a time."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""Fibonacci hashing: 2^64 over the golden ratio."""

Piece = tuple[int, bytes]
"""Records of one part, as Arrow writes them."""
Kept = tuple[int, Ratings | None]
"""A part that is ready, and its table, where it is not in the executor's store."""


Find = Callable[[int, Any], Ratings | None]
"""What finds a part's table, given what Spark brings of it; None where it is on no disk here."""


class Sums(NamedTuple):
    """What a task sends to the driver: sums of its parts, and the parts that are not here."""

    total: Integers | None
    missing: list[int]


def _settled() -> None:
    """What is loaded stays: PySpark looks for garbage among all of it after every task."""
    gc.collect()  # else garbage would stay as well
    gc.freeze()


def scattered_rows(scan: Scan, parts: int) -> Callable[[Iterable[Rows]], Iterator[Piece]]:
    """A task that reads its rows and sorts them by the part they belong to."""

    def run(some: Iterable[Rows]) -> Iterator[Piece]:
        for rows in some:
            frame = scan.read(rows)
            if frame is None:
                raise DataError(CHANGED)
            yield from _pieces(frame, parts)
        _settled()

    return run


def scattered(parts: int) -> Task:
    """The same of rows that Spark has read."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for some in _many(batches):
            frame = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(some)))
            numbers, pieces = zip(*_pieces(frame, parts), strict=True)
            yield arrow_batch(**{PART: np.array(numbers, np.int32), KEPT: list(pieces)})
        _settled()

    return run


def _many(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Batches with about as many records together as a part has."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        if count >= RECORDS:
            yield held
            held, count = [], 0
    if count:
        yield held


def _pieces(frame: pl.DataFrame, parts: int) -> Iterator[Piece]:
    """The records of every part; ids as narrow as they can be, for less has to travel."""
    limit_threads(1)  # Spark gives a task one core
    narrow = frame.with_columns(frame[name].shrink_dtype() for name in ("user", "item"))
    part = part_of(frame["user"], parts)
    order = np.argsort(part, kind="stable")
    part, narrow = part[order], narrow[order]
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    for lo, hi in pairwise([*starts, len(part)]):
        yield int(part[lo]), narrow[lo:hi].write_ipc_stream(None).getvalue()


def part_of(users: pl.Series, parts: int) -> np.ndarray[Any, np.dtype[np.int16 | np.int32]]:
    """Which part everybody belongs to: the same on every machine, for all their records.

    Integers by multiplication modulo 2^64, texts by the CRC-32 of their bytes.
    """
    kind = np.int16 if parts <= 2**15 else np.int32  # NumPy sorts narrow numbers by counting
    if users.dtype.is_integer():
        spread = users.cast(pl.Int64).to_numpy().view(np.uint64) * _SPREAD
        return ((spread >> np.uint64(32)) % np.uint64(parts)).astype(kind)
    known = users.unique()
    owner = [zlib.crc32(text.encode()) % parts for text in known]
    return users.replace_strict(known, owner, return_dtype=pl.Int32).to_numpy().astype(kind)


def numbered(read: Read, store: Store | None) -> Callable[[int, Iterable[Piece]], Iterator[Kept]]:
    """A task that checks, numbers and sorts a part, once."""

    def run(part: int, pieces: Iterable[Piece]) -> Iterator[Kept]:
        limit_threads(1)
        held = [pl.read_ipc_stream(piece) for _, piece in pieces]
        if held:
            data = read_part(pl.concat(held, how="vertical_relaxed"), read)
            kept = store is not None and store.keep(part, data)
            del held
            _settled()
            yield part, None if kept else data

    return run


def kept_table(store: Store | None) -> Find:
    """How a task finds the table of a part that was numbered where it runs, or brought there."""

    def find(part: int, data: Ratings | None) -> Ratings | None:
        return store.recall(part) if data is None and store is not None else data

    return find


def read_table(scan: Scan, read: Read, store: Store) -> Find:
    """The same of people who come in order: read where it is first needed, and kept there."""

    def find(part: int, run: PeopleRun) -> Ratings:
        data: Ratings | None = store.recall(part)
        if data is None:
            data = read_part(scan.read_people(run), read)
            store.keep(part, data)
        return data

    return find


def sums(
    prepare: Callable[[Ratings], Any],
    contribution: Callable[[Any], Integers],
    find: Find,
    prepared: Store | None,
) -> Callable[[Iterable[tuple[int, Any]]], Iterator[Sums]]:
    """A task that adds up what its parts contribute, each prepared once, one in memory at a time.

    A part is not here if Spark has it on another executor.
    """

    def run(parts: Iterable[tuple[int, Any]]) -> Iterator[Sums]:
        limit_threads(1)
        total, missing, new = None, [], False
        for part, what in parts:
            ready = None if prepared is None else prepared.recall(part)
            if ready is None:
                data = find(part, what)
                if data is None:
                    missing.append(part)
                    continue
                new = True
                with _nothing_told():
                    ready = prepare(data)
                if prepared is not None:
                    prepared.keep(part, ready)
            with _nothing_told():
                values = contribution(ready)
            total = values if total is None else total + values
        what = data = ready = None
        if new:
            _settled()
        yield Sums(total, missing)

    return run


def of_shares(
    task: Callable[[Iterable[tuple[int, Any]]], Iterator[Sums]],
) -> Callable[[Iterable[list[tuple[int, Any]]]], Iterator[Sums]]:
    """The same task of parts that come by the list."""
    return lambda shares: task(part for share in shares for part in share)


def forgotten(store: Store) -> Callable[[Iterable[Any]], Iterator[None]]:
    """A task that removes what was kept where it runs."""

    def run(parts: Iterable[Any]) -> Iterator[None]:
        for _ in parts:  # PySpark ends a worker that has not read its input
            pass
        store.forget()
        yield from ()

    return run


@contextmanager
def _nothing_told() -> Iterator[None]:
    """An error of ours may name a record, and others may read an executor's log."""
    try:
        yield
    except DiscreetError as error:
        raise DataError(f"{type(error).__name__} in a part of the table") from None
