"""discreet operate begin, events, export: a recommender of events."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as o
from discreet.cli import parse
from discreet.cli.bundles import TextTable, unbundled
from discreet.cli.operate import (
    DEFAULT_DATABASE,
    DatabaseOption,
    LookOption,
    import_records,
    opened_database,
    require_serve,
    show_records,
)
from discreet.errors import DataMissingError, ParameterError


def begin(
    database: DatabaseOption = DEFAULT_DATABASE,
    levels: Annotated[
        str | None, typer.Option(metavar="E,E,...", help="The levels on offer (0.1,0.3,1).")
    ] = None,
    default_level: Annotated[
        float | None,
        typer.Option(help="The level of an event without one (default: the most private)."),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="A delta: releases by Chorus, not Tally.")
    ] = None,
    publications: Annotated[
        int | None,
        typer.Option(min=1, help="With a delta: in how many releases an event takes part (1)."),
    ] = None,
    publish_every: Annotated[
        float | None,
        typer.Option(metavar="HOURS", help="A schedule: 'discreet serve' publishes by itself."),
    ] = None,
    things: Annotated[str | None, typer.Option(help="What is chosen, for the page.")] = None,
    quantity: o.QuantityOption = None,
    repeats: o.RepeatsOption = None,
) -> None:
    """Begin a database of events: rules are declared once, for its whole life.

    'discreet serve' then takes events and gives lists, on its pages and over its API. A database of
    ratings is begun by 'discreet serve' itself.

    \b
    Example:
      discreet operate begin --database plays.db --quantity log:10
    """
    require_serve()
    from discreet.cli.serve import declared_words
    from discreet.database.connection import Database
    from discreet.database.declaration import establish

    rules = {"quantity": quantity, "repeats": repeats, "publications": publications}
    wanted = declared_words(levels, default_level, None, delta, publish_every, things)
    wanted |= {name: word for name, word in rules.items() if word is not None}
    declared = establish(Database(database), {**wanted, "events": True})
    assert declared.rules is not None
    typer.echo(
        f"Declared for this database's whole life: events; {declared.rules.words}; levels "
        f"{', '.join(f'{level:g}' for level in declared.levels)}; delta {declared.delta:g}."
    )


@unbundled
def events(
    *,
    table: Annotated[Path, typer.Argument(help="A table: user, item, weight and epsilon.")],
    database: DatabaseOption = DEFAULT_DATABASE,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Replace the records of pairs that are there already; default: keep. A level is "
            "never raised.",
        ),
    ] = False,
    columns: o.ColumnsOption = None,
    look: LookOption = False,
    text: TextTable,
    as_json: o.JsonOption = False,
) -> None:
    """Import events by the rules that were declared, and the people in the table who are new.

    Without an epsilon an event gets the declared default.

    \b
    Example:
      discreet operate events plays.csv --database plays.db --columns weight=hrs
    """
    opened, declared = opened_database(database)
    from discreet.readers.tables import read_events

    rules = declared.rules
    if rules is None:
        raise ParameterError("this database holds ratings: import them with operate ratings")
    data = read_events(
        table,
        parse.mapping(columns),
        quantity=rules.quantity,
        repeats=rules.repeats,
        separator=text.delimiter,
        encoding=text.encoding,
    )
    if look:
        show_records(opened, declared, data, as_json)
        return
    import_records(opened, declared, data, replace=replace, as_json=as_json)


def export(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="A folder for the release.")],
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Write the latest release of a database to a folder; it may be given to anybody.

    \b
    Example:
      discreet operate export release --database plays.db
    """
    opened, _ = opened_database(database)
    from discreet.database import ledger
    from discreet.release.release import Release

    with opened.reading() as connection:
        content = ledger.files(connection, ledger.latest(connection))
    if not content:
        raise DataMissingError("nothing was published from this database yet")
    Release.from_files(content).save(out)
    typer.echo(f"Release saved to {out}. Next: discreet inspect {out}")
