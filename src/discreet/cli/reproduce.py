"""discreet reproduce: section 6 of the paper, run again."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from discreet.cli import extras, show
from discreet.cli import options as o
from discreet.cli.bundles import ItemTable, RatingsReading, Showing
from discreet.cli.completion import completing, data_sets
from discreet.errors import ParameterError

FIGURES = ("2", "3", "4", "5")


def reproduce(
    *,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            **completing(data_sets),
            help="A data set by name, or a table's path; may be repeated (ml-100k). The report "
            "covers all that were ever run into --out.",
        ),
    ] = None,
    items: Annotated[
        list[str] | None,
        typer.Option(help="The item table of each --data that is a path, in the same order."),
    ] = None,
    public_column: o.PublicColumnsOption = None,
    item_columns: o.ItemColumnsOption = None,
    item_separator: o.ItemSeparatorOption = None,
    reading: RatingsReading,
    out: Annotated[Path, typer.Option(help="Where results, figures and report.html go.")] = Path(
        "reproduced"
    ),
    figure: Annotated[
        list[str] | None,
        typer.Option(
            help="2, 3, 4 or 5 (all; 5 only where the paper has it: not ml-1m, netflix-*)."
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 10,
    workers: Annotated[int | None, typer.Option(help="Processes (default: every core).")] = None,
    showing: Showing,
) -> None:
    """Run the paper's experiments and write a report.

    Each result is kept as soon as it is there. Interrupted, even killed, the same command goes on
    where it stopped; changed parameters run only what they touch. What is written was computed from
    the ratings themselves: it is for you.

    \b
    Examples:
      discreet reproduce --data ml-100k --out reproduced
      discreet reproduce --data ml-100k --data ml-1m --data netflix-7128
      discreet reproduce --data club --figure 2 --folds 3
      discreet reproduce --data ratings.parquet --items items.parquet
    """
    from discreet.experiments.run import find_sources
    from discreet.experiments.run import reproduce as run

    extras.require("plots", "the report")
    chosen = figure or None
    for name in chosen or ():
        if name not in FIGURES:
            raise ParameterError(f"--figure must be 2, 3, 4 or 5: got {name!r}")
    table = ItemTable(None, public_column, item_columns, item_separator)
    sources = find_sources(data or ["ml-100k"], items or [], reading.value, table.value(reading))
    for source in sources.values():
        show.source(source)
    try:
        with show.progress_bar(showing.silent) as progress:
            page, verdicts, ran = run(
                sources, out, figures=chosen, folds=folds, workers=workers, progress=progress
            )
    except KeyboardInterrupt:
        typer.echo("Interrupted: what was done is kept. The same command goes on.", err=True)
        raise typer.Exit(130) from None
    if showing.as_json:
        typer.echo(dumps([verdict._asdict() for verdict in verdicts], indent=2))
    if showing.silent:
        return
    console = show.console()
    colours = {"holds": "green", "holds in part": "yellow", "does not hold": "red"}
    rows: list[list[str | Text]] = [
        [v.statement, v.data, Text(v.verdict, colours.get(v.verdict, "dim")), v.measured]
        for v in verdicts
    ]
    heads = ["the paper says", "data set", "verdict", "measured"]
    console.print(show.table(None, heads, rows, right=9))
    console.print(f"\n{ran} cells run now; what was there was kept. Report: {page}")
    console.print(show.SECRET_RESULTS, style="yellow")
