"""discreet operate person, token, revoke, erase: who has access to a recommender."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.operate import DEFAULT_DATABASE, DatabaseOption, JsonOption, opened_database, say


def person(
    name: Annotated[str, typer.Argument(metavar="ID", help="The person, as in the ratings table.")],
    database: DatabaseOption = DEFAULT_DATABASE,
    days: Annotated[float, typer.Option(min=0.001, help="How long the token lives.")] = 365,
    as_json: JsonOption = False,
) -> None:
    """Make a token for a person, shown once; a new person is created.

    \b
    Example:
      discreet operate person member-0042 --database club.db
    """
    _token("person", database, days, as_json, name)


def token(
    role: Annotated[str, typer.Argument(help="operator, or monitor (which may read /metrics).")],
    database: DatabaseOption = DEFAULT_DATABASE,
    days: Annotated[float, typer.Option(min=0.001, help="How long the token lives.")] = 365,
    as_json: JsonOption = False,
) -> None:
    """Make a token for the operator or a monitor, shown once.

    \b
    Example:
      discreet operate token operator --database club.db
    """
    from discreet.errors import require_choice

    _token(require_choice("role", role, ("operator", "monitor")), database, days, as_json)


def revoke(
    person: Annotated[
        str | None, typer.Option(metavar="ID", help="End all tokens and sessions of a person.")
    ] = None,
    role: Annotated[
        str | None, typer.Option(help="End all tokens and sessions of: operator, or monitor.")
    ] = None,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """End tokens and sessions; without an option one, which is asked for and not shown.

    \b
    Examples:
      discreet operate revoke --database club.db
      discreet operate revoke --person member-0042 --database club.db
      discreet operate revoke --role operator --database club.db
    """
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
            require_choice("role", role, ("operator", "monitor"))
            people.revoke_role(connection, people.Role(role))
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

    erasures.erase(opened, name)
    typer.echo("Erased. What was released cannot be recalled.")


def _token(role: str, url: str, days: float, as_json: bool, name: str | None = None) -> None:
    opened, _ = opened_database(url)
    from discreet.database import people

    with opened.writing() as connection:
        if name is not None:
            people.new_person(connection, name)
        made = people.issue(connection, people.Role(role), name, days=days)
    say({"token": made}, f"{made}\nShown once: keep it safe.", as_json)
