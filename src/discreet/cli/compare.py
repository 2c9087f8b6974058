"""discreet compare: private recommenders of the literature beside Tally and Chorus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import extras, show
from discreet.cli.bundles import ItemTable, Reading, Showing
from discreet.cli.completion import completing, data_sets, one_of

NAMES = {"rmse": "RMSE", "ndcg@10": "NDCG@10"}


def compare(
    *,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            **completing(data_sets),
            help="A data set by name, or a table's path (ml-100k).",
        ),
    ] = "ml-100k",
    unit: Annotated[
        str, typer.Option(**one_of("person|rating"), help="What is protected (person).")
    ] = "person",
    epsilons: Annotated[
        str,
        typer.Option(
            help="Levels with commas; `paper` among them, with --unit rating: each rating its own."
        ),
    ] = "1,5,10,20",
    delta: Annotated[float, typer.Option(help="Of everything that is not pure.")] = 1e-5,
    splits: Annotated[int, typer.Option(help="How many splits, at most 10.")] = 3,
    lists: Annotated[
        bool, typer.Option("--lists/--no-lists", help="Judge lists as well as errors.")
    ] = True,
    list_people: Annotated[
        int | None, typer.Option(help="Judge lists of so many people only (default: of all).")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run this row alone, may be repeated; others stay as they are."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Leave this row out, may be repeated.")
    ] = None,
    item_table: ItemTable,
    reading: Reading,
    workers: Annotated[int | None, typer.Option(help="Processes (default: every core).")] = None,
    out: Annotated[Path, typer.Option(help="Where finished cells and report.html go.")] = Path(
        "compared"
    ),
    showing: Showing,
) -> None:
    """Run the field on the same splits: errors, lists and time against epsilon, in one report.

    The schemes that the literature names, each as its paper describes it, beside Tally, Chorus and
    what has no privacy. Their hyper-parameters were searched on other splits, and are fixed.
    Interrupted, the same command goes on where it stopped. What is written was computed from the
    ratings themselves: it is for you.

    \b
    Examples:
      discreet compare --data ml-1m --unit person --epsilons 1,5,10,20
      discreet compare --data netflix-10m --list-people 8000 --out compared
      discreet compare --data ml-100k --unit rating --epsilons paper,0.1,1,4
    """
    from discreet.experiments.compare import Asked
    from discreet.experiments.compare import compare as run
    from discreet.experiments.compare_report import write_report
    from discreet.experiments.run import find_source

    extras.require("field", "a comparison")
    source = find_source(
        data, item_table.items, reading.value, item_reading=item_table.value(reading)
    )
    show.source(source)
    levels = [word.strip() for word in epsilons.split(",") if word.strip()]
    asked = Asked.of(
        source,
        unit,
        levels,
        delta,
        splits,
        lists=lists,
        list_people=list_people,
        only=only or (),
        without=without or (),
    )
    try:
        with show.progress_bar(showing.silent) as progress:
            table = run(asked, out, workers=workers, progress=progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted: what was done is kept. The same command goes on.", err=True)
        raise typer.Exit(130) from None
    page = write_report(asked, table, out)
    if showing.as_json:
        typer.echo(table.write_json())
    if showing.silent:
        return
    _show(asked.levels, table)
    console = show.console()
    console.print(f"\nReport: {page}")
    console.print(show.SECRET_RESULTS, style="yellow")


def _show(levels: tuple[str, ...], table: object) -> None:
    """A table for each figure: a line for each scheme, a column for each level."""
    import polars as pl

    from discreet.experiments.verdicts import means

    assert isinstance(table, pl.DataFrame)
    found = means(table)
    for figure, name in NAMES.items():
        known = found.filter(pl.col(figure).is_not_null())
        cells = {(row["label"], row["level"]): row[figure] for row in known.to_dicts()}
        columns = [level for level in (*levels, "none") if level in known["level"]]
        shown = show.compact(f"{name} at each epsilon (none: without privacy)")
        shown.add_column("scheme", overflow="fold")
        for level in columns:
            shown.add_column(level, justify="right", no_wrap=True)
        for label in known["label"].unique(maintain_order=True):
            shown.add_row(label, *(_told(cells.get((label, level))) for level in columns))
        show.console().print(shown)


def _told(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
