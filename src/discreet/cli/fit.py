"""discreet fit: train a scheme and save its release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from discreet.cli import options as o
from discreet.cli import parse, show
from discreet.errors import ParameterError, SpecError

if TYPE_CHECKING:
    from discreet.privacy.spec import PrivacySpec
    from discreet.progress import Progress
    from discreet.ratings import Ratings
    from discreet.schemes.model import FactorModel, Publishing


def fit(
    ratings: o.RatingsArgument,
    scheme: Annotated[
        o.SchemeName | None,
        typer.Option(
            help="What to train: tally by default, pure epsilon; with --delta chorus, which finds "
            "hidden factors where there are ratings enough.",
            case_sensitive=False,
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
    variant: o.VariantOption = None,
    threshold: o.ThresholdOption = None,
    personalise: o.PersonaliseOption = None,
    group: o.GroupsOption = None,
    unit: o.UnitOption = None,
    delta: o.DeltaOption = None,
    publications: o.PublicationsOption = None,
    solver: o.SolverOption = None,
    factors: o.FactorsOption = None,
    gamma: o.GammaOption = None,
    k1: o.PassesOption = None,
    k2: o.NoisyPassesOption = None,
    regularisation: o.LambdaOption = None,
    weighted: o.WeightedOption = None,
    kappa: o.KappaOption = None,
    neighbours: o.NeighboursOption = None,
    initial: o.InitialOption = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Publish within each rating's lifetime budget, adding to the release in --out "
            "(tally, chorus). The file is created if need be; keep it as secret as the ratings."
        ),
    ] = None,
    trace: Annotated[
        bool,
        typer.Option("--trace", help="Show what was read and how it went (secret: for you alone)."),
    ] = False,
    columns: o.ColumnsOption = None,
    scale: o.ScaleOption = None,
    keep: o.KeepOption = None,
    separator: o.SeparatorOption = None,
    encoding: o.EncodingOption = "utf-8",
    seed: o.SeedOption = None,
    threads: o.ThreadsOption = None,
) -> None:
    """Train on RATINGS and save the release: item factors and their certificate.

    Only the release is written; user factors stay in memory and are forgotten.

    \b
    Examples:
      discreet fit club --privacy groups --items club --out release
      discreet fit ratings.parquet --delta 1e-8 --items items.parquet
      discreet fit ratings.parquet --items items.parquet --ledger ledger.db --out release
      discreet fit ratings.csv --columns user=customer --columns item=sku --privacy uniform:0.1
      discreet fit ml-1m --scheme pdp-pmf --variant repaired --privacy groups --threshold 1.0
    """
    from discreet.release import check_target

    if scheme is None:
        scheme = o.SchemeName.TALLY if delta is None else o.SchemeName.CHORUS
    if ledger is None:
        check_target(out)  # an unwritable place is better known before training
    if ledger is not None and scheme not in (o.SchemeName.TALLY, o.SchemeName.CHORUS):
        raise ParameterError(f"--ledger goes with --scheme tally or chorus: got {scheme}")
    data = parse.read(ratings, columns, scale, keep, separator, encoding)
    catalogue = parse.read_items(items, encoding)
    given = {
        "variant": variant, "threshold": threshold, "personalise": personalise, "group": group,
        "unit": unit, "delta": delta, "publications": publications,
        "solver": solver, "factors": factors, "gamma": gamma, "k1": k1, "k2": k2,
        "lambda": regularisation, "weighted": weighted, "kappa": kappa,
        "neighbours": neighbours, "initial": initial,
    }  # fmt: skip
    [chosen] = parse.schemes([scheme], given, catalogue, threads)
    spec = parse.privacy(privacy, data, max_level, min_level, default_level)
    overrides = data.epsilon is not None and privacy not in (None, "column")
    if overrides and not override_levels and scheme not in (o.SchemeName.PMF, o.SchemeName.BIAS):
        raise SpecError(
            f"--privacy {privacy} would replace the levels in the table's epsilon column, which "
            "people chose: leave it away, or say --override-levels"
        )
    with show.progress_bar() as progress:
        if ledger is not None:
            model = _publish(cast("Publishing", chosen), data, spec, out, ledger, seed, progress)
        else:
            model = chosen.fit(data, spec, seed=seed, progress=progress)
            model.release.save(out)
    console = show.console()
    if trace:
        _trace(data, model)
    console.print(show.certificate(model.release.certificate))
    console.print(f"\nRelease saved to {out}. Next: discreet inspect {out}")


def _publish(
    scheme: Publishing, data: Ratings, spec: PrivacySpec | None, out: Path, ledger: Path,
    seed: int | None, progress: Progress,
) -> FactorModel:  # fmt: skip
    from discreet.privacy.ledger import Ledger
    from discreet.schemes.publish import publish

    if not ledger.exists():
        typer.echo(f"A new ledger begins at {ledger}: nothing has been spent before.", err=True)
    return publish(scheme, data, spec, out=out, ledger=Ledger(ledger), seed=seed, progress=progress)


def _trace(data: Ratings, model: FactorModel) -> None:
    """What the operator may want to know, and nobody else may."""
    import numpy as np

    console = show.console()
    missing = 0 if data.epsilon is None else int(np.isnan(data.epsilon).sum())
    console.print(
        f"{len(data):,} ratings read, {len(model.ratings):,} of them of items in the catalogue; "
        f"{missing:,} without a level of their own."
    )
    if model.trace:
        rows = [[point.phase, str(point.step), f"{point.rmse:.4f}"] for point in model.trace]
        console.print(show.table("Convergence", ["phase", "step", "training RMSE"], rows))
    console.print(show.SECRET_RESULTS, style="yellow")
