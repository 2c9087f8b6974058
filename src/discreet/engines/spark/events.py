"""A table of events in Spark: checked, and made one record a pair by the declared rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from discreet.data.event_rules import EventRules, Quantity
from discreet.data.events import SCALE
from discreet.engines.spark.checks import (
    UNREADABLE,
    Problems,
    checked,
    common_problems,
    has_times,
    id_column,
    number_column,
    seconds,
)
from discreet.engines.spark.ratings import SparkRatings, parts_for, read_frame
from discreet.engines.spark.session import reported, require_pyspark
from discreet.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

_NO_WEIGHT = "weight_is_no_number"


def read_events(
    session: SparkSession,
    path: str,
    columns: Mapping[str, str] | None = None,
    *,
    rules: EventRules = EventRules(),
    unique_pairs: bool = False,
) -> SparkRatings:
    """A path that Spark reads: Parquet files and folders, partitioned tables, CSV with a header."""
    frame = read_frame(session, path)
    return spark_events(frame, columns, rules=rules, unique_pairs=unique_pairs)


def spark_events(
    frame: DataFrame,
    columns: Mapping[str, str] | None = None,
    *,
    rules: EventRules = EventRules(),
    partitions: int | None = None,
    unique_pairs: bool = False,
    times: bool = False,
) -> SparkRatings:
    """Check a DataFrame of events (user, item, and where there are such weight, epsilon, timestamp)
    and take it over.

    Several events of a pair become one record by the rules, for which all events are shuffled once.
    Where the table's key rules them out, `unique_pairs=True` says so and saves that; then it is
    yours to keep. With `times` they are kept, for lists.
    """
    require_pyspark()
    chosen = rules.choose_columns(frame.columns, columns or {})
    times = times and has_times(chosen, columns)
    if rules.repeats != "last" and not times:
        chosen.pop("timestamp", None)
    with reported():
        typed = frame.select(*_typed(frame, chosen, rules))
    per_item, levels = checked(typed, _problems(typed), "weight")
    table = typed.drop(UNREADABLE, _NO_WEIGHT)
    if not unique_pairs:
        table = _one_of_each_pair(table, rules, times=times)
    if not times:
        table = table.drop("timestamp")
    return SparkRatings(
        _with_values(table, rules),
        per_item.ids,
        SCALE,
        "epsilon" in chosen,
        parts_for(table, per_item, partitions),
        per_item,
        pairs_checked=not unique_pairs,
        rules=rules,
        levels=levels,
    )


def _typed(frame: DataFrame, chosen: Mapping[str, str], rules: EventRules) -> Iterator[Column]:
    """Our columns in our types, and whether something stands there that is no number."""
    from pyspark.sql import functions as sf

    for ours in ("user", "item"):
        yield id_column(frame, ours, chosen[ours]).alias(ours)
    for ours, unreadable in (("weight", _NO_WEIGHT), ("epsilon", UNREADABLE)):
        if ours in chosen:
            given = sf.col(f"`{chosen[ours]}`")
            number = number_column(frame, chosen[ours])
            yield (given.isNotNull() & number.isNull()).alias(unreadable)
            yield (_or_missing(number, rules.quantity) if ours == "weight" else number).alias(ours)
    if "weight" not in chosen:
        yield sf.lit(False).alias(_NO_WEIGHT)
        yield sf.lit(1.0).alias("weight")
    if "timestamp" in chosen:
        yield seconds(frame, chosen["timestamp"]).alias("timestamp")


def _or_missing(weight: Column, quantity: Quantity | None) -> Column:
    """The quantity of every event, or what stands for a missing one."""
    from pyspark.sql import functions as sf

    given = sf.when(~sf.isnan(weight), weight)
    if quantity is None or quantity.missing is None:
        return given
    return sf.coalesce(given, sf.lit(quantity.missing))


def _problems(table: DataFrame) -> Problems:
    """What may be wrong with a row, and what to say of it."""
    from pyspark.sql import functions as sf

    weight = sf.col("weight")
    return common_problems(table) | {
        "no_number": (sf.col(_NO_WEIGHT), "weight must be a number"),
        "no_weight": (
            weight.isNull(),
            "weight is missing: fill it in, drop the row, or declare what stands for it with "
            "Quantity(missing=...) (--quantity SHAPE:CAP:MISSING)",
        ),
        "outside": (
            (weight < 0) | (weight == float("inf")),
            "weight must be finite and >= 0: mend or drop the row",
        ),
    }


def _one_of_each_pair(table: DataFrame, rules: EventRules, *, times: bool) -> DataFrame:
    """The pair's one record by the rules: as a table in memory makes it, to the bit."""
    from pyspark.sql import functions as sf

    weight = sf.max("weight")
    if rules.repeats == "last":
        weight = sf.max_by("weight", sf.struct("timestamp", "weight"))
    elif rules.repeats == "sum":  # in ascending order: the same sum wherever the events lie
        ascending = sf.array_sort(sf.collect_list("weight"))
        weight = sf.aggregate(ascending, sf.lit(0.0), lambda total, w: total + w)
    record = [weight.alias("weight")]
    if "epsilon" in table.columns:
        _refuse_levels_and_blanks(table)
        record.append(sf.min("epsilon").alias("epsilon"))
    if times:
        record.append(sf.max("timestamp").alias("timestamp"))
    return table.groupBy("user", "item").agg(*record)


def _refuse_levels_and_blanks(table: DataFrame) -> None:
    """A blank beside another event's level: a default that is declared later might be smaller."""
    from pyspark.sql import functions as sf

    given, every = sf.count("epsilon").alias("given"), sf.count(sf.lit(1)).alias("every")
    counted = table.groupBy("user", "item").agg(given, every)
    with reported():
        mixed = counted.filter((sf.col("given") > 0) & (sf.col("given") < sf.col("every"))).first()
    if mixed is not None:
        raise DataError(
            f"epsilon is missing (user {mixed['user']!r}, item {mixed['item']!r}), and another "
            "event of the pair has one: fill it in"
        )


def _with_values(table: DataFrame, rules: EventRules) -> DataFrame:
    """The records with their values as ratings, which the executors compute as we do."""
    from pyspark.sql import functions as sf

    if rules.quantity is None:
        return table.withColumn("rating", sf.lit(1.0)).drop("weight")
    plain = table.withColumnRenamed("weight", "rating")
    return plain.mapInArrow(_bounded(rules.quantity), plain.schema)


def _bounded(
    quantity: Quantity,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A task that makes values of quantities."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            place = batch.schema.get_field_index("rating")
            values = pa.array(quantity.values(batch.column(place).to_numpy()))
            yield batch.set_column(place, "rating", values)

    return run
