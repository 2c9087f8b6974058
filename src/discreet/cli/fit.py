"""discreet fit: train a scheme and save its release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as o
from discreet.cli import show
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.privacy.spec import PrivacySpec
    from discreet.progress import Progress
    from discreet.ratings import Ratings
    from discreet.schemes.model import FactorModel, Scheme


def fit(
    ratings: o.RatingsArgument,
    scheme: Annotated[
        o.SchemeName, typer.Option(help="What to train.", case_sensitive=False)
    ] = o.SchemeName.TALLY,
    out: Annotated[
        Path, typer.Option(help="The release folder; an old release there is replaced whole.")
    ] = Path("release"),
    privacy: o.PrivacyOption = None,
    max_level: o.MaxLevelOption = 1.0,
    min_level: o.MinLevelOption = None,
    items: o.ItemsOption = None,
    variant: o.VariantOption = None,
    threshold: o.ThresholdOption = None,
    personalise: o.PersonaliseOption = None,
    group: o.GroupsOption = None,
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
            "(tally). The file is created if need be; keep it as secret as the ratings."
        ),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show how training went (secret: for you alone).")
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
      discreet fit ratings.parquet --items items.parquet --ledger ledger.db --out release
      discreet fit ratings.csv --columns user=customer --columns item=sku --privacy uniform:0.1
      discreet fit ml-1m --scheme pdp-pmf --variant repaired --privacy groups --threshold 1.0
    """
    from discreet.durable import make_room
    from discreet.release import CERTIFICATE

    # An unwritable place is better known before training.
    make_room(out.expanduser(), CERTIFICATE).rmdir()
    if ledger is not None and scheme != o.SchemeName.TALLY:
        raise ParameterError(f"--ledger goes with --scheme tally: got {scheme}")
    data = o.read(ratings, columns, scale, keep, separator, encoding)
    catalogue = o.read_items(items)
    given = {
        "variant": variant, "threshold": threshold, "personalise": personalise, "group": group,
        "solver": solver, "factors": factors, "gamma": gamma, "k1": k1, "k2": k2,
        "lambda": regularisation, "weighted": weighted, "kappa": kappa,
        "neighbours": neighbours, "initial": initial,
    }  # fmt: skip
    [chosen] = o.schemes([scheme], given, catalogue, threads)
    spec = o.privacy(privacy, data, max_level, min_level)
    with show.progress_bar() as progress:
        if ledger is not None:
            model = _publish(chosen, data, spec, out, ledger, seed, progress)
        else:
            model = chosen.fit(data, spec, seed=seed, progress=progress)
            model.release.save(out)
    console = show.console()
    if trace:
        rows = [[point.phase, str(point.step), f"{point.rmse:.4f}"] for point in model.trace]
        console.print(show.table("Convergence", ["phase", "step", "training RMSE"], rows))
        console.print(show.SECRET_RESULTS, style="yellow")
    console.print(show.certificate(model.release.certificate))
    console.print(f"\nRelease saved to {out}. Next: discreet inspect {out}")


def _publish(
    scheme: Scheme, data: Ratings, spec: PrivacySpec | None, out: Path, ledger: Path,
    seed: int | None, progress: Progress,
) -> FactorModel:  # fmt: skip
    from discreet.privacy.ledger import Ledger
    from discreet.schemes.publish import publish
    from discreet.schemes.tally import Tally

    assert isinstance(scheme, Tally)
    return publish(scheme, data, spec, out=out, ledger=Ledger(ledger), seed=seed, progress=progress)
