"""A ratings table in Spark, checked by one aggregation: a source like a table in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from discreet.data.columns import choose_columns
from discreet.data.edges import PerItem
from discreet.data.event_rules import EventRules
from discreet.data.ids import Ids
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.engines.spark import tasks
from discreet.engines.spark.checks import (
    UNREADABLE,
    LevelRange,
    Problems,
    checked,
    common_problems,
    has_times,
    id_column,
    number_column,
    seconds,
)
from discreet.engines.spark.part_tasks import RECORDS
from discreet.engines.spark.parts import KeptParts, KeptPeople, SparkParts, may_keep, scattered
from discreet.engines.spark.scan import Scan, check_scan, plain_scan
from discreet.engines.spark.session import reported, require_pyspark
from discreet.errors import DataError, require_count

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class SparkRatings:
    """Ratings in Spark; make it with `spark_ratings`."""

    frame: DataFrame = field(repr=False)
    """user, item, rating, and where there are such epsilon and timestamp: secret."""
    items: Ids
    scale: RatingScale
    has_levels: bool
    partitions: int = field(repr=False)
    per_item: PerItem = field(repr=False)
    """How often each item of the table was rated, whatever the catalogue: secret."""
    pairs_checked: bool = True
    """Whether the table was searched for pairs that occur twice, or is said to have none."""
    rules: EventRules | None = None
    """Of events: by which rows became records."""
    levels: LevelRange | None = field(default=None, repr=False)
    """Between which the levels in the table are, where it has some: secret."""
    scan: Scan | None = field(default=None, repr=False)
    """How tasks read the frame's rows themselves; None where Spark has to."""

    @property
    def events(self) -> bool:
        """Whether these are events."""
        return self.rules is not None

    @property
    def read(self) -> tasks.Read:
        """How a task makes a table of its part."""
        return tasks.reader(self.scale, self.rules)

    def over(self, catalogue: Ids) -> SparkRatings:
        """The same, to be counted over a public catalogue."""
        return replace(self, items=catalogue)

    def with_items(self, catalogue: Ids) -> SparkRatings:
        """The same over a public catalogue; records of other items are dropped silently."""
        inside = self.frame.join(*self._catalogue(catalogue), "left_semi")
        return replace(self, frame=inside, items=catalogue, scan=None)

    def with_item_rows(self, frame: DataFrame) -> DataFrame:
        """Records with the number of their item in the catalogue, `item_row`."""
        return frame.join(*self._catalogue(self.items), "inner").drop("catalogue_item")

    def _catalogue(self, ids: Ids) -> tuple[DataFrame, Column]:
        """The catalogue, small and sent to everybody, and when a record is of one of its items."""
        from pyspark.sql import functions as sf

        texts = ids.values.cast(pl.String)
        rows = pl.DataFrame(
            {"catalogue_item": texts, "item_row": np.arange(len(ids), dtype=np.int32)}
        )
        sent = self.frame.sparkSession.createDataFrame(_for_spark(rows))
        # Ids are the same if their texts are.
        same = sf.col("item").cast("string") == sf.col("catalogue_item")
        return sf.broadcast(sent), same

    def map_parts(self, prepare: Callable[[Ratings], T]) -> SparkParts[T]:
        """Every part is prepared when it is first asked for, where its people are."""
        return SparkParts(self, prepare)

    @cached_property
    def kept(self) -> KeptParts | KeptPeople:
        """Everybody's ratings together on one executor, numbered once, and kept there.

        Where people do not come in order, records travel, thousands of a part as one: Spark would
        take each apart and put it together again, which costs several times as much.
        """
        context = self.frame.sparkSession.sparkContext
        if self.scan is not None and self.scan.people is not None and may_keep(context):
            return KeptPeople(context, self.scan, self.read)
        pieces = scattered(self.frame, self.scan, self.partitions)
        return KeptParts(pieces, self.partitions, self.read)

    def forget(self) -> None:
        """Give the executors' memory back."""
        kept = vars(self).pop("kept", None)
        if kept is not None:
            kept.forget()


def read_ratings(
    session: SparkSession,
    path: str,
    columns: Mapping[str, str] | None = None,
    *,
    scale: RatingScale | tuple[float, float] = (1, 5),
    unique_pairs: bool = False,
) -> SparkRatings:
    """A path that Spark reads: Parquet files and folders, partitioned tables, CSV with a header."""
    frame = read_frame(session, path)
    return spark_ratings(frame, columns, scale=scale, unique_pairs=unique_pairs)


