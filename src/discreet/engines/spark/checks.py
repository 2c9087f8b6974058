"""Checks of a table in Spark: one aggregation finds whatever is wrong with any row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from discreet.data.edges import PerItem
from discreet.engines.spark.session import reported
from discreet.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

UNREADABLE = "epsilon_is_no_number"
Problems = dict[str, tuple["Column", str]]
"""What may be wrong with a row, by a name, and what to say of it."""


def common_problems(table: DataFrame) -> Problems:
    """Of ids and levels."""
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


def checked(table: DataFrame, problems: Problems, value: str) -> PerItem:
    """How often every item occurs, and the sum of these values of it, if every row is in order."""
    from pyspark.sql import functions as sf

    bad = [
        sf.sum(sf.coalesce(condition, sf.lit(False)).cast("long")).alias(name)
        for name, (condition, _) in problems.items()
    ]
    with reported():
        totals = sf.count(sf.lit(1)).alias("count"), sf.sum(value).alias("sum")
        by_item = table.groupBy("item").agg(*totals, *bad).toArrow()
    found = pl.DataFrame(pl.from_arrow(by_item))
    if found.height == 0:
        raise DataError("the table is empty: it needs at least one row")
    for name, (condition, words) in problems.items():
        if found[name].sum() > 0:
            with reported():
                row = table.filter(condition).first()
            where = "" if row is None else f" (user {row['user']!r}, item {row['item']!r})"
            raise DataError(f"{words}{where}")
    return PerItem.of(found)
