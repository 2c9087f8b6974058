"""discreet operate declare, takedown: what can be changed later, and what that means."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.access import BY_COMMAND
from discreet.cli.operate import DEFAULT_DATABASE, DatabaseOption, opened_database
from discreet.errors import ParameterError


def declare(
    database: DatabaseOption = DEFAULT_DATABASE,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="E,E,...",
            help="The levels on offer from now on; none above the largest that was declared first.",
        ),
    ] = None,
    default_level: Annotated[
        float | None, typer.Option(help="The level of a rating without one, from now on.")
    ] = None,
    publications: Annotated[
        int | None,
        typer.Option(min=1, help="In how many releases a rating takes part, from now on."),
    ] = None,
    publish_every: Annotated[
        float | None, typer.Option(metavar="HOURS", help="The schedule from now on; 0 for none.")
    ] = None,
    things: Annotated[str | None, typer.Option(help="What is rated, for the page.")] = None,
) -> None:
    """Declare levels, releases or names anew; without an option, show what is declared.

    Ratings keep the levels that they have. Every later certificate names what was changed, and is
    conditional: it rests on your word that the change did not depend on the ratings. Scale, delta
    and the largest level cannot be changed: begin another database.

    \b
    Examples:
      discreet operate declare --database club.db
      discreet operate declare --publish-every 12 --database club.db
    """
    from discreet.cli.serve import declared_words

    opened, declared = opened_database(database)
    from discreet.database.redeclaring import declare_anew

    wanted = declared_words(levels, default_level, None, None, publish_every, things)
    if publications is not None:
        wanted["publications"] = publications
    if wanted:
        declared = declare_anew(opened, wanted, BY_COMMAND)
    low, high = declared.scale
    every = declared.publish_every_hours
    what = "events" if declared.events else f"ratings from {low:g} to {high:g}"
    typer.echo(
        f"Declared: {what} of {declared.things}; levels "
        f"{', '.join(f'{level:g}' for level in declared.levels)}, {declared.usual_level:g} where "
        f"none is said; delta {declared.delta:g}; "
        + (f"a rating takes part in {n} releases; " if (n := declared.publications) > 1 else "")
        + (f"a release every {every:g} hours." if every else "no schedule of releases.")
    )
    for change in declared.changes:
        typer.echo(f"Changed on {change.words}. Later certificates say so.")


def takedown(
    item: Annotated[str, typer.Argument(metavar="ITEM", help="Its id.")],
    database: DatabaseOption = DEFAULT_DATABASE,
    back: Annotated[bool, typer.Option("--back", help="Put it back instead.")] = False,
) -> None:
    """Take an item down: it is no longer shown, listed, rated or counted.

    What was released before has it, with its title, and cannot be recalled; later releases have no
    more of it than its id. Later certificates tell how many items are down.

    \b
    Example:
      discreet operate takedown film-0042 --database club.db
    """
    opened, _ = opened_database(database)
    from discreet.database import acts, catalogue

    act = "put an item back" if back else "take an item down"
    with opened.writing() as connection:
        if not catalogue.take_down(connection, item, back=back):
            state = "is not down" if back else "is down already"
            raise ParameterError(f"item {item!r} {state}: nothing was changed")
        acts.note(connection, BY_COMMAND, act, item)
    typer.echo(
        "It is back: shown, listed, rated and counted again."
        if back
        else "It is down. What was released before has it and cannot be recalled."
    )
