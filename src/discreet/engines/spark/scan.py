"""Tables that are nothing but Parquet files: tasks read their rows themselves, past Java's rows.

Spark hands every value to Python through a row of its own and through Arrow, which takes longer
than a fit. Where a DataFrame is a plain scan of files that have paths, a task reads its rows and
columns as the local engine does. Everything else (a filter, another format, a partitioned folder, a
remote file system, a column that Spark would convert, a row that is not in order) goes through
Spark, and gets its errors from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

import polars as pl

from discreet.data.edges import PerItem
from discreet.data.scale import RatingScale
from discreet.engines.spark.checks import Checked, LevelRange
from discreet.engines.spark.people import Order, PeopleRun, Rows, order_of, runs_of_people
from discreet.engines.spark.session import connection_lost, reported
from discreet.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

CHANGED = "a file of the table changed while the job ran"
_SOURCES = "org.apache.spark.sql.execution.datasources."
_IDS = {"tinyint", "smallint", "int", "bigint", "string"}
_NUMBERS = {"tinyint", "smallint", "int", "bigint", "float", "double"}
"""Spark's names of types whose values are the same wherever they are read."""


@dataclass(frozen=True)
class Scan:
    """A table of Parquet files, and how it is divided among tasks."""

    rows: tuple[Rows, ...]
    columns: Mapping[str, str]
    """Our names of the columns, and the files'."""
    people: tuple[PeopleRun, ...] | None = None
    """The same rows in runs that nobody is in two of, where people come in order."""

    def read(self, some: Rows) -> pl.DataFrame | None:
        """These rows, with our names; None where the file is not what it was, or not here."""
        columns = [pl.col(theirs).alias(ours) for ours, theirs in self.columns.items()]
        scan = pl.scan_parquet(some.path, glob=False, hive_partitioning=False)
        try:
            found = scan.select(columns).slice(some.first, some.number).collect()
        except (OSError, pl.exceptions.PolarsError):
            return None
        return found if found.height == some.number else None

    def read_people(self, run: PeopleRun) -> pl.DataFrame:
        """The rows of these people, if they are theirs still.

        Others may be in another part, and would count twice.
        """
        frame = self.read(run.rows)
        order = None if frame is None else order_of(frame["user"])
        if frame is None or order is None or (order.first, order.last) != (run.first, run.last):
            raise DataError(CHANGED)
        return frame


