"""discreet operate: what the operator of a recommender does, on its database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import extras, parse, show
from discreet.cli import options as o
from discreet.cli.bundles import ItemText, TextTable, unbundled
from discreet.cli.completion import one_of
from discreet.cli.groups import Group
from discreet.errors import DataError, DiscreetError, ParameterError

if TYPE_CHECKING:
    from discreet.data.ratings import Ratings
    from discreet.database.connection import Database
    from discreet.database.declaration import Declaration

DATABASE_HELP = (
    "The recommender's database: a path (SQLite), or postgresql://user@host/name. Secret parts of "
    "a URL are better given in DISCREET_DATABASE than on the command line."
)
DatabaseOption = Annotated[
    str, typer.Option(envvar="DISCREET_DATABASE", help=DATABASE_HELP, show_envvar=False)
]
DEFAULT_DATABASE = "discreet.db"
MOVED = (
    "It goes on from here; every later certificate names this move. Remove the other one: nothing "
    "stops it from publishing."
)
NOT_MOVED = "There is nothing to declare: it is where it was, and knows its latest release."

app = typer.Typer(
    help="Operate a recommender: import tables, preview, publish, see the ledger, make tokens.",
    cls=Group,
    no_args_is_help=True,
    # Every option can stand in the environment: DISCREET_OPERATE_RATINGS_REPLACE, ...
    context_settings={"auto_envvar_prefix": "DISCREET_OPERATE"},
)


def require_serve() -> None:
    """The extra's packages, or an error that says how to install them."""
    extras.require("serve", "the service")


def opened_database(url: str) -> tuple[Database, Declaration]:
    """A recommender's database that has been begun, and what was declared in it."""
    require_serve()
    from discreet.database.declaration import opened

    return opened(url)


def say(result: dict[str, Any], text: str, as_json: bool) -> None:
    """A result for people, or for programs."""
    typer.echo(json.dumps(result) if as_json else text)


LookOption = Annotated[
    bool, typer.Option("--look", help="Say how the table is understood, and import nothing.")
]


@app.command("items")
@unbundled
def items(
    *,
    table: Annotated[Path, typer.Argument(help="A public item table: item, title, year, genres.")],
    database: DatabaseOption = DEFAULT_DATABASE,
    public_column: o.PublicColumnsOption = None,
    columns: o.EitherColumnsOption = None,
    look: LookOption = False,
    text: ItemText,
    as_json: o.JsonOption = False,
) -> None:
    """Add items to the public catalogue, or mend what is known of them.

    Every column is published. None may come from ratings: one whose name looks like it is left
    out, unless --public-column vouches for it.

    \b
    Examples:
      discreet operate items films.csv --database club.db
      discreet operate items films.csv --look --database club.db
      discreet operate items films.csv --public-column critics_score
    """
    opened, _ = opened_database(database)
    from discreet.operate.imports import add_items
    from discreet.readers.tables import read_items

    found = read_items(
        table,
        parse.mapping(columns),
        public_columns=public_column or (),
        separator=text.delimiter,
        encoding=text.encoding,
    )
    show.left_out(found)
    if look:
        from discreet.operate.looking import look_at_items

        seen = look_at_items(opened, found)
        say(seen, f"{seen['rows']} items, {seen['new']} of them new.{_rows(seen)}", as_json)
        return
    new = add_items(opened, found)
    result = {"new": new, "left_out": list(found.left_out)}
    say(result, f"{new} new items in the catalogue.", as_json)


@app.command("ratings")
@unbundled
def ratings(
    *,
    table: Annotated[Path, typer.Argument(help="A table: user, item, rating and epsilon.")],
    database: DatabaseOption = DEFAULT_DATABASE,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Replace ratings that are there already, also those that people have changed "
            "themselves; default: keep. A level is never raised.",
        ),
    ] = False,
    columns: o.ColumnsOption = None,
    keep: o.KeepOption = None,
    look: LookOption = False,
    text: TextTable,
    as_json: o.JsonOption = False,
) -> None:
    """Import ratings, and the people in the table who are new.

    Without an epsilon a rating gets the declared default. Give people access with
    'discreet operate person'.

    \b
    Example:
      discreet operate ratings ratings.parquet --database club.db
    """
    opened, declared = opened_database(database)
    from discreet.data.columns import ANOTHER_SCALE
    from discreet.readers.tables import read_ratings

    if declared.events:
        raise ParameterError("this database holds events: import them with operate events")

    try:
        data = read_ratings(
            table,
            parse.mapping(columns),
            scale=declared.rating_scale,
            keep=keep,
            separator=text.delimiter,
            encoding=text.encoding,
        )
    except DataError as error:
        # Here the scale is not an option.
        raise DataError(str(error).replace(ANOTHER_SCALE, "mend the row")) from None
    if look:
        show_records(opened, declared, data, as_json)
        return
    import_records(opened, declared, data, replace=replace, as_json=as_json)


