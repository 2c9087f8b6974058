"""Plain Parquet is read past Java's rows; everything else by Spark, with the same outcome."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np
import polars as pl
import pytest

import discreet as dc
import discreet.engines.spark as ds
from discreet.data.ratings import Ratings
from discreet.engines.spark import scan
from discreet.engines.spark.part_tasks import part_of
from discreet.engines.spark.scan import plain_scan
from discreet.errors import DataError
from tests.engines.test_stream import same

pytestmark = pytest.mark.xdist_group("spark")
CHORUS = dc.Chorus(delta=1e-6, factors=2, rounds=2, purpose="ratings")
SPEC = dc.PrivacySpec.uniform(1.0)
CHOSEN = {"user": "user", "item": "item", "rating": "rating"}


@pytest.fixture
def table(small: Ratings) -> pl.DataFrame:
    return small.to_frame().select("user", "item", "rating")


@pytest.fixture
def fitted(table: pl.DataFrame) -> Any:
    return CHORUS.fit(Ratings.from_frame(table), SPEC, seed=3).release


def written(frame: pl.DataFrame, place: Path) -> str:
    frame.write_parquet(place)
    return str(place)


def test_plain_files_are_read_by_tasks_whatever_their_names(
    spark: Any, table: pl.DataFrame, fitted: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "a b%20ü"
    folder.mkdir()
    table[:100].write_parquet(folder / "[1] of 2.parquet")
    table[100:].write_parquet(folder / "2#2?.parquet")
    (folder / "_SUCCESS").touch()
    (folder / "_more.parquet").write_bytes(b"which Spark does not look at")
    source = ds.read_ratings(spark, str(folder))
    assert source.scan is not None
    assert {Path(rows.path).name for rows in source.scan.rows} == {
        "[1] of 2.parquet", "2#2?.parquet",
    }  # fmt: skip
    same(fitted, ds.fit(CHORUS, source, SPEC, seed=3))


def test_a_table_is_divided_into_runs_that_hold_every_row_once(
    spark: Any, table: pl.DataFrame, tmp_path: Path
) -> None:
    frame = spark.read.parquet(written(table, tmp_path / "one.parquet"))
    found = plain_scan(frame, CHOSEN, most=37)
    assert found is not None
    assert max(rows.number for rows in found.rows) <= 37
    assert pl.concat([found.read(rows) for rows in found.rows]).equals(table)  # type: ignore[type-var]


def by_a_filter(spark: Any, table: pl.DataFrame, place: Path) -> Any:
    more = pl.concat([table, table[:5].with_columns(item=pl.col("item") + 10_000)])
    return spark.read.parquet(written(more, place / "one.parquet")).filter("item < 10000")


def by_another_format(spark: Any, table: pl.DataFrame, place: Path) -> Any:
    path = str(place / "orc")
    spark.createDataFrame(table.to_arrow()).write.orc(path)
    return spark.read.orc(path)


def by_partitions(spark: Any, table: pl.DataFrame, place: Path) -> Any:
    for (rating,), some in table.group_by("rating"):
        (place / f"rating={rating}").mkdir()
        some.drop("rating").write_parquet(place / f"rating={rating}" / "one.parquet")
    return spark.read.parquet(str(place))


def by_a_type_that_is_converted(spark: Any, table: pl.DataFrame, place: Path) -> Any:
    texts = table.with_columns(pl.col("rating").cast(pl.String))
    return spark.read.parquet(written(texts, place / "one.parquet"))


def by_a_schema_of_its_own(spark: Any, table: pl.DataFrame, place: Path) -> Any:
    narrow = table.with_columns(pl.col("rating").cast(pl.Float32))
    schema = "user string, item bigint, rating double"
    return spark.read.schema(schema).parquet(written(narrow, place / "one.parquet"))


def by_memory(spark: Any, table: pl.DataFrame, _: Path) -> Any:
    return spark.createDataFrame(table.to_arrow())


@pytest.mark.parametrize(
    "frame",
    [
        by_a_filter, by_another_format, by_partitions, by_a_type_that_is_converted,
        by_a_schema_of_its_own, by_memory,
    ],
)  # fmt: skip
def test_what_is_more_than_files_is_left_to_spark(
    frame: Callable[..., Any], spark: Any, table: pl.DataFrame, fitted: Any, tmp_path: Path
) -> None:
    source = ds.spark_ratings(frame(spark, table, tmp_path))
    assert source.scan is None
    same(fitted, ds.fit(CHORUS, source, SPEC, seed=3))


def test_files_elsewhere_are_left_to_spark(
    spark: Any, table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark.read.parquet(written(table, tmp_path / "one.parquet"))

    assert plain_scan(frame, CHOSEN, 100) is not None

    def elsewhere(place: str) -> SplitResult:
        return urlsplit(place.replace("file:", "s3a:", 1))

    monkeypatch.setattr(scan, "urlsplit", elsewhere)
    assert plain_scan(frame, CHOSEN, 100) is None


def test_a_row_that_is_not_in_order_gets_spark_s_words(
    spark: Any, table: pl.DataFrame, tmp_path: Path
) -> None:
    first = pl.int_range(pl.len()) == 0
    cases = {
        "two ratings of one pair": pl.concat([table, table[:1]]),
        "within the scale": table.with_columns(rating=pl.when(first).then(9.0).otherwise("rating")),
        "within the scale 1..5": table.with_columns(
            rating=pl.when(first).then(float("nan")).otherwise("rating")
        ),
        "rating is missing": table.with_columns(rating=pl.when(~first).then("rating")),
        "user id is missing": table.with_columns(user=pl.when(~first).then("user")),
        "item id is missing": table.with_columns(item=pl.when(~first).then("item")),
        "epsilon must be finite": table.with_columns(
            epsilon=pl.when(first).then(-1.0).otherwise(1.0)
        ),
        "no column 'rating'": table.drop("rating"),
        "is empty": table[:0],
    }
    for number, (words, bad) in enumerate(cases.items()):
        path = written(bad, tmp_path / f"{number}.parquet")
        for frame in (spark.read.parquet(path), spark.createDataFrame(bad.to_arrow())):
            with pytest.raises(DataError, match=words):
                ds.spark_ratings(frame)


def test_levels_are_found_by_either_way(spark: Any, table: pl.DataFrame, tmp_path: Path) -> None:
    first = pl.int_range(pl.len()) < 50
    own = table.with_columns(epsilon=pl.when(first).then(pl.col("item") % 3 + 0.5))
    here = ds.read_ratings(spark, written(own, tmp_path / "one.parquet"))
    there = ds.spark_ratings(spark.createDataFrame(own.to_arrow()))
    assert here.scan is not None
    assert there.scan is None
    assert here.levels == there.levels
    assert here.per_item.ids.values.to_list() == there.per_item.ids.values.to_list()
    assert (here.per_item.counts == there.per_item.counts).all()


def test_a_file_that_changes_while_the_job_runs_is_no_silent_loss(
    spark: Any, table: pl.DataFrame, tmp_path: Path
) -> None:
    path = written(table, tmp_path / "one.parquet")
    source = ds.read_ratings(spark, path, unique_pairs=True)
    Path(path).unlink()
    with pytest.raises(DataError, match="changed while the job ran"):
        ds.fit(CHORUS, source, SPEC, seed=3)
    table[:100].write_parquet(path)
    with pytest.raises(DataError, match="changed while the job ran"):
        ds.fit(CHORUS, source, SPEC, seed=3)


def test_people_belong_to_one_part_whatever_their_records_and_neighbours() -> None:
    numbers = pl.Series([5, -3, 5, 2**62, 0, -3, 7], dtype=pl.Int64)
    texts = pl.Series(["ann", "bob", "ann", "ünsal", "", "bob", "zoe"])
    for users in (numbers, numbers.clip(-100, 100).cast(pl.Int8), texts):
        parts = part_of(users, 5)
        assert parts.min() >= 0
        assert parts.max() < 5
        alone = [part_of(users[k : k + 1], 5)[0] for k in range(len(users))]
        assert (parts == np.array(alone)).all()
    many = part_of(pl.Series(range(100_000)), 40)
    assert np.bincount(many, minlength=40).min() > 2_000
