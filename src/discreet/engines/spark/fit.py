"""Fit in Spark: Tally by SQL, Chorus by rounds of tasks, PDP-PMF `stated` with MLlib's ALS."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.data.edges import require_inside
from discreet.engines.spark import sql, stated
from discreet.engines.spark.ratings import SparkRatings, spark_ratings
from discreet.engines.spark.session import connection_lost, reported
from discreet.errors import ParameterError
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Pairs
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.release.release import Release
from discreet.schemes.certificates import certified
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.pmf.dp import PDPPMF
from discreet.schemes.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fit(
    scheme: Tally | Chorus | PDPPMF,
    ratings: SparkRatings | DataFrame,
    spec: PrivacySpec | None = None,
    *,
    seed: int | None = None,
    progress: Progress = silent,
) -> Release:
    """The release that a local fit would make of the same ratings.

    For Tally and Chorus bit for bit; PDP-PMF `stated` trains people with MLlib's own ALS.
    """
    if not isinstance(scheme, Tally | Chorus | PDPPMF):
        raise ParameterError(
            f"Spark fits Tally, Chorus and PDP-PMF 'stated': got {type(scheme).__name__}"
        )
    table = ratings if isinstance(ratings, SparkRatings) else spark_ratings(ratings)
    require_inside(table, scheme.items)
    by_record = isinstance(scheme, PDPPMF) or (
        isinstance(scheme, Tally) and scheme.unit == "rating"
    )
    with reported():
        data = table
        if scheme.items is not None:
            catalogue = scheme.items.ids
            data = table.with_items(catalogue) if by_record else table.over(catalogue)
    described = _Described(table, progress)
    try:
        if isinstance(scheme, PDPPMF):
            return stated.fit(scheme, data, spec, seed=seed, progress=described)
        if isinstance(scheme, Tally) and by_record:
            return _tally(scheme, data, spec, seed, described)
        checked = scheme.checked(spec)
        sql.with_levels(data, checked)  # finds a level that is not on offer
        return scheme.release(data, checked, seed=seed, progress=described)
    finally:
        with suppress(*connection_lost()):
            data.forget()
            described.forget()


def _tally(
    scheme: Tally,
    data: SparkRatings,
    spec: PrivacySpec | None,
    seed: int | None,
    progress: Progress,
) -> Release:
    """Tally's own steps, the votes counted by one SQL aggregation without any shuffle by people."""
    checked = scheme.checked(spec)
    t, randomness = scheme.declared_threshold(checked), Randomness(seed)
    progress("tally", 0, 2)
    votes = sql.votes(scheme, data, checked, t, randomness)
    progress("tally", 1, 2)
    tallies = scheme.noisy_tallies(votes, t, randomness)
    pairs = Pairs.CHECKED if data.pairs_checked else Pairs.DECLARED
    certificate = certified(replace(scheme.made(data, checked, t, randomness), pairs=pairs))
    return scheme.concluded(data, tallies, checked, t, certificate)


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
