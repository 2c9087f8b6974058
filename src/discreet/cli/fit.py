"""discreet fit: train a scheme and save its release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as o
from discreet.cli import show


def fit(
    ratings: o.RatingsArgument,
    scheme: Annotated[
        o.SchemeName, typer.Option(help="What to train.", case_sensitive=False)
    ] = o.SchemeName.PDP_PMF,
    out: Annotated[
        Path, typer.Option(help="The release folder; an old release there is replaced whole.")
    ] = Path("release"),
    privacy: o.PrivacyOption = None,
    max_level: o.MaxLevelOption = 1.0,
    min_level: o.MinLevelOption = None,
    items: o.ItemsOption = None,
    variant: o.VariantOption = o.Variant.PRINTED,
    threshold: o.ThresholdOption = None,
    solver: o.SolverOption = None,
    factors: o.FactorsOption = 20,
    gamma: o.GammaOption = 50.0,
    k1: o.PassesOption = 50,
    k2: o.NoisyPassesOption = 50,
    regularisation: o.LambdaOption = None,
    weighted: o.WeightedOption = None,
    kappa: o.KappaOption = None,
    neighbours: o.NeighboursOption = "add/remove",
    initial: o.InitialOption = "signed",
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
      discreet fit ratings.csv --columns user=customer --columns item=sku --privacy uniform:0.1
      discreet fit ml-1m --scheme pdp-pmf --variant repaired --privacy groups --threshold 1.0
    """
    from discreet.release import make_room

    make_room(out.expanduser()).rmdir()  # an unwritable place is better known before training
    data = o.read(ratings, columns, scale, keep, separator, encoding)
    catalogue = o.read_items(items)
    chosen = o.scheme(
        scheme, variant=variant, threshold=threshold, solver=solver, factors=factors, gamma=gamma,
        k1=k1, k2=k2, regularisation=regularisation, weighted=weighted, kappa=kappa,
        neighbours=neighbours, initial=initial, items=catalogue, threads=threads,
    )  # fmt: skip
    spec = o.privacy(privacy, data, max_level, min_level)
    with show.progress_bar() as progress:
        model = chosen.fit(data, spec, seed=seed, progress=progress)
    folder = model.release.save(out)
    console = show.console()
    if trace:
        rows = [[point.phase, str(point.step), f"{point.rmse:.4f}"] for point in model.trace]
        console.print(show.table("Convergence", ["phase", "step", "training RMSE"], rows))
        console.print(show.SECRET_RESULTS, style="yellow")
    console.print(show.certificate(model.release.certificate))
    console.print(f"\nRelease saved to {folder}. Next: discreet inspect {folder}")
