"""What runs on the executors: parts of the table in Arrow, the same kernels as everywhere.

Nothing here draws noise or says anything of a single record: an executor's log may be read by
others than the ratings' keeper.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.data.event_rules import EventRules
from discreet.data.events import of_values
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.engines.spark.store import Store
from discreet.errors import DataError, DiscreetError
from discreet.kernels.threads import limit_threads
from discreet.release.ranking import Ranking
from discreet.release.release import Release
from discreet.release.scoring import Own

if TYPE_CHECKING:
    import pyarrow as pa

Task = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
PART, KEPT, MISSING = "part", "kept", "missing"
"""Columns of what tasks give one another: of which part, what, and of which parts it is not."""
RECORDS = 1_000_000
"""About so many records are in a task's memory at a time."""

Read = Callable[[Any], Ratings]
"""What makes a table of a part's frame."""


def reader(scale: RatingScale, rules: EventRules | None) -> Read:
    """How tasks read their parts: ratings on a scale, or events whose values are made."""
    if rules is None:
        return partial(Ratings.from_frame, scale=scale)
    return partial(of_values, rules=rules)


def _table(batches: Iterable[pa.RecordBatch], read: Read) -> Ratings | None:
    """The part as a table; None where a partition is empty."""
    import pyarrow as pa

    limit_threads(1)  # Spark gives a task one core
    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return None
    try:
        return read(pl.from_arrow(pa.Table.from_batches(held)))
    except DataError:
        raise DataError(
            "a part of the table cannot be used: a pair of user and item occurs twice in it, or it "
            "changed while the job ran"
        ) from None


def scattered() -> Task:
    """A task that sorts its records by the part they belong to: rows of many records each.

    A row has the id of one of its people, by which Spark sends it where that one belongs.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        limit_threads(1)
        for some in _many(batches):
            records = pa.Table.from_batches(some)
            part = records.column(PART).to_numpy()
            order = np.argsort(part, kind="stable")
            part, records = part[order], records.drop_columns([PART]).take(order).combine_chunks()
            starts = np.flatnonzero(np.diff(part, prepend=-1))
            pieces = [_ipc(records.slice(lo, hi - lo)) for lo, hi in pairwise([*starts, len(part)])]
            yield _batch(
                user=records.column("user").take(starts).combine_chunks(),
                **{PART: part[starts], KEPT: pieces},
            )

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


def _ipc(piece: pa.Table) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, piece.schema) as stream:
        stream.write_table(piece)
    return bytes(sink.getvalue())


def numbered(read: Read) -> Task:
    """A task that checks, numbers and sorts a part, once: one row, the table."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        part, pieces = context.partitionId(), []
        for batch in batches:
            if not set(batch.column(PART).to_pylist()) <= {part}:
                raise DataError("Spark divides people in another way than it says: report this")
            pieces += [
                piece for row in batch.column(KEPT) for piece in pa.ipc.open_stream(row.as_buffer())
            ]
        data = _table(pieces, read)
        if data is not None:
            yield _batch(**{PART: np.array([part], np.int32), KEPT: [_pickled(data)]})

    return run


def fresh_sums(
    prepare: Callable[[Ratings], Any], contribution: Callable[[Any], Integers], store: Store | None
) -> Task:
    """A task that prepares its parts, one in memory at a time, and adds up what they contribute."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        limit_threads(1)
        total = None
        for batch in batches:
            for part, row in zip(batch.column(PART).to_pylist(), batch.column(KEPT), strict=True):
                with _nothing_told():
                    prepared = prepare(pickle.loads(row.as_buffer()))
                    values = contribution(prepared)
                if store is not None:
                    store.keep(part, prepared)
                total = values if total is None else total + values
        if total is not None:
            yield _sums(total, [])

    return run


def recalled_sums(contribution: Callable[[Any], Integers], store: Store) -> Task:
    """The same of parts that were prepared before, and which ones are not to be found here."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        limit_threads(1)
        total, missing = None, []
        for part in (part for batch in batches for part in batch.column(PART).to_pylist()):
            prepared = store.recall(part)
            if prepared is None:
                missing.append(part)
                continue
            with _nothing_told():
                values = contribution(prepared)
            total = values if total is None else total + values
        yield _sums(total, missing)

    return run


