"""discreet inspect: what a release promises, and what a ledger says was spent."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import show
from discreet.errors import ParameterError


def inspect(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A release folder, or a ledger.")],
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    proof: Annotated[
        bool, typer.Option("--proof", help="The proof that the certificate names, to read here.")
    ] = False,
) -> None:
    """Check a release and show its certificate for a human; or sum up a ledger.

    What a ledger says is for the operator alone.

    \b
    Examples:
      discreet inspect release
      discreet inspect release --proof
      discreet inspect ledger.db
    """
    if json and proof:
        raise ParameterError("--proof shows a page, --json a certificate: choose one")
    if path.is_file():
        if proof:
            raise ParameterError(f"--proof goes with a release: {path} is a file")
        _ledger(path, as_json=json)
        return
    from discreet.privacy import encoding, theorems
    from discreet.release.release import Release

    loaded = Release.load(path)
    if json:
        typer.echo(encoding.write(loaded.certificate), nl=False)
        return
    if proof:
        show.page(theorems.read_proof(loaded.certificate.theorem))
        return
    console = show.console()
    console.print(show.certificate(loaded.certificate))
    console.print(f"\n{show.contents(loaded)} The files match the certificate.")


def _ledger(path: Path, *, as_json: bool) -> None:
    from discreet.publishing.file_ledger import FileLedger

    ledger = FileLedger(path, create=False)
    past = ledger.history(ledger.next_number())
    if as_json:
        found = {
            "releases": [entry._asdict() for entry in ledger.releases()],
            "charged_in_full": ledger.charged_in_full(),
            "restores": [vars(restore) for restore in past.restores],
            "moves": past.moves,
            **ledger.summary(),
        }
        typer.echo(dumps(found, default=str, indent=2))
        return
    console = show.console()
    rows = [
        [str(r.number), r.scheme, r.threshold, r.recorded, r.state, r.digest[:12]]
        for r in ledger.releases()
    ]
    heads = ["release", "scheme", "t", "recorded", "state", "digest"]
    console.print(show.table(None, heads, rows, right=9))
    totals = ledger.summary()
    console.print(
        f"\n{totals['pairs']:.0f} pairs of user and item have spent something: epsilon "
        f"{totals['mean']:.3g} on average, {totals['largest']:.3g} at most; "
        f"delta {totals['largest_delta']:.3g} at most."
    )
    if charged := ledger.charged_in_full():
        console.print(f"{charged} more were charged in full after a restore: none counts again.")
    for restore in past.restores:
        console.print(f"Restored on {restore.day} from a copy that knew release {restore.known}.")
    for day in past.moves:
        console.print(f"Moved on {day}: a copy went on in its place.")
    console.print("Secret: for the operator alone, like the ratings.", style="yellow")
