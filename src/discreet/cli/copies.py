"""discreet operate backup, restored, moved: copies of a database, and what to declare of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as o
from discreet.cli.operate import (
    DEFAULT_DATABASE,
    MOVED,
    NOT_MOVED,
    DatabaseOption,
    opened_database,
    say,
)
from discreet.errors import ParameterError


def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="A new file for the copy.")],
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Copy a SQLite database while it is in use: ratings, ledger and all, as of one moment.

    Make one after every publication, and keep it as secret as the ratings.

    \b
    Example:
      discreet operate backup club-2026-11-15.db --database club.db
    """
    opened, _ = opened_database(database)
    from discreet.operate.copies import back_up

    back_up(opened, target)
    typer.echo(f"Copied to {target}.")


def restored(
    after: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="The latest release's number: PostgreSQL has nothing beside it that tells.",
        ),
    ] = None,
    database: DatabaseOption = DEFAULT_DATABASE,
    as_json: o.JsonOption = False,
) -> None:
    """After restoring an older copy: charge every rating in it in full, and go on.

    The copy has forgotten what releases since have spent. No rating in it will be counted again;
    what people rate from now on will, also what was lost and is given again: every later
    certificate says so.

    \b
    Example:
      discreet operate restored --database club.db
    """
    opened, declared = opened_database(database)
    from discreet.operate.copies import charge_in_full

    if after is None and not opened.sqlite:
        raise ParameterError(
            "say --after N, N the number of the latest release that was ever published from here: "
            "no number may be used twice"
        )
    pairs = charge_in_full(opened, declared, after or 0)
    say(
        {"pairs": pairs},
        f"{pairs} ratings are charged in full, and what was counted of deleted ones. Later "
        "certificates name this restore.",
        as_json,
    )


def moved(database: DatabaseOption = DEFAULT_DATABASE, as_json: o.JsonOption = False) -> None:
    """After moving the database: declare this copy the one that goes on publishing.

    Say it only of the latest state, from which nothing was published since anywhere else, nor
    will be: after a move to another disk or server, a replica without loss that took over, or an
    upgrade of PostgreSQL. Your word is named in every later certificate.

    \b
    Example:
      discreet operate moved --database club.db
    """
    opened, _ = opened_database(database)
    from discreet.database.generation import DatabaseKeeper

    changed = DatabaseKeeper(opened).moved()
    say({"moved": changed}, MOVED if changed else NOT_MOVED, as_json)
