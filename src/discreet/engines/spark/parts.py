"""People's parts on the executors: numbered once, prepared once for many rounds, kept there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
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
    from pyspark import RDD, SparkContext
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


class _Kept:
    """What is kept of one table, numbered and prepared, on the executors between jobs."""

    def __init__(self, context: SparkContext) -> None:
        self.context, self.run = context, uuid4().hex
        self.generation = 0
        self._last: object = None

    def store(self, generation: int) -> Store | None:
        """None where Spark is to encrypt whatever it writes: then nothing is kept beside it."""
        return Store(self.run, generation) if may_keep(self.context) else None

    def next_store(self, parts: SparkParts[Any]) -> Store | None:
        """For what is prepared now; what others had prepared before makes room for it."""
        if self._last is not parts:
            self._last, self.generation = parts, self.generation + 1
        return self.store(self.generation)

    def forget_on(self, everywhere: RDD[Any]) -> None:
        """Give the executors' disk back."""
        store = self.store(0)
        if store is not None and self.generation:
            with reported():
                self.context.runJob(everywhere, part_tasks.forgotten(store))


class KeptParts(_Kept):
    """Numbered parts, and what is prepared of them, on the executors between jobs.

    Spark remembers which part is where, and the pieces it was made of. A part that is lost with its
    executor is made again of these, and pieces that are lost as well of the table, by the same
    rules.
    """

    def __init__(self, pieces: RDD[part_tasks.Piece], parts: int, read: Read) -> None:
        from pyspark import StorageLevel

        super().__init__(pieces.context)
        own = pieces.partitionBy(parts, int)
        self.made = own.mapPartitionsWithIndex(
            part_tasks.numbered(read, self.store(0)), preservesPartitioning=True
        )
        # Another one, for `made` is to be made anew where a part is not found.
        self.kept = self.made.mapPartitions(iter).persist(StorageLevel.MEMORY_AND_DISK)

    def sums(self, parts: SparkParts[Any], contribution: Callable[[Any], Integers]) -> list[Any]:
        """What all parts contribute, added up by as many tasks as there are cores."""
        find = part_tasks.kept_table(self.store(0))
        task = part_tasks.sums(parts.prepare, contribution, find, self.next_store(parts))
        with reported():
            found = self.context.runJob(self._few(), task)
            missing = [part for each in found for part in each.missing]
            if missing:
                found += self.context.runJob(self.made, task, missing)
        return [each.total for each in found if each.total is not None]

    def forget(self) -> None:
        """Give the executors' memory and disk back."""
        self.forget_on(self._few())
        self.kept.unpersist()

    def _few(self) -> RDD[part_tasks.Kept]:
        return self.kept.coalesce(self.context.defaultParallelism)


class KeptPeople(_Kept):
    """The same of a table in order of people: a part is a run of it, and nothing is exchanged.

    A task reads its runs where it first needs them, and Spark remembers where that was. What is
    lost with an executor is read again.
    """

    def __init__(self, context: SparkContext, scan: Scan, read: Read) -> None:
        super().__init__(context)
        assert scan.people is not None
        cores = min(context.defaultParallelism, len(scan.people))
        # The longest first, in turns: about as many rows for everybody.
        runs = sorted(enumerate(scan.people), key=lambda run: -run[1].rows.number)
        shares = context.parallelize([runs[core::cores] for core in range(cores)], cores)
        self.shares = shares.persist()
        # Which rows, every task is told: not all of it to all of them.
        self.scan, self.read = replace(scan, rows=(), people=None), read

    def sums(self, parts: SparkParts[Any], contribution: Callable[[Any], Integers]) -> list[Any]:
        """What all runs contribute, added up by as many tasks as there are cores."""
        table = self.store(0)
        assert table is not None
        find = part_tasks.read_table(self.scan, self.read, table)
        task = part_tasks.sums(parts.prepare, contribution, find, self.next_store(parts))
        with reported():
            found = self.context.runJob(self.shares, part_tasks.of_shares(task))
        return [each.total for each in found if each.total is not None]

    def forget(self) -> None:
        """Give the executors' memory and disk back."""
        self.forget_on(self.shares)
        self.shares.unpersist()


def may_keep(context: SparkContext) -> bool:
    """Whether parts may lie beside what Spark writes: not where it is to encrypt that."""
    return context.getConf().get("spark.io.encryption.enabled", "false") != "true"


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
