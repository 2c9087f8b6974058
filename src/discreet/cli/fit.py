"""discreet fit: train a scheme and save its release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import typer

from discreet.cli import options as o
from discreet.cli import parse, schemes, show
from discreet.cli.schemes import Given
from discreet.errors import ParameterError, SpecError

if TYPE_CHECKING:
    from discreet.data.event_rules import EventRules
    from discreet.data.ratings import Ratings
    from discreet.data.scale import RatingScale
    from discreet.kernels.compute import Compute
    from discreet.privacy.spec import PrivacySpec
    from discreet.progress import Progress
    from discreet.release.release import Release
    from discreet.schemes.base import Publishing, Scheme
    from discreet.schemes.model import FactorModel


_Levels = tuple[str | None, float | None, float | None, float | None]


def fit(
    *,
    ratings: o.RatingsArgument,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            metavar=o.SCHEME_NAMES,
            help="What to train: tally by default, pure epsilon; with --delta chorus, which finds "
            "hidden factors where there are ratings enough; or a class of your own.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The release folder; an old release there is replaced whole.")
    ] = Path("release"),
    privacy: o.PrivacyOption = None,
    max_level: o.MaxLevelOption = None,
    min_level: o.MinLevelOption = None,
    default_level: o.DefaultLevelOption = None,
    override_levels: Annotated[
        bool,
        typer.Option(
            "--override-levels",
            help="Let --privacy replace levels that people chose: a table's epsilon column.",
        ),
    ] = False,
    items: o.ItemsOption = None,
    public_column: o.PublicColumnsOption = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Publish within each rating's lifetime budget, adding to the release in --out "
            "(tally, chorus). The file is created if need be; keep it as secret as the ratings."
        ),
    ] = None,
    engine: Annotated[
        o.EngineName,
        typer.Option(
            help="Where the ratings are: local (in memory), stream (Parquet, CSV, TSV or Arrow, "
            "of any size; tally and chorus; parts of it on disk while it runs), or spark "
            "(any path that Spark reads; tally, chorus, and pdp-pmf stated)."
        ),
    ] = o.EngineName.LOCAL,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Spark's master, such as local[4] or spark://host:7077; by default the one that "
            "spark-submit or the environment sets.",
        ),
    ] = None,
    unique_pairs: Annotated[
        bool,
        typer.Option(
            "--unique-pairs",
            help="The table's key rules out two ratings of one pair: Spark need not look for any.",
        ),
    ] = False,
    trace: Annotated[
        bool,
        typer.Option("--trace", help="Show what was read and how it went (secret: for you alone)."),
    ] = False,
    columns: o.ColumnsOption = None,
    scale: o.ScaleOption = None,
    keep: o.KeepOption = None,
    events: o.EventsOption = False,
    quantity: o.QuantityOption = None,
    repeats: o.RepeatsOption = None,
    separator: o.SeparatorOption = None,
    encoding: o.EncodingOption = "utf-8",
    seed: o.SeedOption = None,
    threads: o.ThreadsOption = None,
    given: Given,
) -> None:
    """Train on RATINGS and save the release: item factors and their certificate.

    Only the release is written; user factors stay in memory and are forgotten.

    \b
    Examples:
      discreet fit club --privacy groups --items club --out release
      discreet fit ratings.parquet --delta 1e-8 --items items.parquet
      discreet fit ratings.parquet --items items.parquet --ledger ledger.db --out release
      discreet fit huge.parquet --engine stream --items items.parquet --privacy column
      discreet fit warehouse/ratings --engine spark --master local[4] --items items.parquet
      discreet fit ratings.csv --columns user=customer --columns item=sku --privacy uniform:0.1
      discreet fit plays.parquet --events --quantity log:10 --columns weight=hours
      discreet fit ml-1m --scheme pdp-pmf --variant repaired --privacy groups --threshold 1.0
    """
    from discreet.kernels.compute import Compute
    from discreet.release.folder import check_target
    from discreet.schemes import find_scheme

    if scheme is not None and len(scheme) > 1:
        raise ParameterError(f"fit trains one scheme: got --scheme {' and '.join(scheme)}")
    [name] = scheme or [schemes.usual(given)]
    if ledger is None:
        check_target(out)  # an unwritable place is better known before training
    elif not find_scheme(name).about.publishes:
        others = " or ".join(schemes.publishing())
        raise ParameterError(f"--ledger goes with --scheme {others}: got {name}")
    rules = parse.rules(events, quantity, repeats, scale, keep)
    catalogue = parse.read_items(items, public_column, encoding)
    [chosen] = schemes.build([name], given, catalogue)
    how = _How(seed, Compute(threads))
    levels = (privacy, max_level, min_level, default_level)
    if engine != o.EngineName.SPARK and (master is not None or unique_pairs):
        raise ParameterError("--master and --unique-pairs go with --engine spark")
    if engine != o.EngineName.LOCAL:
        if ledger is not None or trace or separator is not None or encoding != "utf-8":
            raise ParameterError(
                f"--engine {engine} goes without --ledger, --trace, --separator and --encoding"
            )
        table = _Table(ratings, parse.mapping(columns), scale, keep, rules)
        if engine == o.EngineName.STREAM:
            release = _stream(chosen, table, levels, override_levels, how)
        else:
            release = _spark(chosen, table, levels, override_levels, how, master, unique_pairs)
        release.save(out)
        _done(release, out)
        return
    data = parse.read(ratings, columns, scale, keep, separator, encoding, rules)
    show.tables(data, catalogue)
    spec = _privacy(levels, data.epsilon is not None, chosen, override_levels)
    with show.progress_bar() as progress:
        if ledger is not None:
            publishing = cast("Publishing", chosen)
            model = _publish(publishing, data, spec, out, ledger, how, progress)
        else:
            model = chosen.fit(data, spec, **how._asdict(), progress=progress)
            model.release.save(out)
    if trace:
        _trace(data, model)
    _done(model.release, out)
    if model.release.certificate.delta > 1 / len(data):
        typer.echo(
            "Warning, for you alone: delta is above one over the number of records; a mechanism "
            "that shows some of them as they are could keep such a promise.",
            err=True,
        )


def _done(release: Release, out: Path) -> None:
    console = show.console()
    console.print(show.certificate(release.certificate))
    console.print(f"\n{show.contents(release)}")
    console.print(f"Release saved to {out}. Next: discreet inspect {out}")


def _privacy(
    levels: _Levels, has_levels: bool, scheme: Scheme, override: bool
) -> PrivacySpec | None:
    """The specification; one that replaces what people chose must be asked for."""
    spec = parse.privacy(levels[0], has_levels, *levels[1:])
    replaces = has_levels and levels[0] not in (None, "column")
    if replaces and not override and scheme.about.private:
        raise SpecError(
            f"--privacy {levels[0]} would replace the levels in the table's epsilon column, which "
            "people chose: leave it away, or say --override-levels"
        )
    return spec


class _How(NamedTuple):
    """What a fit is given beside what it promises."""

    seed: int | None
    compute: Compute


class _Table(NamedTuple):
    """A table that an engine reads by itself."""

    source: str
    columns: dict[str, str]
    scale: str | None
    keep: str | None
    rules: EventRules | None

    def rating_scale(self) -> tuple[float, float] | RatingScale:
        return (1, 5) if self.scale is None else parse.scale_of(self.scale)


def _stream(
    scheme: Scheme,
    table: _Table,
    levels: _Levels,
    override: bool,
    how: _How,
) -> Release:
    from discreet.engines import Releasing, fit_release, require_engine
    from discreet.engines.stream import open_stream

    require_engine(scheme, "stream")
    with (
        show.progress_bar() as progress,
        open_stream(
            table.source,
            table.columns,
            scale=table.rating_scale(),
            keep=table.keep,
            rules=table.rules,
            progress=progress,
        ) as stream,
    ):
        show.tables(stream, scheme.items)
        spec = _privacy(levels, stream.has_levels, scheme, override)
        releasing = cast("Releasing", scheme)
        return fit_release(releasing, stream, spec, **how._asdict(), progress=progress)


def _spark(
    scheme: Scheme,
    table: _Table,
    levels: _Levels,
    override: bool,
    how: _How,
    master: str | None,
    unique_pairs: bool,
) -> Release:
    import logging

    from discreet.engines import require_engine, spark

    require_engine(scheme, "spark")
    if table.keep is not None:
        raise ParameterError("--engine spark goes without --keep: remove duplicates in Spark")
    logging.disable(logging.ERROR)  # Spark's bridge logs tracebacks; we say what happened ourselves
    with spark.open_session(master) as session:
        typer.echo("Spark: reading and checking the table", err=True)
        where = session, table.source, table.columns
        if table.rules is not None:
            ratings = spark.read_events(*where, rules=table.rules, unique_pairs=unique_pairs)
        else:
            scale = table.rating_scale()
            ratings = spark.read_ratings(*where, scale=scale, unique_pairs=unique_pairs)
        show.tables(ratings, scheme.items)
        spec = _privacy(levels, ratings.has_levels, scheme, override)
        return spark.fit(scheme, ratings, spec, **how._asdict(), progress=_a_line_each)


def _a_line_each(phase: str, done: int, total: int) -> None:
    """Spark draws on the terminal itself: one line a stage, not a bar."""
    typer.echo(f"Spark: {phase}, {done} of {total}", err=True)


def _publish(
    scheme: Publishing,
    data: Ratings,
    spec: PrivacySpec | None,
    out: Path,
    ledger: Path,
    how: _How,
    progress: Progress,
) -> FactorModel:
    from discreet.publishing.file_ledger import FileLedger
    from discreet.publishing.publish import publish, require_publishing

    require_publishing(scheme)  # no ledger begins for what is refused
    if not ledger.exists():
        typer.echo(f"A new ledger begins at {ledger}: nothing has been spent before.", err=True)
    opened = FileLedger(ledger)
    before = opened.summary()["total"]
    model = publish(scheme, data, spec, out=out, ledger=opened, **how._asdict(), progress=progress)
    if opened.summary()["total"] == before:
        typer.echo(
            "For you alone: no record had anything left to spend, so this release adds noise only.",
            err=True,
        )
    return model


def _trace(data: Ratings, model: FactorModel) -> None:
    """What the operator may want to know, and nobody else may."""
    import numpy as np

    console = show.console()
    missing = 0 if data.epsilon is None else int(np.isnan(data.epsilon).sum())
    console.print(
        f"{len(data):,} {'events' if data.events else 'ratings'} read, "
        f"{len(model.ratings):,} of them of items in the catalogue; "
        f"{missing:,} without a level of their own."
    )
    if model.trace:
        rows = [[point.phase, str(point.step), f"{point.rmse:.4f}"] for point in model.trace]
        console.print(show.table("Convergence", ["phase", "step", "training RMSE"], rows))
    console.print(show.SECRET_RESULTS, style="yellow")
