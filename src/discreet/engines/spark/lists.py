"""Batch recommendations: everybody's list, from their own ratings and the release alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.engines.spark import tasks
from discreet.engines.spark.events import spark_events
from discreet.engines.spark.ratings import SparkRatings, spark_ratings
from discreet.errors import require_count
from discreet.release.ranking import BEST, Ranking
from discreet.release.release import Release

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def recommend(
    release: Release,
    ratings: SparkRatings | DataFrame,
    n: int = 10,
    *,
    columns: Mapping[str, str] | None = None,
    ranking: Ranking = BEST,
) -> DataFrame:
    """The n items for everybody in the table that rank first: DataFrame user, item, rank, score.

    Each person is folded in where their ratings are, and their vector is forgotten there. Write
    the result as you like: `recommend(release, frame).write.parquet("lists")`. For a release of
    events the DataFrame has user and item. A column `timestamp`, or one that `columns` maps to it,
    makes what was chosen lately count for more; `SparkRatings` has one if made with `times=True`.
    """
    require_count("n", n)
    ranking.check()
    if not isinstance(ratings, SparkRatings) and release.events:
        ratings = spark_events(ratings, columns, times=True)
    elif not isinstance(ratings, SparkRatings):
        ratings = spark_ratings(ratings, columns, scale=release.scale, times=True)
    session = ratings.frame.sparkSession
    sent = session.sparkContext.broadcast(release)
    user = dict(ratings.frame.dtypes)["user"]
    item = "bigint" if release.item_ids.are_integers else "string"
    return ratings.frame.repartition(ratings.partitions, "user").mapInArrow(
        tasks.lists(lambda: sent.value, n, ranking, ratings.read),
        f"user {user}, item {item}, rank bigint, score double",
    )
