"""discreet sweep: accuracy against privacy, on your own data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import extras, show
from discreet.cli import options as o
from discreet.cli.bundles import ItemTable, Reading, Showing
from discreet.cli.completion import one_of
from discreet.cli.schemes import mentioned
from discreet.errors import ParameterError, require_positive

if TYPE_CHECKING:
    import polars as pl

    from discreet.evaluate.judge import Judging


def sweep(
    *,
    ratings: o.RatingsArgument,
    scheme: Annotated[
        list[str] | None,
        typer.Option(**one_of(o.SCHEME_NAMES), help="May be repeated (tally and chorus)."),
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
    item_table: ItemTable,
    reading: Reading,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 3,
    split: o.SplitOption = o.SplitName.RANDOM,
    top: o.TopOption = 10,
    target: o.TargetOption = o.TargetName.LIKED,
    baselines: o.BaselinesOption = True,
    workers: Annotated[int | None, typer.Option(help="Processes (default: every core).")] = None,
    out: Annotated[
        Path,
        typer.Option(help="Where the table and figure of this sweep, and all finished cells, go."),
    ] = Path("sweep"),
    showing: Showing,
) -> None:
    """Measure errors and lists of each scheme at each privacy level, and draw the curves.

    Interrupted, the same command goes on where it stopped. Results are computed from the ratings
    themselves: a level chosen by them depends on secrets, which no certificate counts.

    \b
    Examples:
      discreet sweep club --items club --out sweep
      discreet sweep ratings.parquet --scheme chorus --epsilons 0.1,1,4
      discreet sweep plays.parquet --events --epsilons 0.1,1 --split last
      discreet sweep ml-100k --scheme pdp-pmf --thresholds 0.5,1 --factors 5,20
    """
    from discreet.evaluate.judge import Judging
    from discreet.experiments.run import find_source, left_out
    from discreet.experiments.run import sweep as run
    from discreet.schemes import find_scheme
    from discreet.schemes.base import options_of

    chosen = scheme or [
        name for name in ("tally", "chorus") if find_scheme(name).about.events or not reading.events
    ]
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
    undrawn = extras.tell_undrawn()
    source = find_source(
        ratings, item_table.items, reading.value, item_reading=item_table.value(reading)
    )
    show.source(source)
    judging = Judging(top, o.TargetName.CONSUMED if reading.events else target)
    try:
        with show.progress_bar(showing.silent) as progress:
            table = run(
                source,
                chosen,
                _numbers("--epsilons", epsilons),
                out,
                thresholds=_numbers("--thresholds", thresholds),
                factors=[int(d) for d in _numbers("--factors", factors)],
                folds=folds,
                split=split,
                lists=judging,
                baselines=baselines,
                workers=workers,
                progress=progress,
            )
    except KeyboardInterrupt:
        typer.echo("Interrupted: what was done is kept. The same command goes on.", err=True)
        raise typer.Exit(130) from None
    _save(table, out)
    figures = "" if undrawn else _figures(table, out, top)
    if showing.as_json:
        typer.echo(table.write_json())
    if showing.silent:
        return
    _print(table, judging, left_out(source, baselines=baselines))
    show.console().print(f"\nTable: {out / 'sweep.csv'}{figures}")
    show.console().print(show.SECRET_RESULTS, style="yellow")


def _print(table: pl.DataFrame, lists: Judging, left: str) -> None:
    from discreet.cli.results import Result, show_errors, show_lists

    parameters = {"epsilon": "epsilon", "threshold": "t", "factors": "d"}
    varied = {
        name: head
        for name, head in parameters.items()
        if name == "epsilon" or table[name].null_count() < table.height
    }
    absent = {"epsilon": "none", "threshold": "-", "factors": "-"}
    results = []
    for row in table.to_dicts():
        told = [f"{row[name]:g}" if row[name] is not None else absent[name] for name in varied]
        results.append(Result((row["scheme"], *told), row["mechanism"], row, row["diverged"]))
    heads = ["scheme", *varied.values()]
    if any(row.figures.get("rmse") is not None for row in results):
        show_errors(results, heads, "Errors, clipped to the scale")
        show.console().print()
    show_lists(results, heads, "Lists", lists, left)


def _numbers(name: str, text: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ParameterError(
            f"{name} must be numbers with commas, as 0.1,1: got {text!r}"
        ) from None
    return [require_positive(name, number) for number in numbers]


def _save(table: pl.DataFrame, out: Path) -> None:
    show.save_table(table, out / "sweep.csv")
    show.save_table(table, out / "sweep.parquet")


def _figures(table: pl.DataFrame, out: Path, top: int) -> str:
    """Draw what there is to draw, and say where."""
    drawn = []
    curves = {
        "sweep.svg": ("rmse", "rmse_std", "RMSE, clipped to the scale"),
        "lists.svg": (f"ndcg@{top}", f"ndcg@{top}_margin", f"NDCG@{top}"),
    }
    for name, (figure, spread, label) in curves.items():
        known = table.drop_nulls(figure)
        if known.height:
            _draw(known, out / name, figure, spread, label)
            drawn.append(out / name)
    return f"; figures: {', '.join(map(str, drawn))}" if drawn else ""


def _draw(table: pl.DataFrame, path: Path, figure: str, spread: str, label: str) -> None:
    from discreet.figure import canvas

    with canvas(path) as axes:
        for (name, t, d), rows in table.group_by(
            ["scheme", "threshold", "factors"], maintain_order=True
        ):
            words = (
                f"{name}{'' if t is None else f', t = {t:g}'}{'' if d is None else f', d = {d}'}"
            )
            curve = rows.drop_nulls("epsilon").sort("epsilon")
            if curve.height:
                bars = curve[spread].fill_null(0.0).fill_nan(0.0)
                axes.errorbar(curve["epsilon"], curve[figure], yerr=bars, marker="o", label=words)
            else:
                colour = axes._get_lines.get_next_color()
                axes.axhline(
                    rows[figure][0], linestyle="--", color=colour, label=f"{words}, not private"
                )
        axes.set(xscale="log", xlabel="epsilon of every rating", ylabel=label)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
