"""What runs on the executors between Spark's own steps: lists, and sums for MLlib's people.

Nothing here draws noise or says anything of a single record: an executor's log may be read by
others than the ratings' keeper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.data.event_rules import EventRules
from discreet.data.events import of_values
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.errors import DataError
from discreet.kernels.threads import limit_threads
from discreet.release.ranking import Ranking
from discreet.release.release import Release
from discreet.release.scoring import Own

if TYPE_CHECKING:
    import pyarrow as pa

Task = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
Read = Callable[[Any], Ratings]
"""What makes a table of a part's frame."""


def reader(scale: RatingScale, rules: EventRules | None) -> Read:
    """How tasks read their parts: ratings on a scale, or events whose values are made."""
    if rules is None:
        return partial(Ratings.from_frame, scale=scale)
    return partial(of_values, rules=rules)


def read_part(frame: pl.DataFrame, read: Read) -> Ratings:
    """The part as a table."""
    try:
        return read(frame)
    except DataError:
        raise DataError(
            "a part of the table cannot be used: a pair of user and item occurs twice in it, or it "
            "changed while the job ran"
        ) from None


def lists(release: Callable[[], Release], n: int, ranking: Ranking, read: Read) -> Task:
    """A task that recommends to the people of a part; their vectors are forgotten with it."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        limit_threads(1)  # Spark gives a task one core
        held = [batch for batch in batches if batch.num_rows]
        if not held:
            return
        shown = release()
        data = read_part(pl.DataFrame(pl.from_arrow(pa.Table.from_batches(held))), read)
        data = data.with_items(shown.item_ids)
        order = data.by_user
        own = Own(order.ptr, order.cols, order.values, data.timestamp)
        found = shown.recommend_rows(own, n, ranking)
        yield arrow_batch(
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
            yield arrow_batch(
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
            yield arrow_batch(
                item_row=np.fromiter(totals, np.int64),
                moments=pa.array(list(totals.values()), pa.list_(pa.float64())),
            )

    return run


def arrow_batch(**columns: Any) -> pa.RecordBatch:
    """Columns as tasks give them to Spark."""
    import pyarrow as pa

    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column) for column in columns.values()
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _texts_or_integers(ids: pl.Series) -> pa.Array:
    """Ids in the types of Spark's columns."""
    import pyarrow as pa

    return ids.to_arrow().cast(pa.string() if ids.dtype == pl.String else pa.int64())
