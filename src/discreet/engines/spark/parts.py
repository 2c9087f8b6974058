"""People's parts on the executors: numbered once, prepared once for many rounds, kept there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import uuid4

import numpy as np

from discreet.arrays import Integers
from discreet.data.ratings import Ratings
from discreet.engines.spark import part_tasks
from discreet.engines.spark.scan import Scan
from discreet.engines.spark.session import connection_lost, reported
from discreet.engines.spark.store import Store
from discreet.engines.spark.tasks import Read

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

    from discreet.engines.spark.ratings import SparkRatings

_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
T = TypeVar("T")


def scattered(frame: DataFrame, scan: Scan | None, parts: int) -> RDD[part_tasks.Piece]:
    """The table in pieces of thousands of records of one part, which Spark does not look into."""
    context = frame.sparkSession.sparkContext
    if scan is not None:
        rows = context.parallelize(scan.rows, len(scan.rows))
        return rows.mapPartitions(part_tasks.scattered_rows(scan, parts))
    row = f"{part_tasks.PART} int, {part_tasks.KEPT} binary"
    with reported(), _batches_of(frame.sparkSession, part_tasks.RECORDS // 10):
        pieces = frame.mapInArrow(part_tasks.scattered(parts), row).rdd
    return pieces.map(lambda found: (found[0], bytes(found[1])))


class KeptParts:
    """Numbered parts, and what is prepared of them, on the executors between jobs.

    Spark remembers which part is where, and the pieces it was made of. A part that is lost with its
    executor is made again of these, and pieces that are lost as well of the table, by the same
    rules.
    """

    def __init__(self, pieces: RDD[part_tasks.Piece], parts: int, read: Read) -> None:
        from pyspark import StorageLevel

        self.context = pieces.context
        self.run, self.generation = uuid4().hex, 0
        own = pieces.partitionBy(parts, int)
        self.made = own.mapPartitionsWithIndex(
            part_tasks.numbered(read, self._store(0)), preservesPartitioning=True
        )
        # Another one, for `made` is to be made anew where a part is not found.
        self.kept = self.made.mapPartitions(iter).persist(StorageLevel.MEMORY_AND_DISK)
        self._last: object = None

    def sums(self, parts: SparkParts[Any], contribution: Callable[[Any], Integers]) -> list[Any]:
        """What all parts contribute, added up by as many tasks as there are cores.

        Whatever others had prepared before makes room for what these prepare.
        """
        if self._last is not parts:
            self._last, self.generation = parts, self.generation + 1
        task = part_tasks.sums(
            parts.prepare, contribution, self._store(0), self._store(self.generation)
        )
        with reported():
            found = self.context.runJob(self._few(), task)
            missing = [part for each in found for part in each.missing]
            if missing:
                found += self.context.runJob(self.made, task, missing)
        return [each.total for each in found if each.total is not None]

    def forget(self) -> None:
        """Give the executors' memory and disk back."""
        store = self._store(0)
        if store is not None and self.generation:
            with reported():
                self.context.runJob(self._few(), part_tasks.forgotten(store))
        self.kept.unpersist()

    def _few(self) -> RDD[part_tasks.Kept]:
        return self.kept.coalesce(self.context.defaultParallelism)

    def _store(self, generation: int) -> Store | None:
        """None where Spark is to encrypt whatever it writes: then nothing is kept beside it."""
        if self.context.getConf().get("spark.io.encryption.enabled", "false") == "true":
            return None
        return Store(self.run, generation)


@dataclass(frozen=True, eq=False)
class SparkParts(Generic[T]):
    """What tasks prepare from people's ratings."""

    table: SparkRatings
    prepare: Callable[[Ratings], T]

    def sum(self, contribution: Callable[[T], Integers], shape: tuple[int, ...]) -> Integers:
        """Every task adds up its parts, and the driver what as many tasks as there are cores send.

        So what is sent grows with cores, and not with parts or ratings.
        """
        total = np.zeros(shape, dtype=np.int64)
        for found in self.table.kept.sums(self, contribution):
            total += found.reshape(shape)
        return total


@contextmanager
def _batches_of(session: SparkSession, rows: int) -> Iterator[None]:
    """Tasks get so many rows of Spark's at a time."""
    before = str(session.conf.get(_BATCH))
    session.conf.set(_BATCH, str(rows))
    try:
        yield
    finally:
        with suppress(*connection_lost()):
            session.conf.set(_BATCH, before)