def plain_scan(
    frame: DataFrame, chosen: Mapping[str, str], most: int, runs: int = 1
) -> Scan | None:
    """How tasks read the table themselves; None if they cannot.

    In at least so many runs, if there are so many rows, and of at most so many rows each.
    """
    kinds = {theirs: frame.schema[theirs].dataType.simpleString() for theirs in chosen.values()}
    for ours, theirs in chosen.items():
        if kinds[theirs] not in (_IDS if ours in ("user", "item") else _NUMBERS):
            return None
    paths = _paths(frame)
    if paths is None:
        return None
    try:
        counts = {path: _count(path, kinds) for path in paths}
    except (OSError, LookupError, ValueError):  # not here, or not as Spark reads it
        return None
    most = min(most, max(-(-sum(counts.values()) // runs), 1))
    found = [rows for path, count in counts.items() for rows in _divided(path, count, most)]
    return Scan(tuple(found), dict(chosen)) if found else None


def _paths(frame: DataFrame) -> list[str] | None:
    """Where the files are whose rows are the table, all and as they are."""
    with suppress(AttributeError, TypeError, *connection_lost()):  # another Spark than we know
        plan: Any = frame._jdf.queryExecution().analyzed()
        if _class(plan) == _SOURCES + "LogicalRelation" and _is_plain(plan.relation()):
            places = [urlsplit(place) for place in plan.relation().location().inputFiles()]
            if all(place.scheme == "file" and not place.netloc for place in places):
                return [unquote(place.path) for place in places]
    return None


def _is_plain(relation: Any) -> bool:
    """Whether rows are those of Parquet files, without columns that are made of folders' names."""
    return (
        _class(relation) == _SOURCES + "HadoopFsRelation"
        and _class(relation.fileFormat()) == _SOURCES + "parquet.ParquetFileFormat"
        and _class(relation.location()) == _SOURCES + "InMemoryFileIndex"
        and relation.partitionSchema().length() == 0
    )


def _class(thing: Any) -> str:
    return str(thing.getClass().getName())


def _count(path: str, kinds: Mapping[str, str]) -> int:
    """A file's rows; `LookupError` where its columns are not what Spark takes them for."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        schema, count = file.schema_arrow, int(file.metadata.num_rows)
    for name, kind in kinds.items():
        if schema.field(name).type not in _arrow_types(kind):
            raise LookupError(name)
    return count


def _divided(path: str, count: int, most: int) -> Iterator[Rows]:
    """A file's rows in runs of about the same length."""
    runs = -(-count // most)
    for run in range(runs):
        first, end = count * run // runs, count * (run + 1) // runs
        yield Rows(path, first, end - first)


def _arrow_types(kind: str) -> tuple[pa.DataType, ...]:
    """What a column of Spark's type is in a file that needs no conversion."""
    import pyarrow as pa

    return {
        "tinyint": (pa.int8(),),
        "smallint": (pa.int16(),),
        "int": (pa.int32(),),
        "bigint": (pa.int64(),),
        "string": (pa.string(), pa.large_string()),
        "float": (pa.float32(),),
        "double": (pa.float64(),),
    }[kind]


def check_scan(
    frame: DataFrame, scan: Scan, scale: RatingScale
) -> tuple[Checked, Scan] | tuple[None, None]:
    """What `checked` finds, by tasks that read the files, and whether people come in order.

    Nothing if any row is not fit.
    """
    context = frame.sparkSession.sparkContext
    bounds = scale.lo, scale.hi

    def check(some: Iterable[Rows]) -> Iterator[_Seen | None]:
        yield from (_seen(scan, rows, bounds) for rows in some)

    with reported():
        spread = min(len(scan.rows), context.defaultParallelism)
        found = context.parallelize(scan.rows, spread).mapPartitions(check).collect()
    seen = [each for each in found if each is not None]
    if len(seen) < len(found):
        return None, None
    totals = pl.concat([pl.read_ipc_stream(each.per_item) for each in seen])
    per_item = PerItem.of(totals.group_by("item").agg(pl.col("count", "sum").sum()))
    levels = None
    if "epsilon" in scan.columns:
        levels = LevelRange(
            min(each.least for each in seen),
            max(each.largest for each in seen),
            any(each.blanks for each in seen),
        )
    people = runs_of_people(scan.rows, [each.order for each in seen])
    kept = replace(scan, people=None if people is None else tuple(people))
    return Checked(per_item, levels), kept


class _Seen(NamedTuple):
    """What a task tells of its rows: sums by item, the range of levels, and who is there."""

    per_item: bytes
    least: float
    largest: float
    blanks: bool
    order: Order | None


def _seen(scan: Scan, rows: Rows, bounds: tuple[float, float]) -> _Seen | None:
    """None where a row is not in order, or cannot be read here: Spark shall say which and why."""
    frame = scan.read(rows)
    if frame is None or any(frame[c].null_count() for c in ("user", "item", "rating")):
        return None
    if not frame["rating"].is_between(*bounds).all():
        return None
    least, largest, blanks = float("inf"), 0.0, False
    if "epsilon" in frame.columns:
        given = frame["epsilon"].drop_nulls().cast(pl.Float64)
        if not ((given > 0) & given.is_finite()).all():
            return None
        blanks = len(given) < frame.height
        if len(given):
            least, largest = float(given.min()), float(given.max())  # type: ignore[arg-type]
    totals = pl.len().alias("count"), pl.col("rating").cast(pl.Float64).sum().alias("sum")
    by_item = frame.group_by("item").agg(*totals)
    order = order_of(frame["user"])
    return _Seen(by_item.write_ipc_stream(None).getvalue(), least, largest, blanks, order)
