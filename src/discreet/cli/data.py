"""discreet data: which data sets there are, and where."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as o
from discreet.cli import show
from discreet.cli.bundles import RatingsReading, Showing, unbundled
from discreet.cli.completion import completing, data_sets
from discreet.cli.groups import Group

app = typer.Typer(
    help="List, fetch and locate data sets.",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_(as_json: o.JsonOption = False) -> None:
    """Name every known data set, and say whether it is here; `discreet data path` says where.

    \b
    Example:
      discreet data list
    """
    from discreet.readers import datasets

    places = {name: datasets.find(name) for name in datasets.DATA_SETS}
    if as_json:
        found = [
            {"name": name, "place": place and str(place), "about": datasets.DATA_SETS[name].about}
            for name, place in places.items()
        ]
        typer.echo(dumps(found, indent=2))
        return
    rows = []
    for name, known in datasets.DATA_SETS.items():
        here = "embedded" if known.generate else "here" if places[name] else "not here"
        rows.append([name, here, known.about])
    show.console().print(show.table(None, ["name", "", "what it is"], rows, right=9))
    typer.echo(f"\nLooked in {', '.join(map(str, datasets.folders()))} (set DISCREET_DATA to add).")


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="For example ml-100k.", **completing(data_sets))],
    quiet: o.QuietOption = False,
) -> None:
    """Fetch an official archive into the cache folder, checking its digest.

    \b
    Example:
      discreet data get ml-100k
    """
    from discreet.readers import datasets

    with show.progress_bar(quiet) as progress:
        path = datasets.get(name, progress=progress)
    if not quiet:
        typer.echo(path)


@app.command()
def path(
    name: Annotated[str, typer.Argument(help="For example ml-1m.", **completing(data_sets))],
) -> None:
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
@unbundled
def reduce(
    *,
    ratings: Annotated[
        str,
        typer.Argument(help="A table, a data set, or the original files.", **completing(data_sets)),
    ],
    users: Annotated[int, typer.Option(help="How many people, drawn at random.")] = 7128,
    seed: Annotated[int, typer.Option(help="Which of the possible draws.")] = 0,
    out: Annotated[Path, typer.Option(help="The table to write: .parquet, .csv or .json.")] = Path(
        "reduced.parquet"
    ),
    reading: RatingsReading,
    showing: Showing,
) -> None:
    """Keep all ratings of some people, drawn at random: the paper's way of reducing Netflix.

    \b
    Example:
      discreet data reduce netflix/ --users 7128 --out netflix-7128.parquet
    """
    from discreet.cli import parse

    target = parse.output_file(out)
    some = reading.load(ratings).of_some_people(users, seed)
    show.save_table(some.to_frame(), target)
    if showing.as_json:
        typer.echo(dumps({"file": str(target), "ratings": len(some), "people": users}))
    elif not showing.quiet:
        typer.echo(f"{target}: {len(some):,} ratings of {users:,} people")
