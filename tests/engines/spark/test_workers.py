"""PySpark's workers stay warm: they read their input, and look for garbage among little."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
import discreet.engines.spark as ds
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.engines.spark import part_tasks
from discreet.engines.spark.people import Rows
from discreet.engines.spark.scan import Scan
from discreet.engines.spark.store import Store
from discreet.engines.spark.tasks import reader

pytestmark = pytest.mark.xdist_group("spark")
READ = reader(RatingScale(), None)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(Store, "_folder", lambda self: tmp_path / self.run)
    return Store("run", 0)


@pytest.fixture
def unfrozen() -> Iterator[None]:
    """A test's own process goes on with what it had."""
    gc.unfreeze()
    yield
    gc.unfreeze()


def counted(some: Ratings) -> Any:
    return np.array([len(some)])


def scattered(table: pl.DataFrame, place: Path) -> list[part_tasks.Piece]:
    table.write_parquet(place / "table.parquet")
    scan = Scan(
        (Rows(str(place / "table.parquet"), 0, table.height),), {c: c for c in table.columns}
    )
    return list(part_tasks.scattered_rows(scan, 1)(iter(scan.rows)))


@pytest.mark.usefixtures("unfrozen")
def test_what_a_task_loads_is_not_searched_for_garbage_after_every_other(
    small: Ratings, store: Store, tmp_path: Path
) -> None:
    def frozen(task: Callable[[], Any]) -> bool:
        gc.unfreeze()
        task()
        return gc.get_freeze_count() > 0

    table = small.to_frame().select("user", "item", "rating")
    pieces = scattered(table, tmp_path)
    find = part_tasks.kept_table(store)
    again = part_tasks.sums(lambda some: some, counted, find, Store("run", 1))
    assert frozen(lambda: scattered(table, tmp_path))
    assert frozen(lambda: list(part_tasks.numbered(READ, store)(0, iter(pieces))))
    assert frozen(lambda: list(again(iter([(0, None)]))))
    assert not frozen(lambda: list(again(iter([(0, None)])))), "a round that only adds up is quick"


def test_whoever_forgets_reads_which_parts_there_were(store: Store) -> None:
    parts = iter([(0, None), (1, None)])
    assert list(part_tasks.forgotten(store)(parts)) == []
    assert next(parts, None) is None


def test_workers_outlive_a_fit(spark: Any, parquet: Path) -> None:
    """PySpark would end a worker whose task left some input unread, and load kernels anew."""
    scheme = dc.Chorus(delta=1e-6, factors=1, rounds=2, purpose="ratings")

    def workers() -> set[int]:
        def number(rows: Any) -> Iterator[int]:
            list(rows)
            yield os.getppid()

        daemons = spark.sparkContext.parallelize(range(2), 2).mapPartitions(number).collect()
        children = (Path(f"/proc/{p}/task/{p}/children").read_text().split() for p in set(daemons))
        return {int(pid) for each in children for pid in each}

    if not Path("/proc/self/task").exists():
        pytest.skip("needs Linux's list of processes")
    source = ds.read_ratings(spark, str(parquet), unique_pairs=True)
    before = workers()
    seen: list[set[int]] = []
    ds.fit(
        scheme, source, dc.PrivacySpec.uniform(1.0), seed=1,
        progress=lambda *_: seen.append(workers()),
    )  # fmt: skip
    assert before | seen[-1] <= workers()
