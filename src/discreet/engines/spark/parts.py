"""People's parts on the executors: numbered once, prepared once for many rounds, kept by Spark."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import uuid4

import numpy as np

from discreet.arrays import Integers
from discreet.data.ratings import Ratings
from discreet.engines.spark import tasks
from discreet.engines.spark.session import connection_lost, reported
from discreet.engines.spark.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from discreet.engines.spark.ratings import SparkRatings

ROW = f"{tasks.PART} int, {tasks.KEPT} binary"
"""A part, in one row."""
_SUMS = f"{tasks.MISSING} array<int>, {tasks.KEPT} binary"
_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
T = TypeVar("T")


def persisted(frame: DataFrame) -> DataFrame:
    """The same, kept on the executors once it is computed."""
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.MEMORY_AND_DISK)


class KeptParts:
    """Numbered parts, which Spark keeps between jobs; what is prepared of them, executors keep.

    A part that is lost with its executor is read and prepared again, by the same rules.
    """

    def __init__(self, numbered: DataFrame) -> None:
        self.numbered = numbered
        self.run, self.generation = uuid4().hex, 0
        self._last: object = None

    def sums(self, parts: SparkParts[Any], contribution: Callable[[Any], Integers]) -> list[Any]:
        """What all parts contribute, added up by as many tasks as there are cores.

        Whatever others had prepared before makes room for what these prepare.
        """
        known = self._last is parts
        if not known:
            self._last, self.generation = parts, self.generation + 1
        store = self._store()
        fresh = tasks.fresh_sums(parts.prepare, contribution, store)
        if not known or store is None:
            return self._added(self.numbered, fresh)[0]
        found, missing = self._added(
            self.numbered.select(tasks.PART), tasks.recalled_sums(contribution, store)
        )
        if missing:
            lost = self.numbered.filter(self.numbered[tasks.PART].isin(missing))
            found += self._added(lost, fresh)[0]
        return found

    def forget(self) -> None:
        """Give the executors' memory and disk back."""
        store = self._store()
        if store is not None and self.generation:
            self._added(self.numbered.select(tasks.PART), tasks.forgotten(store))
        self.numbered.unpersist()

    def _added(self, frame: DataFrame, task: tasks.Task) -> tuple[list[Any], list[int]]:
        """The sums that tasks send, and the parts that they did not find."""
        session = frame.sparkSession
        with reported(), batches_of(session, 1):
            few = frame.coalesce(session.sparkContext.defaultParallelism)
            rows = few.mapInArrow(task, _SUMS).toArrow()
        sums = [pickle.loads(row.as_buffer()) for row in rows[tasks.KEPT]]
        missing = [part for row in rows[tasks.MISSING].to_pylist() for part in row]
        return [found for found in sums if found is not None], missing

    def _store(self) -> Store | None:
        """None where Spark is to encrypt whatever it writes: then nothing is kept beside it."""
        settings = self.numbered.sparkSession.sparkContext.getConf()
        if settings.get("spark.io.encryption.enabled", "false") == "true":
            return None
        return Store(self.run, self.generation)


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
def batches_of(session: SparkSession, rows: int) -> Iterator[None]:
    """Tasks get so many rows at a time: parts one by one, small records by the hundred thousand."""
    before = str(session.conf.get(_BATCH))
    session.conf.set(_BATCH, str(rows))
    try:
        yield
    finally:
        with suppress(*connection_lost()):
            session.conf.set(_BATCH, before)
