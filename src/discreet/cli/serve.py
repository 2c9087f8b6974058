"""discreet serve: the recommender that people talk to."""

from __future__ import annotations

import signal
import socket
import sys
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import parse
from discreet.cli.operate import DEFAULT_DATABASE, DatabaseOption, require_serve
from discreet.cli.serve_options import DoorOptions, LimitOptions
from discreet.errors import MissingExtraError, OutputError, ParameterError

if TYPE_CHECKING:
    from discreet.database.connection import Database
    from discreet.database.declaration import Declaration

DEMO_PERSON = "member-0042"


def serve(
    *,
    database: DatabaseOption = DEFAULT_DATABASE,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="Start with the embedded cinema club, a first release and a demo person, in a "
            "database that is gone afterwards.",
        ),
    ] = False,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any.")] = 8000,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="E,E,...",
            help="Declare the privacy levels on offer, for the database's whole life "
            "(default 0.1,0.3,1).",
        ),
    ] = None,
    default_level: Annotated[
        float | None,
        typer.Option(help="Declare the level of a rating without one (default: the most private)."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="LO:HI", help="Declare the rating scale (default 1:5).")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Declare a delta: releases by Chorus, with hidden factors, not Tally."),
    ] = None,
    publications: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With a delta: declare in how many releases a rating takes part (1): its tallies "
            "are counted once, and it is heard in so many, each time more quietly.",
        ),
    ] = None,
    publish_every: Annotated[
        float | None,
        typer.Option(metavar="HOURS", help="Declare a schedule: the service publishes by itself."),
    ] = None,
    things: Annotated[
        str | None, typer.Option(help="Declare what is rated, for the page (default films).")
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="A folder with pictures of items, named by the item table's column image; others "
            "get a drawn cover.",
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes that answer, on one port.")
    ] = 1,
    limits: LimitOptions,
    doors: DoorOptions,
) -> None:
    """Serve people: they rate, choose a privacy level for each rating, and get recommendations.

    On a new database it declares scale, levels and schedule, once and for all. Put it behind a
    proxy that speaks HTTPS before others use it: docs/service.md.

    \b
    Examples:
      discreet serve --demo
      discreet serve --database club.db --publish-every 24
      DISCREET_DATABASE=postgresql://discreet@db/discreet discreet serve
    """
    require_serve()
    try:
        from discreet.service import logs
        from discreet.service.workers import Serving, Workers, answer
    except ImportError as error:
        raise MissingExtraError(
            f"the service needs {error.name}: pip install 'discreet[serve]'"
        ) from None
    from discreet.database.connection import Database
    from discreet.database.declaration import establish
    from discreet.database.erasures import erase_again

    _ = doors.value, limits.value  # or an error before anything is made
    wanted = declared_words(levels, default_level, scale, delta, publish_every, things)
    if publications is not None:
        wanted["publications"] = publications
    # Before anything is made that must be removed; a closed terminal is a stop, too.
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda *_: sys.exit(0))
    with ExitStack() as stack:
        listening = _listen(host, port, shared=workers > 1)
        stack.callback(listening.close)
        address = _address(listening)
        if demo:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-demo-"))
            database = str(Path(folder) / "demo.db")
        opened = Database(database)
        declared = establish(opened, wanted)
        if demo:
            _fill(opened, declared, address)
        else:
            erase_again(opened)  # who left after the copy was made that this may be
            _welcome_operator(opened, declared, address)
        serving = Serving(
            opened.url.render_as_string(hide_password=False),
            host,
            listening.getsockname()[1],
            doors.value,
            limits.value,
            images,
        )
        opened.close()
        logs.set_up()
        with suppress(KeyboardInterrupt):
            if workers == 1:
                answer(serving, listening)
            else:
                Workers(serving, workers).run()