def read_frame(session: SparkSession, path: str) -> DataFrame:
    """The same as Spark reads it."""
    with reported():
        if path.endswith(".csv"):
            # Ids in a text file are text, without the blanks around them: as elsewhere.
            return session.read.csv(
                path, header=True, ignoreLeadingWhiteSpace=True, ignoreTrailingWhiteSpace=True
            )
        return session.read.parquet(path)


def spark_ratings(
    frame: DataFrame,
    columns: Mapping[str, str] | None = None,
    *,
    scale: RatingScale | tuple[float, float] = (1, 5),
    partitions: int | None = None,
    unique_pairs: bool = False,
    times: bool = False,
) -> SparkRatings:
    """Check a DataFrame (user, item, rating and, where people chose, epsilon) and take it over.

    A pair that occurs twice would count twice, so it is looked for, and all ratings are shuffled
    once to find one. Where the table's key rules it out, `unique_pairs=True` says so and saves
    that; then it is yours to keep. With `times` they are kept, for lists.
    """
    require_pyspark()
    chosen = choose_columns(frame.columns, columns or {})
    times = times and has_times(chosen, columns)
    if not times:
        chosen.pop("timestamp", None)
    scale = RatingScale.of(scale)
    with reported():
        typed = frame.select(*_typed(frame, chosen))
    runs = _tasks(frame) if partitions is None else require_count("partitions", partitions)
    scan = None if times else plain_scan(frame, chosen, RECORDS, runs)
    known, scan = (None, None) if scan is None else check_scan(frame, scan, scale)
    if known is None:  # Spark reads it, and finds what is wrong
        known = checked(typed, _problems(typed, scale), "rating")
    table = typed.drop(UNREADABLE)
    if not unique_pairs:
        _refuse_pairs_that_occur_twice(table)
    return SparkRatings(
        table,
        known.per_item.ids,
        scale,
        "epsilon" in chosen,
        parts_for(table, known.per_item, partitions),
        known.per_item,
        pairs_checked=not unique_pairs,
        levels=known.levels,
        scan=scan,
    )


def parts_for(table: DataFrame, per_item: PerItem, wanted: int | None) -> int:
    """Into how many parts people are divided, unless a number is wanted."""
    if wanted is not None:
        return require_count("partitions", wanted)
    return max(_tasks(table), -(-int(per_item.counts.sum()) // RECORDS))


def _tasks(frame: DataFrame) -> int:
    return frame.sparkSession.sparkContext.defaultParallelism


def _typed(frame: DataFrame, chosen: Mapping[str, str]) -> list[Column]:
    """Our columns in our types: ids as integers or text, numbers as doubles."""
    from pyspark.sql import functions as sf
    from pyspark.sql import types

    typed = []
    for ours, theirs in chosen.items():
        kind, column = frame.schema[theirs].dataType, sf.col(f"`{theirs}`")
        if ours in ("user", "item"):
            column = id_column(frame, ours, theirs)
        elif ours == "timestamp":
            column = seconds(frame, theirs)
        else:
            if not isinstance(kind, types.NumericType | types.StringType):
                raise DataError(f"{ours} must be a number: the column holds {kind.simpleString()}")
            given, column = column, number_column(frame, theirs)
            if ours == "epsilon":
                # A level may be missing; one that cannot be read must not pass for that.
                typed.append((given.isNotNull() & column.isNull()).alias(UNREADABLE))
        typed.append(column.alias(ours))
    return typed


def _problems(table: DataFrame, scale: RatingScale) -> Problems:
    from pyspark.sql import functions as sf

    rating = sf.col("rating")
    return common_problems(table) | {
        "no_rating": (rating.isNull(), "rating is missing or no number: mend or drop the row"),
        "outside": (
            sf.isnan(rating) | (rating < scale.lo) | (rating > scale.hi),
            f"rating must be within the scale {scale}: declare another scale or mend the row",
        ),
    }


def _refuse_pairs_that_occur_twice(table: DataFrame) -> None:
    from pyspark.sql import functions as sf

    with reported():
        twice = table.groupBy("user", "item").count().filter(sf.col("count") > 1).first()
    if twice is not None:
        raise DataError(
            f"two ratings of one pair (user {twice['user']!r}, item {twice['item']!r}): remove one"
        )


def rows_of(column: Any, ids: Ids) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Where the values of a collected column stand among ids; -1 for others."""
    return ids.rows(pl.Series(pl.from_arrow(column)))


def _for_spark(rows: pl.DataFrame) -> Any:
    """An Arrow table with the types of text that Spark knows."""
    import pyarrow as pa

    table = rows.to_arrow()
    fields = [
        pa.field(f.name, pa.string() if rows.schema[f.name] == pl.String else f.type)
        for f in table.schema
    ]
    return table.cast(pa.schema(fields))
