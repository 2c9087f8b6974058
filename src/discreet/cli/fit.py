"""discreet fit: train a scheme and save its release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from discreet.cli import options as o
from discreet.cli import schemes, show
from discreet.cli.bundles import ItemTable, Levels, Reading, Showing
from discreet.cli.completion import one_of
from discreet.cli.engines import Engine, Fitting
from discreet.cli.schemes import Given
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.data.ratings import Ratings
    from discreet.privacy.spec import PrivacySpec
    from discreet.progress import Progress
    from discreet.release.release import Release
    from discreet.schemes.base import Publishing
    from discreet.schemes.model import FactorModel


def fit(
    *,
    ratings: o.RatingsArgument,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            **one_of(o.SCHEME_NAMES),
            help="What to train: tally by default, pure epsilon; with --delta chorus, which finds "
            "hidden factors where there are ratings enough; or a class of your own.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The release folder; an old release there is replaced whole.")
    ] = Path("release"),
    levels: Levels,
    override_levels: Annotated[
        bool,
        typer.Option(
            "--override-levels",
            help="Let --privacy replace levels that people chose: a table's epsilon column.",
        ),
    ] = False,
    item_table: ItemTable,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Publish within each rating's lifetime budget, adding to the release in --out "
            "(tally, chorus). The file is created if need be; keep it as secret as the ratings."
        ),
    ] = None,
    engine: Engine,
    trace: Annotated[
        bool,
        typer.Option("--trace", help="Show what was read and how it went (secret: for you alone)."),
    ] = False,
    reading: Reading,
    seed: o.SeedOption = None,
    threads: o.ThreadsOption = None,
    showing: Showing,
    given: Given,
) -> None:
    """Train on RATINGS and save the release: item factors and their certificate.

    Only the release is written; user factors stay in memory and are forgotten.

    \b
    Examples:
      discreet fit club --privacy groups --items club --out release
      discreet fit ratings.parquet --delta 1e-8 --items items.parquet
      discreet fit ratings.parquet --items items.parquet --ledger ledger.db
      discreet fit huge.parquet --engine stream --privacy column
      discreet fit warehouse/ratings --engine spark --master local[4]
      discreet fit ratings.csv --columns item=ean --privacy uniform:0.1
      discreet fit plays.csv --events --quantity log:10 --columns weight=hrs
      discreet fit ml-1m --scheme pdp-pmf --privacy groups --threshold 1
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
    engine.check(reading, ledger=ledger is not None, trace=trace)
    if trace and showing.silent:
        raise ParameterError("--trace shows how it went: leave --quiet and --json away")
    show.compiling_ahead(silent=showing.silent)
    catalogue = item_table.load(reading)
    [chosen] = schemes.build([name], given, catalogue)
    how: dict[str, Any] = {"seed": seed, "compute": Compute(threads)}
    override = override_levels or not chosen.about.private
    if engine.engine != o.EngineName.LOCAL:
        fitting = Fitting(chosen, ratings, reading, levels, override, how)
        if engine.engine == o.EngineName.STREAM:
            with show.progress_bar(showing.silent) as progress:
                release = fitting.by_stream(progress)
        else:
            release = fitting.by_spark(engine)
        release.save(out)
        _done(release, out, showing)
        return
    data = reading.load(ratings)
    show.tables(data, catalogue)
    spec = levels.spec_that_keeps(data.epsilon is not None, override=override)
    with show.progress_bar(showing.silent) as progress:
        if ledger is not None:
            publishing = cast("Publishing", chosen)
            model = _publish(publishing, data, spec, out, ledger, how, progress)
        else:
            model = chosen.fit(data, spec, **how, progress=progress)
            model.release.save(out)
    if trace:
        _trace(data, model)
    _done(model.release, out, showing)
    if model.release.certificate.delta > 1 / len(data):
        typer.echo(
            "Warning, for you alone: delta is above one over the number of records; a mechanism "
            "that shows some of them as they are could keep such a promise.",
            err=True,
        )


def _done(release: Release, out: Path, showing: Showing) -> None:
    if showing.as_json:
        from discreet.privacy import encoding

        saved = type(release).load(out)  # with the digest of what was written
        typer.echo(encoding.write(saved.certificate), nl=False)
    if showing.silent:
        return
    console = show.console()
    console.print(show.certificate(release.certificate))
    console.print(f"\n{show.contents(release)}{_without_titles(release)}")
    console.print(f"Release saved to {out}. Next: discreet inspect {out}")


def _without_titles(release: Release) -> str:
    """Why lists will show ids alone, and what would bring titles; nothing, where they have some."""
    from discreet.privacy.provenance import Catalogue

    if "title" in release.items.frame.columns:
        return ""
    made = release.certificate.provenance
    if made.catalogue == Catalogue.GIVEN:
        return " No column of the item table is the title: --item-columns title=NAME."
    words = " With a table of items, --items TABLE, lists have titles"
    if made.sampler != "none":
        words += ", and the promise no longer assumes that the list of rated items is public"
    return f"{words}."


def _publish(
    scheme: Publishing,
    data: Ratings,
    spec: PrivacySpec | None,
    out: Path,
    ledger: Path,
    how: dict[str, Any],
    progress: Progress,
) -> FactorModel:
    from discreet.publishing.file_ledger import FileLedger
    from discreet.publishing.publish import publish, require_publishing

    require_publishing(scheme)  # no ledger begins for what is refused
    if not ledger.exists():
        typer.echo(f"A new ledger begins at {ledger}: nothing has been spent before.", err=True)
    opened = FileLedger(ledger)
    before = opened.summary()["total"]
    model = publish(scheme, data, spec, out=out, ledger=opened, **how, progress=progress)
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
