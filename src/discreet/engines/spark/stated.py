"""PDP-PMF `stated`: people by MLlib's ALS, items from sums per item, noise on the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Array
from discreet.engines.spark import sql, tasks
from discreet.engines.spark.ratings import SparkRatings
from discreet.engines.spark.session import reported
from discreet.errors import ParameterError
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import Threshold, resolve_threshold
from discreet.privacy.spec import PrivacySpec, require_spec
from discreet.release.release import Release
from discreet.schemes.base import Run
from discreet.schemes.pmf.factors import factor_release, unit_ball_fold_in
from discreet.schemes.pmf.pdp import PDPPMF

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SWEEPS = 10


def fit(
    scheme: PDPPMF,
    data: SparkRatings,
    spec: PrivacySpec | None,
    run: Run,
) -> Release:
    """Sample, train people, project them into the unit ball, solve the perturbed items exactly."""
    if scheme.variant != "stated" or scheme.solver != "als":
        raise ParameterError(
            "in Spark, PDP-PMF goes with variant='stated' and solver='als' (--variant stated "
            f"--solver als): got {scheme.variant!r} and {scheme.solver!r}"
        )
    scheme.check()
    spec = require_spec(spec or PrivacySpec.column())
    randomness, progress = run.randomness, run.progress
    levelled = sql.with_levels(data, spec)
    t, chosen = _threshold(scheme, spec, levelled)
    progress("people by ALS", 0, 2)
    used = with_numbers(data, levelled, t, randomness)
    try:
        people = train_people(used, scheme.factors, int(randomness.training.integers(2**31)))
        progress("items", 1, 2)
        V = solve_items(scheme, data, used, people, t, randomness)
    finally:
        used.unpersist()
    certificate = scheme.certificate(spec, chosen, randomness)
    fold_in = unit_ball_fold_in(data.scale, scheme.factors)
    progress("items", 2, 2)
    return factor_release(data, scheme.items, V, fold_in, certificate)


def _threshold(scheme: PDPPMF, spec: PrivacySpec, levelled: DataFrame) -> tuple[float, Threshold]:
    """t, and what the certificate says of it: a mean or maximum of the levels is secret."""
    from pyspark.sql import functions as sf

    chosen = scheme.chosen_threshold(spec)
    if not isinstance(chosen, str):
        t = resolve_threshold(chosen, np.zeros(0))
        return t, t
    with reported():
        row = levelled.agg((sf.avg if chosen == "mean" else sf.max)("level")).first()
    assert row is not None
    return float(row[0]), chosen


def with_numbers(
    data: SparkRatings, levelled: DataFrame, t: float, randomness: Randomness
) -> DataFrame:
    """The sampled records with whole numbers for users and items, as MLlib wants them; kept."""
    from pyspark import StorageLevel

    session = data.frame.sparkSession
    kind = dict(data.frame.dtypes)["user"]
    with reported():
        kept = data.with_item_rows(sql.with_coins(levelled, t, randomness).filter("kept"))
        # In order: numbers that a lost executor's successor would give again.
        ordered = kept.select("user").distinct().orderBy("user").rdd.zipWithIndex()
        numbered = ordered.map(lambda pair: (pair[0][0], int(pair[1])))
        people = session.createDataFrame(numbered, f"user {kind}, user_row int")
        used = kept.join(people, "user").select("user_row", "item_row", "rating")
        return used.persist(StorageLevel.MEMORY_AND_DISK)


def train_people(used: DataFrame, factors: int, seed: int) -> DataFrame:
    """(id, features) of everybody who kept a rating: MLlib's ALS, ridge 0.05 a rating."""
    from pyspark.ml.recommendation import ALS

    als = ALS(
        rank=factors,
        maxIter=SWEEPS,
        regParam=0.05,
        seed=seed,
        userCol="user_row",
        itemCol="item_row",
        ratingCol="rating",
    )
    with reported():
        return als.fit(used).userFactors


def solve_items(
    scheme: PDPPMF,
    data: SparkRatings,
    used: DataFrame,
    people: DataFrame,
    t: float,
    randomness: Randomness,
) -> Array:
    """V of objective (7): (sum u u' + lambda) v = sum r u - eta, u within the unit ball."""
    d, items = scheme.factors, len(data.items)
    schema = "item_row bigint, moments array<double>"
    joined = used.join(people.withColumnRenamed("id", "user_row"), "user_row")
    parts = joined.select("item_row", "rating", "features").mapInArrow(tasks.moments(d), schema)
    # What is sent by item are sums, one for each part: no item's ratings ever meet in one place.
    added = parts.repartition("item_row").mapInArrow(tasks.added_moments(), schema)
    with reported():
        found = added.toArrow()
    eta = randomness.spherical(items, d, scheme.sensitivity(data.scale) / t)
    A, b = np.zeros((items, d, d)), -eta
    if found.num_rows:
        rows = found["item_row"].to_numpy()
        moments = np.stack(found["moments"].to_numpy())
        first, second = np.triu_indices(d)
        A[rows[:, None], first, second] = A[rows[:, None], second, first] = moments[:, : len(first)]
        b[rows] += moments[:, len(first) :]
    A[:, np.arange(d), np.arange(d)] += scheme.ridge(t)
    return np.asarray(np.linalg.solve(A, b[:, :, None])[:, :, 0])
