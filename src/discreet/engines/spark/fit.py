"""Fit in Spark: Tally by SQL, PDP-PMF `stated` with MLlib's ALS, all others by sums over parts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from discreet.data.edges import require_inside
from discreet.engines import Releasing, require_engine, require_suited
from discreet.engines.spark import sql, stated
from discreet.engines.spark.ratings import SparkRatings, spark_ratings
from discreet.engines.spark.session import connection_lost, reported
from discreet.kernels.compute import Compute
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Pairs
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.release.release import Release
from discreet.schemes.base import Run, Scheme
from discreet.schemes.pmf.pdp import PDPPMF
from discreet.schemes.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fit(
    scheme: Scheme,
    ratings: SparkRatings | DataFrame,
    spec: PrivacySpec | None = None,
    *,
    seed: int | None = None,
    compute: Compute = Compute(),
    progress: Progress = silent,
) -> Release:
    """The release that a local fit would make of the same ratings.

    For Tally and Chorus bit for bit; PDP-PMF `stated` trains people with MLlib's own ALS.
    """
    require_engine(scheme, "spark")
    table = ratings if isinstance(ratings, SparkRatings) else spark_ratings(ratings)
    require_suited(scheme, table)
    require_inside(table, scheme.items)
    described = _Described(table, progress)
    fitted = OWN_WAYS.get(type(scheme), _by_parts)
    try:
        return fitted(scheme, table, spec, Run(Randomness(seed), compute, described))
    finally:
        with suppress(*connection_lost()):
            described.forget()


def _by_parts(
    scheme: Releasing,
    table: SparkRatings,
    spec: PrivacySpec | None,
    run: Run,
) -> Release:
    """Any scheme that asks for sums alone; its own code runs on the executors, part by part."""
    checked = scheme.checked(spec)
    data = table if scheme.items is None else table.over(scheme.items.ids)
    try:
        sql.with_levels(data, checked)  # finds a level that is not on offer
        return scheme.release(data, checked, run)
    finally:
        with suppress(*connection_lost()):
            data.forget()


def _tally(
    scheme: Tally,
    table: SparkRatings,
    spec: PrivacySpec | None,
    run: Run,
) -> Release:
    """Votes of single ratings by one SQL aggregation, without any shuffle by people."""
    if scheme.unit != "rating":
        return _by_parts(cast("Releasing", scheme), table, spec, run)
    checked = scheme.checked(spec)
    pairs = Pairs.CHECKED if table.pairs_checked else Pairs.DECLARED
    return scheme.release(
        _inside(scheme, table), checked, run, count=sql.votes(checked), pairs=pairs
    )


def _stated(
    scheme: PDPPMF,
    table: SparkRatings,
    spec: PrivacySpec | None,
    run: Run,
) -> Release:
    return stated.fit(scheme, _inside(scheme, table), spec, run)


def _inside(scheme: Scheme, table: SparkRatings) -> SparkRatings:
    """The records of items in the catalogue alone: each has its own level, or none counts."""
    with reported():
        return table if scheme.items is None else table.with_items(scheme.items.ids)


OWN_WAYS: dict[type, Callable[[Any, SparkRatings, PrivacySpec | None, Run], Release]]
OWN_WAYS = {Tally: _tally, PDPPMF: _stated}
"""Schemes that Spark has a faster way for, or the only one, than sums over parts."""


class _Described:
    """Progress that also names the jobs in Spark's own pages."""

    def __init__(self, table: SparkRatings, progress: Progress) -> None:
        self.context, self.progress = table.frame.sparkSession.sparkContext, progress

    def __call__(self, phase: str, done: int, total: int) -> None:
        self.context.setJobDescription(f"discreet: {phase}, {done} of {total}")
        self.progress(phase, done, total)

    def forget(self) -> None:
        """Leave the caller's next jobs their own names."""
        self.context.setLocalProperty("spark.job.description", "")