def forgotten(store: Store) -> Task:
    """A task that removes what was kept where it runs."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            store.forget()
        yield from ()

    return run


def _sums(total: Integers | None, missing: list[int]) -> pa.RecordBatch:
    """What a task sends to the driver."""
    import pyarrow as pa

    none = pa.array([missing], pa.list_(pa.int32()))
    return _batch(**{MISSING: none, KEPT: [_pickled(total)]})


def _pickled(value: Any) -> bytes:
    """What our own tasks write for one another and for the driver, never for others."""
    return pickle.dumps(value, protocol=5)


@contextmanager
def _nothing_told() -> Iterator[None]:
    """An error of ours may name a record, and others may read an executor's log."""
    try:
        yield
    except DiscreetError as error:
        raise DataError(f"{type(error).__name__} in a part of the table") from None


def lists(release: Callable[[], Release], n: int, ranking: Ranking, read: Read) -> Task:
    """A task that recommends to the people of a part; their vectors are forgotten with it."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shown = release()
        data = _table(batches, read)
        if data is None:
            return
        order = data.with_items(shown.item_ids).by_user
        own = Own(order.ptr, order.cols, order.values)
        found = shown.recommend_rows(own, n, ranking)
        yield _batch(
            user=_texts_or_integers(data.users.take(found["person"].to_numpy())),
            item=_texts_or_integers(found["item"]),
            rank=found["rank"].to_numpy(),
            score=found["score"].to_numpy(),
        )

    return run


def moments(d: int) -> Task:
    """A task that sums up per item what a ridge regression needs: u u' (upper half) and r u."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        totals: dict[int, Any] = {}
        upper = np.triu_indices(d)
        for batch in batches:
            item = batch.column("item_row").to_numpy()
            rating = batch.column("rating").to_numpy()
            U = np.reshape(
                batch.column("features").flatten().to_numpy(zero_copy_only=False), (-1, d)
            )
            U = U.astype(np.float64)
            U /= np.maximum(1.0, np.sqrt(np.einsum("kd,kd->k", U, U)))[:, None]
            order = np.argsort(item, kind="stable")
            starts = np.flatnonzero(np.diff(item[order], prepend=-1))
            for some in np.split(order, starts[1:]):
                if len(some) == 0:
                    continue
                X = U[some]
                found = np.concatenate([(X.T @ X)[upper], X.T @ rating[some]])
                key = int(item[some[0]])
                totals[key] = totals[key] + found if key in totals else found
        if totals:
            yield _batch(
                item_row=np.fromiter(totals, np.int64),
                moments=pa.FixedSizeListArray.from_arrays(
                    pa.array(np.concatenate(list(totals.values()))), d * (d + 3) // 2
                ).cast(pa.list_(pa.float64())),
            )

    return run


def added_moments() -> Task:
    """A task that adds up the sums of several parts, item by item."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        totals: dict[int, Any] = {}
        for batch in batches:
            for key, found in zip(
                batch.column("item_row").to_pylist(), batch.column("moments"), strict=True
            ):
                values = found.values.to_numpy()
                totals[key] = totals[key] + values if key in totals else values
        if totals:
            yield _batch(
                item_row=np.fromiter(totals, np.int64),
                moments=pa.array(list(totals.values()), pa.list_(pa.float64())),
            )

    return run


def _batch(**columns: Any) -> pa.RecordBatch:
    import pyarrow as pa

    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column) for column in columns.values()
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _texts_or_integers(ids: pl.Series) -> pa.Array:
    """Ids in the types of Spark's columns."""
    import pyarrow as pa

    return ids.to_arrow().cast(pa.string() if ids.dtype == pl.String else pa.int64())
