"""discreet ledger: what is declared about a ledger's file that was restored or moved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as o
from discreet.cli.bundles import Reading, unbundled
from discreet.cli.groups import Group
from discreet.cli.operate import MOVED, NOT_MOVED

LedgerArgument = Annotated[
    Path, typer.Argument(metavar="LEDGER", help="The ledger's file; `discreet inspect` shows it.")
]
app = typer.Typer(
    help="Declare what happened to a ledger's file, where publishing is refused until you do.",
    cls=Group,
    no_args_is_help=True,
)


@app.command("restored")
@unbundled
def restored(
    *,
    path: LedgerArgument,
    ratings: o.RatingsArgument,
    after: Annotated[
        int, typer.Option(min=0, metavar="N", help="The latest release's number, if you know it.")
    ] = 0,
    reading: Reading,
) -> None:
    """After restoring an older copy: charge every rating in full, and go on.

    The copy has forgotten what releases since have spent. No rating in it or in RATINGS, the table
    that you publish, will be counted again; new ones will, also what was lost and is given again:
    every later certificate says so. The release folder must hold the latest release that the copy
    knows.

    \b
    Example:
      discreet ledger restored ledger.db ratings.parquet
    """
    from discreet.publishing.file_ledger import FileLedger

    ledger = FileLedger(path, create=False)
    # Which pairs there are is all that matters here, not what an event counts.
    pairs = ledger.restored(reading.load(ratings), after)
    typer.echo(
        f"{pairs} ratings are charged in full, and later certificates name this restore. Ratings "
        f"that {ratings} does not hold, and that were counted since the copy was made, would be "
        "counted again: if there is a newer table, say the same of that one too. Then put back "
        "into the release folder the latest release that this ledger knows, and publish."
    )


@app.command("moved")
def moved(path: LedgerArgument) -> None:
    """After moving the file: declare this copy the one that goes on publishing.

    Say it only of the latest state, from which nothing was published since anywhere else, nor
    will be. Your word is named in every later certificate.

    \b
    Example:
      discreet ledger moved ledger.db
    """
    from discreet.publishing.file_ledger import FileLedger

    typer.echo(MOVED if FileLedger(path, create=False).moved() else NOT_MOVED)
