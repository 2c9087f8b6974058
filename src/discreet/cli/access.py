"""discreet operate person, token, revoke, erase: who has access to a recommender."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import options as o
from discreet.cli.operate import DEFAULT_DATABASE, DatabaseOption, opened_database, say
from discreet.errors import ParameterError

ROLES = ("operator", "monitor", "service")
BY_COMMAND = "command line"
"""Who did it, where it was written down that somebody did who has the database itself."""


def person(
    name: Annotated[str, typer.Argument(metavar="ID", help="The person, as in the ratings table.")],
    database: DatabaseOption = DEFAULT_DATABASE,
    days: Annotated[float, typer.Option(min=0.001, help="How long the token lives.")] = 365,
    as_json: o.JsonOption = False,
) -> None:
    """Make a token for a person, shown once; a new person is created.

    \b
    Example:
      discreet operate person member-0042 --database club.db
    """
    _token("person", database, days, as_json, name)


def token(
    role: Annotated[
        str,
        typer.Argument(
            help="operator, monitor (which may read /metrics), or service (a front end of your own "
            "that sends ratings and asks for lists of many people)."
        ),
    ],
    database: DatabaseOption = DEFAULT_DATABASE,
    name: Annotated[
        str | None,
        typer.Option(
            help="What this operator is called where it is written what they did; a service needs "
            "a name."
        ),
    ] = None,
    days: Annotated[float, typer.Option(min=0.001, help="How long the token lives.")] = 365,
    as_json: o.JsonOption = False,
) -> None:
    """Make a token for an operator, a monitor or a front end, shown once.

    \b
    Examples:
      discreet operate token operator --name ann --database club.db
      discreet operate token service --name shop --database club.db
    """
    from discreet.errors import require_choice

    role = require_choice("role", role, ROLES)
    if role == "service" and name is None:
        raise ParameterError("a service's token needs a name: --name shop")
    _token(role, database, days, as_json, called=name)


def revoke(
    person: Annotated[
        str | None, typer.Option(metavar="ID", help="End all tokens and sessions of a person.")
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(help="End all tokens and sessions of a role."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="With --role: only of the one who is called so.")
    ] = None,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """End tokens and sessions; without an option one, which is asked for and not shown.

    \b
    Examples:
      discreet operate revoke --database club.db
      discreet operate revoke --person member-0042 --database club.db
      discreet operate revoke --role operator --name ann --database club.db
    """
    if name is not None and role is None:
        raise ParameterError("--name goes with --role: operator or service")
    opened, _ = opened_database(database)
    from discreet.database import people
    from discreet.errors import DataError, require_choice

    given = None
    if person is None and role is None:
        given = typer.prompt("The token to end", hide_input=True)
    with opened.writing() as connection:
        if person is not None:
            people.revoke_all(connection, person)
        if role is not None:
            require_choice("role", role, ROLES)
            if not people.revoke_role(connection, people.Role(role), name):
                raise DataError(f"nobody has such a token ({role}): nothing was changed")
        if given is not None and not people.revoke(connection, given.strip()):
            raise DataError("nobody has this token: nothing was changed")
    typer.echo("Ended.")


def erase(
    name: Annotated[str, typer.Argument(metavar="ID", help="The person.")],
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Erase a person who asked for it: ratings, tokens, everything but keyed hashes.

    \b
    Example:
      discreet operate erase member-0042 --database club.db
    """
    opened, _ = opened_database(database)
    from discreet.database import erasures
    from discreet.database.writer import Writer

    writer = Writer(opened)
    erasures.erase(writer, name)
    writer.close()
    typer.echo("Erased. What was released cannot be recalled.")


def _token(
    role: str,
    url: str,
    days: float,
    as_json: bool,
    name: str | None = None,
    called: str | None = None,
) -> None:
    opened, _ = opened_database(url)
    from discreet.database import acts, people

    with opened.writing() as connection:
        if called is not None:
            people.check_ids([called])
        if name is not None:
            people.new_person(connection, name)
        by = BY_COMMAND if role == "person" else called
        made = people.issue(connection, people.Role(role), name, days=days, name=by)
        acts.note(connection, BY_COMMAND, f"make a token: {role}", called or "", person=name)
    say({"token": made}, f"{made}\nShown once: keep it safe.", as_json)
