"""discreet plan: what to expect of a schedule of publications, and how many to declare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import extras, show
from discreet.cli.bundles import ItemTable, Reading, Showing
from discreet.cli.completion import completing, data_sets, one_of
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import polars as pl


def plan(
    *,
    data: Annotated[
        str,
        typer.Argument(
            metavar="[DATA]",
            **completing(data_sets),
            help="What it is played on: 'club' (the default, made up), or the name of a public "
            "data set. A table of your own only with --on-secret-ratings.",
        ),
    ] = "club",
    privacy: Annotated[
        str,
        typer.Option(metavar="SPEC", help="Levels that you expect: 'uniform:1', or 'groups'."),
    ] = "uniform:1",
    delta: Annotated[float, typer.Option(help="Chorus' delta, of a lifetime.")] = 1e-8,
    purpose: Annotated[
        str, typer.Option(**one_of("ratings|lists|both"), help="What Chorus' rounds learn.")
    ] = "both",
    declare: Annotated[
        str, typer.Option(metavar="N,N,...", help="Numbers of publications to compare.")
    ] = "1,4,12",
    pure_share: Annotated[
        float | None,
        typer.Option(
            help="The share of every epsilon that would pay for tallies, the rest for rounds "
            "(0.45, or with one publication everything undivided)."
        ),
    ] = None,
    times: Annotated[int, typer.Option(help="How many publications to look at.")] = 12,
    first: Annotated[
        int | None, typer.Option(help="Ratings at the first one (default: as many as arrive).")
    ] = None,
    arriving: Annotated[
        int | None,
        typer.Option(help="Ratings that come between two (default: the table in equal parts)."),
    ] = None,
    on_secret_ratings: Annotated[
        bool,
        typer.Option(
            "--on-secret-ratings",
            help="Play it on a table of your own. The figures are then computed from its ratings, "
            "outside any mechanism.",
        ),
    ] = False,
    item_table: ItemTable,
    reading: Reading,
    seed: Annotated[int, typer.Option(help="Of the order of the ratings and of the noise.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Where the table goes (.csv, .json or .parquet).")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Where the figure goes (.svg, .png or .pdf).")
    ] = None,
    showing: Showing,
) -> None:
    """Tell what accuracy to expect after each publication, and what number of them to declare.

    Of ratings the error (RMSE) is told, of events how good lists are (NDCG@10).

    Levels, schedule and how many ratings arrive are assumptions of yours, and public. They are
    played on ratings that are made up or public, so that nothing of yours is looked at.

    \b
    Examples:
      discreet plan
      discreet plan --privacy uniform:0.5 --declare 1,6,24 --figure plan.svg
      discreet plan --declare 12 --pure-share 0.6
      discreet plan --events --privacy uniform:1
      discreet plan ml-1m --first 500000 --arriving 20000 --out plan.csv
      discreet plan mine.parquet --on-secret-ratings
    """
    if figure is not None:
        extras.require("plots", "--figure")
    from discreet.cli import parse
    from discreet.experiments.run import find_source
    from discreet.experiments.schedule import Schedule, advised, plan_publications
    from discreet.readers.datasets import DATA_SETS
    from discreet.schemes.chorus.scheme import Chorus

    spec = parse.privacy(privacy, False, None, None, None)
    assert spec is not None
    known = data in DATA_SETS and not Path(data).exists()
    if not known and not on_secret_ratings:
        raise ParameterError(
            f"{data!r} is no public data set, and a schedule is planned without looking at secret "
            f"ratings: leave it away, name one of {', '.join(DATA_SETS)}, or say "
            "--on-secret-ratings, and what you are told depends on them"
        )
    source = find_source(
        data, item_table.items, reading.value, item_reading=item_table.value(reading)
    )
    items = source.load_items()
    scheme = Chorus(items=items, delta=delta, purpose=purpose, pure_share=pure_share)
    schedule = Schedule(publications=times, first=first, arriving=arriving)
    with show.progress_bar(showing.silent) as progress:
        table = plan_publications(
            scheme,
            spec,
            source.load(),
            public=True,  # what is not is told below, in the words of every command
            schedule=schedule,
            declared=_numbers(declare),
            seed=seed,
            progress=progress,
        )
    if out is not None:
        show.save_table(table, out)
    if figure is not None:
        _draw(table, figure, source.name)
    if showing.as_json:
        typer.echo(table.write_json())
    if not showing.silent:
        share = "" if pure_share is None else f" --pure-share {pure_share:g}"
        _print(table, source.name, f"{advised(table)}{share}")
    if not known:
        show.console(error=True).print(show.SECRET_RESULTS, style="yellow")


_WORDS = {
    "rmse": ("RMSE", "ratings", "the least error"),
    "ndcg@10": ("NDCG@10 of lists", "events", "the best lists"),
}
"""By what a plan compares, of what, and what is best."""


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ParameterError(
            f"--declare must be whole numbers with commas, as 1,4,12: got {text!r}"
        ) from None


def _print(table: pl.DataFrame, name: str, best: str) -> None:
    numbers = table["declared"].unique(maintain_order=True).to_list()
    measure = table.columns[-1]
    told, records, least = _WORDS[measure]
    found = table.pivot("declared", index=["publication", "ratings"], values=measure)
    rows = [
        [str(number), f"{count:,}", *(f"{value:.4f}" for value in values)]
        for number, count, *values in found.iter_rows()
    ]
    heads = ["publication", records, *(f"n = {n}" for n in numbers)]
    title = f"{told} to expect after each publication, as played on {name}"
    show.console().print(show.table(title, heads, rows, right=0))
    show.console().print(
        f"\nDeclare --publications {best}: {least} on average over these publications. "
        "Your own people and items differ: play it on the public table that is most like yours."
    )


def _draw(table: pl.DataFrame, path: Path, name: str) -> None:
    from discreet.figure import canvas

    measure = table.columns[-1]
    with canvas(path) as axes:
        for (n,), rows in table.group_by(["declared"], maintain_order=True):
            axes.plot(rows["publication"], rows[measure], marker="o", label=f"n = {n}")
        axes.set(xlabel="publication", ylabel=_WORDS[measure][0], title=f"played on {name}")
        axes.xaxis.get_major_locator().set_params(integer=True)  # there is no publication 1.5
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, title="publications declared")
