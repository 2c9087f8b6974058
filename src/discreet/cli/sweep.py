"""discreet sweep: accuracy against privacy, on your own data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as o
from discreet.cli import show
from discreet.cli.schemes import mentioned
from discreet.errors import OutputError, ParameterError, require_positive

if TYPE_CHECKING:
    import polars as pl


def sweep(
    ratings: o.RatingsArgument,
    scheme: Annotated[
        list[str] | None,
        typer.Option(metavar=o.SCHEME_NAMES, help="May be repeated (tally, chorus and pmf)."),
    ] = None,
    epsilons: Annotated[
        str, typer.Option(help="Levels, the same for every rating, with commas.")
    ] = "0.1,0.2,0.5,1,2,4",
    thresholds: Annotated[
        str, typer.Option(help="Values of t, with commas (default: each scheme's own).")
    ] = "",
    factors: Annotated[
        str, typer.Option(help="Values of d, with commas (default: each scheme's own).")
    ] = "",
    items: o.ItemsOption = None,
    public_column: o.PublicColumnsOption = None,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 3,
    workers: Annotated[int | None, typer.Option(help="Processes (default: every core).")] = None,
    out: Annotated[
        Path,
        typer.Option(help="Where the table and figure of this sweep, and all finished cells, go."),
    ] = Path("sweep"),
) -> None:
    """Measure how accurate each scheme is at each privacy level, and draw the curve.

    Interrupted, the same command goes on where it stopped. Results are computed from the ratings
    themselves: a level chosen by them depends on secrets, which no certificate counts.

    \b
    Examples:
      discreet sweep club --items club --out sweep
      discreet sweep ratings.parquet --scheme tally --scheme chorus --epsilons 0.1,1,4
      discreet sweep ml-100k --scheme pdp-pmf --epsilons 0.5,1 --thresholds 0.5,1 --factors 5,20
    """
    from discreet.experiments.run import find_source
    from discreet.experiments.run import sweep as run
    from discreet.schemes import find_scheme
    from discreet.schemes.base import options_of

    chosen = scheme or ["tally", "chorus", "pmf"]
    mentioned([f"--scheme={name}" for name in chosen])
    options = {option for name in chosen for option in options_of(find_scheme(name))}
    for flag, values, option in (
        ("--thresholds", thresholds, "threshold"),
        ("--factors", factors, "factors"),
    ):
        if values and option not in options:
            raise ParameterError(
                f"{flag} goes with schemes that have any: {', '.join(chosen)} has none"
            )
    source = find_source(ratings, items, public_column or ())
    show.source(source)
    try:
        with show.progress_bar() as progress:
            table = run(
                source,
                chosen,
                _numbers("--epsilons", epsilons),
                out,
                thresholds=_numbers("--thresholds", thresholds),
                factors=[int(d) for d in _numbers("--factors", factors)],
                folds=folds,
                workers=workers,
                progress=progress,
            )
    except KeyboardInterrupt:
        typer.echo("Interrupted: what was done is kept. The same command goes on.", err=True)
        raise typer.Exit(130) from None
    _save(table, out)
    console = show.console()
    heads = ["scheme", "epsilon", "t", "d", "RMSE", "+-", "errors within 1"]
    rows = [
        [
            str(row["scheme"]),
            *(
                "-" if row[name] is None else f"{row[name]:g}"
                for name in ("epsilon", "threshold", "factors")
            ),
            *(
                "diverged" if row["rmse"] is None else f"{row[name]:.4f}"
                for name in ("rmse", "rmse_std", "cdf_1")
            ),
        ]
        for row in table.to_dicts()
    ]
    console.print(show.table(None, heads, rows))
    console.print(f"\nTable and figure: {out / 'sweep.csv'}, {out / 'sweep.svg'}")
    console.print(show.SECRET_RESULTS, style="yellow")


def _numbers(name: str, text: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ParameterError(
            f"{name} must be numbers with commas, as 0.1,1: got {text!r}"
        ) from None
    return [require_positive(name, number) for number in numbers]


def _save(table: pl.DataFrame, out: Path) -> None:
    from discreet.figure import canvas

    try:
        table.write_csv(out / "sweep.csv")
        table.write_parquet(out / "sweep.parquet")
    except OSError as error:
        raise OutputError(f"cannot write to {out}: {error}") from None
    with canvas(out / "sweep.svg") as axes:
        for (name, t, d), rows in table.drop_nulls("rmse").group_by(
            ["scheme", "threshold", "factors"], maintain_order=True
        ):
            label = (
                f"{name}{'' if t is None else f', t = {t:g}'}{'' if d is None else f', d = {d}'}"
            )
            curve = rows.drop_nulls("epsilon").sort("epsilon")
            if curve.height:
                axes.errorbar(
                    curve["epsilon"], curve["rmse"], yerr=curve["rmse_std"], marker="o", label=label
                )
            else:
                axes.axhline(
                    rows["rmse"][0], linestyle="--", color="0.4", label=f"{label}, no privacy"
                )
        axes.set(
            xscale="log", xlabel="epsilon of every rating", ylabel="RMSE, clipped to the scale"
        )
        axes.xaxis.set_major_formatter("{x:g}")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
