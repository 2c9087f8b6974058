"""Levels, coins and votes as Spark SQL expressions: the numbers that the kernels compute.

Every expression is a function of the record and of the run's key, never of where the record lies,
so a partition that is computed again counts the same votes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.errors import SpecError
from discreet.privacy.hashing import derive_key
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import ById, Groups, PrivacySpec, Uniform
from discreet.privacy.spec import Column as LevelColumn
from discreet.ratings import Integers
from discreet.schemes.tally import Tally
from discreet.spark.session import reported
from discreet.spark.table import SparkRatings, rows_of
from discreet.tallies import ONE_VOTE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def uniform(key: str, number: int = 0) -> Column:
    """The record's uniform number in [0, 1), see `privacy.hashing`."""
    from pyspark.sql import functions as sf

    user, item = sf.col("user").cast("string"), sf.col("item").cast("string")
    digest = sf.sha2(
        sf.concat(
            sf.lit(key), sf.octet_length(user).cast("string"), sf.lit(":"), user, sf.lit(":"), item
        ),
        256,
    )
    return sf.conv(sf.substring(digest, 16 * number + 1, 13), 16, 10).cast("double") / 2.0**52


def level(spec: PrivacySpec, table: SparkRatings) -> Column:
    """Every record's level."""
    from pyspark.sql import functions as sf

    offer = spec.offer
    match spec:
        case Uniform():
            return sf.lit(offer.max_level)
        case LevelColumn():
            if not table.has_levels:
                raise SpecError(
                    "the ratings table has no epsilon column: add one, map one with "
                    "columns={'epsilon': ...}, or choose another specification"
                )
            return sf.coalesce(sf.col("epsilon"), sf.lit(offer.default))
        case ById():
            given = [
                sf.lit(x) for id_, value in spec.given.items() for x in (str(id_), float(value))
            ]
            if not given:
                return sf.lit(offer.default)
            found = sf.create_map(*given)[sf.col(spec.what).cast("string")]
            return sf.coalesce(found, sf.lit(offer.default))
        case Groups():
            low, middle, top = float(offer.min_level or 0), spec.eps_m, offer.max_level
            key = derive_key("levels", spec.seed)
            group, place = uniform(key, 0), uniform(key, 1)
            return (
                sf.when(group < spec.f_c, low + (middle - low) * place)
                .when(group < spec.f_c + spec.f_m, middle + (top - middle) * place)
                .otherwise(top)
            )
    raise SpecError(f"Spark does not know how to say {type(spec).__name__} in SQL")


def require_offered(spec: PrivacySpec, table: SparkRatings) -> None:
    """All levels are on offer, or an error that names one that is not."""

    if not isinstance(spec, LevelColumn):
        return  # the others were checked when they were declared
    low = 0.0 if spec.min_level is None else spec.min_level
    chosen = level(spec, table)
    with reported():
        bad = table.frame.filter((chosen > spec.max_level) | (chosen < low)).first()
    if bad is not None:
        raise SpecError(
            f"epsilon must be within the declared levels, {low:g} to {spec.max_level:g}: got "
            f"{bad['epsilon']:g} (user {bad['user']!r}, item {bad['item']!r})"
        )


def kept(levels: Column, t: float, randomness: Randomness) -> Column:
    """Whether a record is kept: a coin of its own against (e^eps - 1)/(e^t - 1)."""
    from pyspark.sql import functions as sf

    m = sf.least(levels, sf.lit(t))
    probability = sf.exp(m - t) * sf.expm1(-m) / math.expm1(-t)
    whole = sf.floor(probability * (1 - 2.0**-48) * 2.0**52)
    coin = uniform(randomness.key("sample"))
    return (probability >= 1) | (coin * 2.0**52 < whole)


def votes(
    scheme: Tally, table: SparkRatings, spec: PrivacySpec, t: float, randomness: Randomness
) -> Integers:
    """Exact votes against and in favour of every item, one aggregation by item: secret.

    Every partition adds up its own votes of an item before anything is sent, so what is sent grows
    with items and partitions, not with ratings, and a popular item burdens nobody.
    """
    from pyspark.sql import functions as sf

    require_offered(spec, table)
    levels = level(spec, table)
    if scheme.personalisation == "weigh":
        share = sf.when(levels < t, levels / t * (1 - 2.0**-50)).otherwise(1.0)
        units = sf.floor(share * float(ONE_VOTE))
    else:
        units = (
            sf.when(kept(levels, t, randomness), sf.lit(ONE_VOTE)).otherwise(sf.lit(0)).cast("long")
        )
    r = (sf.col("rating") - table.scale.lo) / table.scale.span
    in_favour = sf.floor(units * sf.least(sf.greatest(r, sf.lit(0.0)), sf.lit(1.0)))
    counted = table.frame.select("item", units.alias("units"), in_favour.alias("in_favour"))
    found = _by_item(counted.groupBy("item").agg(sf.sum("units"), sf.sum("in_favour")))
    total = np.zeros((2, len(table.items)), dtype=np.int64)
    rows = rows_of(found["item"], table.items)
    known = rows >= 0
    units_, favour_ = (found.column(k).to_numpy()[known] for k in (1, 2))
    total[0, rows[known]], total[1, rows[known]] = units_ - favour_, favour_
    return total


def _by_item(frame: DataFrame) -> Any:
    with reported():
        return frame.toArrow()


def item_rows(table: SparkRatings) -> DataFrame:
    """The catalogue in Spark: item, item_row; small, and sent to everybody."""
    from pyspark.sql import functions as sf

    ids = table.items.values
    kind = dict(table.frame.dtypes)["item"]
    if kind == "string":
        ids = ids.cast(pl.String)
    elif ids.dtype != pl.Int64:
        ids = ids.cast(pl.Int64, strict=False)
    rows = pl.DataFrame({"item": ids, "item_row": np.arange(len(ids), dtype=np.int32)})
    session = table.frame.sparkSession
    return sf.broadcast(session.createDataFrame(rows.drop_nulls().to_arrow()))
