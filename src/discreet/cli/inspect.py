"""discreet inspect: what a release promises, what a ledger says was spent, how items are used."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import item_table, show
from discreet.cli import options as o
from discreet.cli.bundles import ItemText
from discreet.errors import DataMissingError, ParameterError


def inspect(
    *,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="A release folder, an item table (or a data set's), or a ledger."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    proof: Annotated[
        bool, typer.Option("--proof", help="The proof that the certificate names, to read here.")
    ] = False,
    family: o.FamilyOption = None,
    public_column: o.PublicColumnsOption = None,
    columns: o.EitherColumnsOption = None,
    text: ItemText,
) -> None:
    """Check a release and show its certificate for a human; say what each column of an item table
    will be used for, and why; or sum up a ledger.

    What a ledger says is for the operator alone.

    \b
    Examples:
      discreet inspect release
      discreet inspect release --proof
      discreet inspect items.csv
      discreet inspect items.csv --item-columns item=ean --item-separator ";"
      discreet inspect items.csv --family series --public-column popularity
      discreet inspect ledger.db
    """
    if json and proof:
        raise ParameterError("--proof shows a page, --json a certificate: choose one")
    if proof and path.is_file():
        raise ParameterError(f"--proof goes with a release: {path} is a file")
    if (text.separator is not None or item_table.is_one(path)) and not proof:
        item_table.show_uses(str(path), family, public_column, columns, text, as_json=json)
        return
    if not path.exists():
        raise DataMissingError(f"no file or folder {path}: check the path")
    if family or public_column or columns:
        raise ParameterError(
            f"--family, --public-column and --item-columns go with an item table: {path} is none"
        )
    if path.is_file():
        _ledger(path, as_json=json)
        return
    from discreet.privacy import encoding as certificates
    from discreet.privacy import theorems
    from discreet.release.release import Release

    loaded = Release.load(path)
    if json:
        typer.echo(certificates.write(loaded.certificate), nl=False)
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
            "pure_share": ledger.share,
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
    console.print(f"\n{show.spent(ledger.summary(), ledger.share)}")
    if charged := ledger.charged_in_full():
        console.print(f"{charged} more were charged in full after a restore: none counts again.")
    for restore in past.restores:
        console.print(f"Restored on {restore.day} from a copy that knew release {restore.known}.")
    for day in past.moves:
        console.print(f"Moved on {day}: a copy went on in its place.")
    console.print("Secret: for the operator alone, like the ratings.", style="yellow")
