"""discreet inspect: what a release promises."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import show


def inspect(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")],
    json: Annotated[bool, typer.Option("--json", help="The certificate as JSON.")] = False,
) -> None:
    """Check a release and show its certificate for a human.

    \b
    Example:
      discreet inspect release
    """
    from discreet.release import Release

    loaded = Release.load(release)
    if json:
        typer.echo(loaded.certificate.to_json(), nl=False)
        return
    console = show.console()
    console.print(show.certificate(loaded.certificate))
    console.print(
        f"\n{len(loaded.items)} items in the catalogue, {loaded.item_factors.shape[1]} factors "
        f"each, ratings {loaded.scale}. The files match the certificate."
    )
