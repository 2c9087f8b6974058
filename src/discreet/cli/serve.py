"""discreet serve: the recommender that people talk to."""

from __future__ import annotations

import signal
import sys
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import parse
from discreet.cli.operate import DEFAULT_DATABASE, DatabaseOption, require_serve
from discreet.errors import MissingExtraError, OutputError, ParameterError

if TYPE_CHECKING:
    from discreet.database.connection import Database
    from discreet.database.declaration import Declaration

DEMO_PERSON = "member-0042"


def serve(
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
    publish_every: Annotated[
        float | None,
        typer.Option(metavar="HOURS", help="Declare a schedule: the service publishes by itself."),
    ] = None,
    things: Annotated[
        str | None, typer.Option(help="Declare what is rated, for the page (default films).")
    ] = None,
    trusted_proxy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A proxy in front, whose word about where a request comes from, and whether by "
            "HTTPS, is taken.",
        ),
    ] = None,
    invited_only: Annotated[
        bool,
        typer.Option("--invited-only", help="Nobody can join without a token of the operator's."),
    ] = False,
) -> None:
    """Serve people: they rate, choose a privacy level for each rating, and get recommendations.

    On a new database it declares scale, levels and schedule, once and for all. Put it behind a
    proxy that speaks HTTPS before others use it: docs/service.md.

    \b
    Examples:
      discreet serve --demo
      discreet serve --database club.db --publish-every 24
      DISCREET_DATABASE=postgresql://discreet@db/discreet discreet serve --host 0.0.0.0
    """
    require_serve()
    try:
        import uvicorn

        from discreet.service import logs
        from discreet.service.app import create_app
    except ImportError as error:
        raise MissingExtraError(
            f"the service needs {error.name}: pip install 'discreet[serve]'"
        ) from None
    from discreet.database.connection import Database
    from discreet.database.declaration import establish
    from discreet.database.erasures import erase_again

    _check_proxy(trusted_proxy)
    wanted = declared_words(levels, default_level, scale, delta, publish_every, things)
    # Before anything is made that must be removed; a closed terminal is a stop, too.
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda *_: sys.exit(0))
    with ExitStack() as stack:
        listening = _listen(host, port)
        stack.callback(listening.close)
        address = _address(listening)
        if demo:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-demo-"))
            database = str(Path(folder) / "demo.db")
        opened = Database(database)
        declared = establish(opened, wanted)
        _require_ratings(declared)
        if demo:
            _fill(opened, declared, address)
        else:
            erase_again(opened)  # who left after the copy was made that this may be
            _welcome_operator(opened, declared, address)
        logs.set_up()
        app = create_app(opened, declared, open_to_all=not invited_only)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            http="h11",  # the parser that bounds the size of headers
            proxy_headers=trusted_proxy is not None,
            forwarded_allow_ips=trusted_proxy or "",
            timeout_graceful_shutdown=20,
            timeout_keep_alive=30,
            limit_concurrency=10_000,
        )
        # Uvicorn stops gracefully, then passes the signal on to the handlers from above.
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def _require_ratings(declared: Declaration) -> None:
    """An error for a database of events: the pages ask people for ratings."""
    if declared.events:
        raise ParameterError(
            "this database holds events, and the service's pages ask for ratings: import with "
            "'discreet operate events', publish with 'discreet operate publish', take the release "
            "out with 'discreet operate export', and recommend from it where your people are"
        )


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


def _listen(host: str, port: int) -> Any:
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise OutputError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port"
        ) from None
    return listening


def _address(listening: Any) -> str:
    host, port = listening.getsockname()[:2]
    if ":" in host:
        host = f"[{host}]"
    return f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"


def _check_proxy(address: str | None) -> None:
    from ipaddress import ip_network

    try:
        ip_network(address or "127.0.0.1")
    except ValueError:
        raise ParameterError(
            f"--trusted-proxy is an address or a network, such as 10.0.0.5: got {address!r}"
        ) from None


def _welcome_operator(database: Database, declared: Declaration, address: str) -> None:
    """Say what was declared and where the service is; show the operator's first token."""
    from discreet.database import people

    low, high = declared.scale
    every = declared.publish_every_hours
    typer.echo(
        f"Declared for this database's whole life: ratings from {low:g} to {high:g}; levels "
        f"{', '.join(f'{level:g}' for level in declared.levels)}; delta {declared.delta:g}; "
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