def declared_words(
    levels: str | None,
    default_level: float | None,
    scale: str | None,
    delta: float | None,
    publish_every: float | None,
    things: str | None,
) -> dict[str, Any]:
    """What was declared on the command line, and nothing else."""
    given: dict[str, Any] = {
        "default_level": default_level,
        "delta": delta,
        "publish_every_hours": publish_every,
        "things": things,
    }
    if levels is not None:
        try:
            given["levels"] = tuple(float(level) for level in levels.split(","))
        except ValueError:
            raise ParameterError(
                f"--levels are numbers with commas between: got {levels!r}"
            ) from None
    if scale is not None:
        given["scale"] = parse.scale_of(scale)
    return {name: value for name, value in given.items() if value is not None}


def _listen(host: str, port: int, *, shared: bool) -> socket.socket:
    from discreet.service.workers import listen

    try:
        return listen(host, port, shared=shared)
    except OSError as error:
        raise OutputError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port"
        ) from None


def _address(listening: Any) -> str:
    host, port = listening.getsockname()[:2]
    if ":" in host:
        host = f"[{host}]"
    return f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"


def _welcome_operator(database: Database, declared: Declaration, address: str) -> None:
    """Say what was declared and where the service is; show the operator's first token."""
    from discreet.database import people

    low, high = declared.scale
    every = declared.publish_every_hours
    what = f"ratings from {low:g} to {high:g}"
    if declared.rules is not None:
        what = f"events ({declared.rules.words})"
    typer.echo(
        f"Declared: {what}; levels "
        f"{', '.join(f'{level:g}' for level in declared.levels)}; delta {declared.delta:g}; "
        + (f"a rating takes part in {n} releases; " if (n := declared.publications) > 1 else "")
        + (f"a release every {every:g} hours." if every else "no schedule of releases."),
        err=True,
    )
    typer.echo(f"Serving on {address}", err=True)
    with database.writing() as connection:
        if people.operator_exists(connection):
            return
        # What is not a terminal may be a log that others read and that is kept.
        shown = sys.stderr.isatty()
        token = people.issue(connection, people.Role.OPERATOR) if shown else None
    how = f"The operator's token, shown this once:\n  {token}\nSign in with it at {address}/signin."
    if token is None:
        how = "There is no operator yet: make a token with 'discreet operate token operator'."
    typer.echo(how, err=True)


def _fill(database: Database, declared: Declaration, address: str) -> None:
    """The cinema club with the paper's levels, a first release, a person and an operator."""
    import numpy as np

    from discreet.cli import show
    from discreet.database import people
    from discreet.operate.assess import assess
    from discreet.operate.imports import add_items, add_ratings
    from discreet.operate.releases import publish
    from discreet.privacy.spec import PrivacySpec
    from discreet.readers.club import LABEL, cinema_club

    typer.echo(f"A database of its own, gone afterwards: the {LABEL}", err=True)
    club = cinema_club()
    # The paper's three groups, each member choosing the nearest level below that is on offer.
    drawn = PrivacySpec.groups(seed=7).levels(club.ratings) * declared.max_level
    place = np.maximum(np.searchsorted(declared.levels, drawn, side="right") - 1, 0)
    members = replace(club.ratings, epsilon=np.array(declared.levels)[place])
    with show.progress_bar() as progress:
        add_items(database, club.items)
        add_ratings(database, declared, members, progress=progress)
        entry, snapshot = publish(database, declared, progress=progress)
    assess(database, declared, snapshot, entry.number)
    with database.writing() as connection:
        person = people.issue(connection, people.Role.PERSON, DEMO_PERSON)
        operator = people.issue(connection, people.Role.OPERATOR)
    typer.echo(
        f"\nServing on {address}\n"
        f"  a member of the club ({DEMO_PERSON}): {address}/signin#{person}\n"
        f"  the operator: {address}/signin#{operator}\n"
        "A link fills in the token; then press Sign in. Stop with Ctrl-C.",
        err=True,
    )
