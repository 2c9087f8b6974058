"""Levels, coins and votes as Spark SQL expressions: the numbers that the kernels compute.

Every expression is a function of the record and of the run's key, never of where the record lies,
so a partition that is computed again counts the same votes. What is secret (the key, people's
levels, a threshold that is made of them) is joined as data: constants would stand in Spark's plans
and event logs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.data.ids import id_series
from discreet.engines.spark.checks import LevelRange
from discreet.engines.spark.ratings import SparkRatings, rows_of
from discreet.engines.spark.session import reported
from discreet.errors import SpecError
from discreet.privacy.fixedpoint import COIN_GRID, COIN_SHAVE, ONE_VOTE, WEIGHT_SHAVE
from discreet.privacy.hashing import derive_key
from discreet.privacy.noise import Randomness
from discreet.privacy.offer import no_level
from discreet.privacy.spec import ById, Groups, LevelColumn, PrivacySpec, Uniform
from discreet.schemes.votes import Ballot

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def _uniform(key: Column, number: int = 0) -> Column:
    """The record's uniform number in [0, 1), see `privacy.hashing`."""
    from pyspark.sql import functions as sf

    user, item = sf.col("user").cast("string"), sf.col("item").cast("string")
    length = sf.octet_length(user).cast("string")
    digest = sf.sha2(sf.concat(key, length, sf.lit(":"), user, sf.lit(":"), item), 256)
    return sf.conv(sf.substring(digest, 16 * number + 1, 13), 16, 10).cast("double") / float(
        COIN_GRID
    )


def with_levels(table: SparkRatings, spec: PrivacySpec) -> DataFrame:
    """The records with every one's level, if all are on offer."""
    from pyspark.sql import functions as sf

    offer, frame = spec.offer, table.frame
    match spec:
        case Uniform():
            return frame.withColumn("level", sf.lit(offer.max_level))
        case LevelColumn():
            if not table.has_levels:
                raise SpecError(
                    "the ratings table has no epsilon column: add one, map one with "
                    "columns={'epsilon': ...}, or choose another specification"
                )
            level = sf.coalesce(sf.col("epsilon"), sf.lit(offer.default).cast("double"))
            levelled = frame.withColumn("level", level)
            return levelled if _all_offered(table.levels, spec) else _offered(spec, levelled)
        case ById():
            ids = id_series(list(spec.given), spec.what).cast(pl.String)
            given = [(id_, float(v)) for id_, v in zip(ids, spec.given.values(), strict=True)]
            rows = frame.sparkSession.createDataFrame(given, "given_id string, given double")
            same = sf.col(spec.what).cast("string") == sf.col("given_id")
            level = sf.coalesce(sf.col("given"), sf.lit(offer.default).cast("double"))
            joined = frame.join(sf.broadcast(rows), same, "left").withColumn("level", level)
            return _offered(spec, joined.drop("given_id", "given"))
        case Groups():
            low, middle, top = float(offer.min_level or 0), spec.eps_m, offer.max_level
            key = sf.lit(derive_key("levels", spec.seed))  # simulated levels: nobody's own
            group, place = _uniform(key, 0), _uniform(key, 1)
            level = (
                sf.when(group < spec.f_c, low + (middle - low) * place)
                .when(group < spec.f_c + spec.f_m, middle + (top - middle) * place)
                .otherwise(top)
            )
            return frame.withColumn("level", level)
    raise SpecError(f"Spark does not know how to say {type(spec).__name__} in SQL")


def _all_offered(levels: LevelRange | None, spec: PrivacySpec) -> bool:
    """Whether the range of levels shows that all are on offer, without another look at them."""
    if levels is None or (levels.blanks and spec.offer.default is None):
        return False
    return levels.largest <= spec.max_level and levels.least >= (spec.min_level or 0.0)


def _offered(spec: PrivacySpec, levelled: DataFrame) -> DataFrame:
    """The same, or an error that names a record without a level, or with one not on offer."""
    from pyspark.sql import functions as sf

    low = 0.0 if spec.min_level is None else spec.min_level
    level = sf.col("level")
    with reported():
        bad = levelled.filter(level.isNull() | (level > spec.max_level) | (level < low)).first()
    if bad is not None and bad["level"] is None:
        raise SpecError(no_level(bad["user"], bad["item"]))
    if bad is not None:
        raise SpecError(
            f"epsilon must be within the declared levels, {low:g} to {spec.max_level:g}: got "
            f"{bad['level']:g} (user {bad['user']!r}, item {bad['item']!r})"
        )
    return levelled


def with_coins(levelled: DataFrame, t: float, randomness: Randomness) -> DataFrame:
    """The records with `kept`: a coin of their own against (e^eps - 1)/(e^t - 1)."""
    from pyspark.sql import functions as sf

    session = levelled.sparkSession
    run = session.createDataFrame([(randomness.key("sample"), t)], "run_key string, run_t double")
    top = sf.col("run_t")
    m = sf.least(sf.col("level"), top)
    probability = sf.exp(m - top) * sf.expm1(-m) / sf.expm1(-top)
    whole = sf.floor(probability * (1 - COIN_SHAVE) * float(COIN_GRID))
    # Below t nothing is certain, also where the quotient was rounded up to 1.
    kept = (sf.col("level") >= top) | (_uniform(sf.col("run_key")) * float(COIN_GRID) < whole)
    known = levelled.crossJoin(sf.broadcast(run)).withColumn("kept", kept)
    return known.drop("run_key", "run_t")


def votes(spec: PrivacySpec) -> Callable[[Any, Ballot], Integers]:
    """What counts exact votes in SQL, of ratings with the levels of a specification."""

    def count(table: SparkRatings, ballot: Ballot) -> Integers:
        """Votes against and in favour of every item, one aggregation by item: secret.

        Every partition adds up its own votes of an item before anything is sent, so what is sent
        grows with items and partitions, not with ratings, and a popular item burdens nobody.
        """
        from pyspark.sql import functions as sf

        frame, weight = _weighed(with_levels(table, spec), ballot)
        r = (sf.col("rating") - table.scale.lo) / table.scale.span
        in_favour = sf.floor(weight * sf.least(sf.greatest(r, sf.lit(0.0)), sf.lit(1.0)))
        counted = frame.select("item", weight.alias("weight"), in_favour.alias("in_favour"))
        with reported():
            by_item = counted.groupBy("item").agg(sf.sum("weight"), sf.sum("in_favour"))
            found: Any = by_item.toArrow()
        total = np.zeros((2, len(table.items)), dtype=np.int64)
        rows = rows_of(found["item"], table.items)
        known = rows >= 0
        weights, favourable = (found.column(k).to_numpy()[known] for k in (1, 2))
        total[1, rows[known]] = favourable
        if not table.events:
            total[0, rows[known]] = weights - favourable
        return total

    return count


def _weighed(levelled: DataFrame, ballot: Ballot) -> tuple[DataFrame, Column]:
    """The records, and each one's weight on the grid of votes."""
    from pyspark.sql import functions as sf

    if ballot.personalisation == "weigh":
        level = sf.col("level")
        share = sf.when(level < ballot.t, level / ballot.t * (1 - WEIGHT_SHAVE)).otherwise(1.0)
        return levelled, sf.floor(share * float(ONE_VOTE))
    frame = with_coins(levelled, ballot.t, ballot.randomness)
    return frame, sf.when(sf.col("kept"), sf.lit(ONE_VOTE)).otherwise(sf.lit(0)).cast("long")
