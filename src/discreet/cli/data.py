"""discreet data: which data sets there are, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import show
from discreet.cli.groups import Group

app = typer.Typer(
    help="List, fetch and locate data sets.",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_() -> None:
    """Name every known data set and where it is."""
    from discreet.readers import datasets

    rows = []
    for name, known in datasets.DATA_SETS.items():
        place = "embedded" if known.generate else str(datasets.find(name) or "not here")
        rows.append([name, place, known.about])
    show.console().print(show.table(None, ["name", "place", "what it is"], rows, right=9))
    typer.echo(f"\nLooked in {', '.join(map(str, datasets.folders()))} (set DISCREET_DATA to add).")


@app.command()
def get(name: str = typer.Argument(help="For example ml-100k.")) -> None:
    """Fetch an official archive into the cache folder, checking its digest.

    \b
    Example:
      discreet data get ml-100k
    """
    from discreet.readers import datasets

    with show.progress_bar() as progress:
        path = datasets.get(name, progress=progress)
    typer.echo(path)


@app.command()
def path(name: str = typer.Argument(help="For example ml-1m.")) -> None:
    """Print where a data set's ratings are."""
    from discreet.errors import DataMissingError
    from discreet.readers import datasets

    if datasets.find_data_set(name).generate is not None:
        raise DataMissingError(f"data set {name!r} is generated in memory: it has no path")
    found = datasets.find(name)
    if found is None:
        raise DataMissingError(f"data set {name!r} is not here. {datasets.how_to_get(name)}")
    typer.echo(found)


@app.command()
def reduce(
    ratings: Annotated[str, typer.Argument(help="A table, a data set, or the original files.")],
    users: Annotated[int, typer.Option(help="How many people, drawn at random.")] = 7128,
    seed: Annotated[int, typer.Option(help="Which of the possible draws.")] = 0,
    out: Annotated[Path, typer.Option(help="The table to write: .parquet, .csv or .json.")] = Path(
        "reduced.parquet"
    ),
) -> None:
    """Keep all ratings of some people, drawn at random: the paper's way of reducing Netflix.

    \b
    Example:
      discreet data reduce netflix/ --users 7128 --out netflix-7128.parquet
    """
    from discreet.cli import parse
    from discreet.readers import datasets

    target = parse.output_file(out)
    some = datasets.load_ratings(ratings).of_some_people(users, seed)
    show.save_table(some.to_frame(), target)
    typer.echo(f"{target}: {len(some):,} ratings of {users:,} people")
