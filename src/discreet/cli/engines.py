"""Fitting where the ratings are not in memory: piece by piece on disk, or in a Spark cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from discreet.cli import extras, show
from discreet.cli import options as o
from discreet.cli.bundles import Levels, Reading
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.release.release import Release
    from discreet.schemes.base import Scheme


@dataclass(frozen=True)
class Engine:
    """Which engine fits, and what Spark is told."""

    engine: Annotated[
        o.EngineName,
        typer.Option(
            help="Where the ratings are: local (in memory), stream (Parquet, CSV, TSV, JSON lines "
            "or Arrow, of any size; tally and chorus; parts of it on disk while it runs), or spark "
            "(any path that Spark reads; tally, chorus, and pdp-pmf stated)."
        ),
    ] = o.EngineName.LOCAL
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Spark's master, such as local[4] or spark://host:7077; by default the one that "
            "spark-submit or the environment sets.",
        ),
    ] = None
    unique_pairs: Annotated[
        bool,
        typer.Option(
            "--unique-pairs",
            help="The table's key rules out two ratings of one pair: Spark need not look for any.",
        ),
    ] = False

    def check(self, reading: Reading, *, ledger: bool, trace: bool) -> None:
        """An error for what an engine cannot do, before it starts."""
        if self.engine != o.EngineName.SPARK and (self.master is not None or self.unique_pairs):
            raise ParameterError("--master and --unique-pairs go with --engine spark")
        if self.engine == o.EngineName.LOCAL:
            return
        if ledger or trace or reading.encoding != "utf-8":
            raise ParameterError(
                f"--engine {self.engine} goes without --ledger, --trace and --encoding"
            )
        if self.engine == o.EngineName.SPARK:
            if reading.keep is not None:
                raise ParameterError(
                    "--engine spark goes without --keep: remove duplicates in Spark"
                )
            if reading.separator is not None:
                raise ParameterError("--engine spark goes without --separator: give it Parquet")
            extras.require("spark", "--engine spark")


@dataclass(frozen=True)
class Fitting:
    """What an engine fits: a scheme, to a table that it reads by itself."""

    scheme: Scheme
    table: str
    reading: Reading
    levels: Levels
    override: bool
    how: dict[str, Any]
    """Seed and compute."""

    def by_stream(self, progress: Any) -> Release:
        """From disk, piece by piece."""
        from discreet.engines import Releasing, fit_release, require_engine
        from discreet.engines.stream import open_stream

        require_engine(self.scheme, "stream")
        value = self.reading.value
        with open_stream(
            self.table,
            dict(value.columns),
            scale=value.scale or (1, 5),
            keep=value.keep,
            rules=value.events,
            separator=value.separator,
            progress=progress,
        ) as stream:
            show.tables(stream, self.scheme.items)
            spec = self.levels.spec_that_keeps(stream.has_levels, override=self.override)
            releasing = cast("Releasing", self.scheme)
            return fit_release(releasing, stream, spec, **self.how, progress=progress)

    def by_spark(self, engine: Engine) -> Release:
        """In a cluster."""
        import logging

        from discreet.engines import require_engine, spark

        require_engine(self.scheme, "spark")
        value = self.reading.value
        logging.disable(logging.ERROR)  # Spark's bridge logs tracebacks; we say what happened
        with spark.open_session(engine.master) as session:
            typer.echo("Spark: reading and checking the table", err=True)
            where = session, self.table, dict(value.columns)
            unique = engine.unique_pairs
            if value.events is not None:
                ratings = spark.read_events(*where, rules=value.events, unique_pairs=unique)
            else:
                scale = value.scale or (1, 5)
                ratings = spark.read_ratings(*where, scale=scale, unique_pairs=unique)
            show.tables(ratings, self.scheme.items)
            spec = self.levels.spec_that_keeps(ratings.has_levels, override=self.override)
            return spark.fit(self.scheme, ratings, spec, **self.how, progress=_a_line_each)


def _a_line_each(phase: str, done: int, total: int) -> None:
    """Spark draws on the terminal itself: one line a stage, not a bar."""
    typer.echo(f"Spark: {phase}, {done} of {total}", err=True)