def _rows(seen: dict[str, Any]) -> str:
    """The first rows of a table that was looked at."""
    first = (", ".join(f"{name} {value}" for name, value in row.items()) for row in seen["first"])
    return "\n" + "\n".join(f"  {row}" for row in first)


def show_records(opened: Database, declared: Declaration, data: Ratings, as_json: bool) -> None:
    """How ratings or events are understood."""
    from discreet.operate.looking import look_at_ratings

    seen = look_at_ratings(opened, declared, data)
    what = "events" if data.events else "ratings"
    said = f"{seen['rows']} {what} of {seen['items']} items by {seen['people']} people."
    say(seen, said + _rows(seen), as_json)


def import_records(
    opened: Database, declared: Declaration, data: Ratings, *, replace: bool, as_json: bool
) -> None:
    """Put ratings or events into the database, and say how many."""
    from discreet.operate.imports import add_ratings

    with show.progress_bar(as_json) as progress:
        found = add_ratings(opened, declared, data, replace=replace, progress=progress)
    text = f"{found.rows} {'events' if data.events else 'ratings'} read."
    if found.skipped:
        text += f" {found.skipped} passed over: their owners took them back, or were erased."
    say(found._asdict(), text, as_json)


@app.command("preview")
def preview(database: DatabaseOption = DEFAULT_DATABASE, as_json: o.JsonOption = False) -> None:
    """Show what a publication would spend if it began now. For you alone.

    \b
    Example:
      discreet operate preview --database club.db
    """
    opened, declared = opened_database(database)
    from discreet.operate.releases import preview

    found = preview(opened, declared)
    say(
        found,
        f"{found['spending']:.0f} of {found['ratings']:.0f} ratings have something left to spend: "
        f"epsilon {found['total']:.4g} in all, {found['largest']:.4g} at most; "
        + (f"a mu of {found['mu']:.3g} at most, for rounds; " if found["mu"] else "")
        + f"delta {found['delta']:.3g} each at most"
        + (f", {found['lifetime_delta']:.3g} in a lifetime" if found["mu"] else "")
        + ".\nSecret: for the operator alone, like the ratings.",
        as_json,
    )


@app.command("publish")
def publish(
    database: DatabaseOption = DEFAULT_DATABASE,
    assess: Annotated[
        bool,
        typer.Option(help="Afterwards, work out what privacy costs in accuracy (operator's page)."),
    ] = True,
    noise: Annotated[
        str,
        typer.Option(
            **one_of("exact|opendp"),
            help="What draws the noise: OpenDP's vetted sampler goes without a delta only.",
        ),
    ] = "exact",
    seed: Annotated[
        int | None, typer.Option(min=0, help="For experiments: protects nobody.")
    ] = None,
    as_json: o.JsonOption = False,
) -> None:
    """Publish the next release, within every rating's lifetime epsilon.

    A crash at any moment leaves either no trace or a release whose costs are all recorded. Keep to
    the schedule that you announced, also when nothing is new.

    \b
    Example:
      discreet operate publish --database club.db
    """
    opened, declared = opened_database(database)
    from discreet.operate.assess import assess as assess_release
    from discreet.operate.releases import publish

    # Whoever reads JSON is a program, such as the service, which shows its operator how far it is.
    with show.progress_bar(every=0.5 if as_json else 5.0) as progress:
        entry, snapshot = publish(opened, declared, noise=noise, seed=seed, progress=progress)
    show.left_out(snapshot.items)  # of a catalogue from before such columns were judged
    say(entry._asdict(), f"Release {entry.number} is out ({entry.digest[:12]}).", as_json)
    if assess:
        try:
            assess_release(opened, declared, snapshot, entry.number)
        except DiscreetError as error:  # the release is out all the same
            typer.echo(f"The assessment failed: {error}", err=True)


@app.command("ledger")
def ledger(database: DatabaseOption = DEFAULT_DATABASE, as_json: o.JsonOption = False) -> None:
    """Show all releases, and what was spent. For you alone.

    \b
    Example:
      discreet operate ledger --database club.db
    """
    opened, _ = opened_database(database)
    from discreet.database import ledger
    from discreet.database.connection import utc_time

    with opened.reading() as connection:
        entries, totals = ledger.entries(connection), ledger.summary(connection)
        share = ledger.pure_share(connection)
    if as_json:
        found = {"releases": [e._asdict() for e in entries], "pure_share": share, **totals}
        typer.echo(json.dumps(found))
        return
    console = show.console()
    rows = [
        [str(e.number), utc_time(e.published_at), e.scheme, e.threshold, e.digest[:12]]
        for e in entries
    ]
    heads = ["release", "published", "scheme", "threshold t", "digest"]
    console.print(show.table(None, heads, rows, right=9))
    console.print(f"\n{show.spent(totals, share)}")
    console.print("Secret: for the operator alone, like the ratings.", style="yellow")
