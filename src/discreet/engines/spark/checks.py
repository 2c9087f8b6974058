"""Checks of a table in Spark: one aggregation finds whatever is wrong with any row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from discreet.data.columns import DECIMAL_COMMA
from discreet.data.edges import PerItem
from discreet.engines.spark.session import reported
from discreet.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class LevelRange(NamedTuple):
    """The smallest and the largest level in a table, and whether some are missing: secret."""

    least: float
    largest: float
    blanks: bool


class Checked(NamedTuple):
    """What is known of a table that is in order: secret."""

    per_item: PerItem
    levels: LevelRange | None
    """None where it has no column of levels."""


UNREADABLE = "epsilon_is_no_number"
Problems = dict[str, tuple["Column", str]]
"""What may be wrong with a row, by a name, and what to say of it."""


def common_problems(table: DataFrame) -> Problems:
    """Of ids, levels and times."""
    from pyspark.sql import functions as sf

    found = {
        "no_user": (sf.col("user").isNull(), "user id is missing: fill it in or drop the row"),
        "no_item": (sf.col("item").isNull(), "item id is missing: fill it in or drop the row"),
    }
    if "epsilon" in table.columns:
        epsilon = sf.col("epsilon")
        found["level"] = (
            epsilon.isNotNull() & ~((epsilon > 0) & (epsilon < float("inf"))),
            "epsilon must be finite and > 0",
        )
        found["no_level"] = (sf.col(UNREADABLE), "epsilon must be a number, or missing")
    if "timestamp" in table.columns:
        found["no_time"] = (
            sf.col("timestamp").isNull(),
            "timestamp is missing or no time: mend or drop the row",
        )
    return found


def id_column(frame: DataFrame, ours: str, theirs: str) -> Column:
    """A column of ids, as integers or text."""
    from pyspark.sql import functions as sf
    from pyspark.sql import types

    kind = frame.schema[theirs].dataType
    if not isinstance(kind, types.IntegralType | types.StringType):
        raise DataError(
            f"{ours} ids must be integers or strings: the column holds "
            f"{kind.simpleString()}; convert it, or name another column"
        )
    text = isinstance(kind, types.StringType)
    return sf.col(f"`{theirs}`").cast("string" if text else "bigint")


def number_column(frame: DataFrame, theirs: str) -> Column:
    """A column as doubles, null where it holds no number; text may have decimal commas."""
    from pyspark.sql import functions as sf
    from pyspark.sql import types

    column = sf.col(f"`{theirs}`")
    if isinstance(frame.schema[theirs].dataType, types.StringType):
        column = sf.regexp_replace(column, DECIMAL_COMMA, "$1.$2")
    return column.try_cast("double")


def has_times(chosen: Mapping[str, str], mapped: Mapping[str, str] | None) -> bool:
    """Whether a column is one of times for certain: by its name, or because somebody says so.

    A column such as "date" may hold anything else, and one row of it would tell too late.
    """
    return "timestamp" in (mapped or {}) or chosen.get("timestamp") == "timestamp"


def seconds(frame: DataFrame, name: str) -> Column:
    """Seconds since 1970, from numbers, times, or text of either; null where it is none."""
    from pyspark.sql import functions as sf
    from pyspark.sql import types

    column = sf.col(f"`{name}`")
    if isinstance(frame.schema[name].dataType, types.NumericType):
        return column.cast("bigint")
    time = sf.unix_timestamp(column.try_cast("timestamp"))
    if isinstance(frame.schema[name].dataType, types.StringType):
        return sf.coalesce(column.try_cast("bigint"), time)
    return time


def checked(table: DataFrame, problems: Problems, value: str) -> Checked:
    """How often every item occurs, the sum of these values of it, and the range of levels, if every
    row is in order."""
    from pyspark.sql import functions as sf

    bad = [
        sf.sum(sf.coalesce(condition, sf.lit(False)).cast("long")).alias(name)
        for name, (condition, _) in problems.items()
    ]
    with reported():
        totals = sf.count(sf.lit(1)).alias("count"), sf.sum(value).alias("sum")
        by_item = table.groupBy("item").agg(*totals, *bad, *_range(table)).toArrow()
    found = pl.DataFrame(pl.from_arrow(by_item))
    if found.height == 0:
        raise DataError("the table is empty: it needs at least one row")
    for name, (condition, words) in problems.items():
        if found[name].sum() > 0:
            with reported():
                row = table.filter(condition).first()
            where = "" if row is None else f" (user {row['user']!r}, item {row['item']!r})"
            raise DataError(f"{words}{where}")
    levels = None
    if "least" in found.columns:
        least, largest = found["least"].min(), found["largest"].max()
        blanks = found["given"].sum() < found["count"].sum()
        levels = LevelRange(
            float("inf") if least is None else float(least),  # type: ignore[arg-type]
            0.0 if largest is None else float(largest),  # type: ignore[arg-type]
            bool(blanks),
        )
    return Checked(PerItem.of(found), levels)


def _range(table: DataFrame) -> list[Column]:
    """What finds the range of levels, item by item."""
    from pyspark.sql import functions as sf

    if "epsilon" not in table.columns:
        return []
    least, largest = sf.min("epsilon").alias("least"), sf.max("epsilon").alias("largest")
    return [least, largest, sf.count("epsilon").alias("given")]
