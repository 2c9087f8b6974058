"""discreet operate images: pictures of items, fetched ahead of time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as o
from discreet.cli import show
from discreet.cli.operate import DEFAULT_DATABASE, DatabaseOption, opened_database, say


def images(
    folder: Annotated[Path, typer.Argument(help="Where pictures are kept: serve --images FOLDER.")],
    allow: Annotated[
        list[str],
        typer.Option(metavar="HOST", help="A host that may be asked. May be repeated."),
    ],
    database: DatabaseOption = DEFAULT_DATABASE,
    as_json: o.JsonOption = False,
) -> None:
    """Fetch the pictures that the item table's column `image` names by an address.

    All of them, ahead of time: neither the service nor anybody's browser ever asks another host.

    \b
    Example:
      discreet operate images pictures --allow images.example.org
    """
    opened, _ = opened_database(database)
    from discreet.operate.images import fetch_images

    with show.progress_bar() as progress:
        found = fetch_images(opened, folder, allow, progress=progress)
    text = f"{found.new} pictures fetched; {found.present} were there"
    if found.refused or found.failed:
        text += f"; {found.refused} refused (another host, or no picture), {found.failed} failed"
    say(found._asdict(), f"{text}.", as_json)
