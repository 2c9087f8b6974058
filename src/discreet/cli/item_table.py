"""An item table on the command line: what each of its columns will be used for, and why."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discreet.cli import parse, show
from discreet.cli.bundles import TextTable

if TYPE_CHECKING:
    from discreet.data.column_use import Use

_SQLITE = b"SQLite format 3\0"
_WIDEST_NAME = 24
"""A longer column name is folded, so that the reasons keep half of a terminal's 80 columns."""


def is_one(path: Path) -> bool:
    """Whether a path, or the name of a data set, means an item table: no release, no ledger."""
    from discreet.errors import DataError
    from discreet.readers.datasets import DATA_SETS
    from discreet.readers.formats import holds_items, items_format

    if path.is_dir():
        return holds_items(path)
    if not path.exists():
        return str(path) in DATA_SETS
    try:
        with path.open("rb") as file:
            begins = file.read(len(_SQLITE))
        return begins != _SQLITE and items_format(path) is not None
    except (DataError, OSError):
        return False


def show_uses(
    source: str,
    families: Sequence[str] | None,
    public_columns: Sequence[str] | None,
    columns: list[str] | None,
    text: TextTable,
    *,
    as_json: bool,
) -> None:
    """Print the use of every column, and that all columns are published."""
    from discreet.data.uses import decide_uses
    from discreet.readers.datasets import load_items

    items = load_items(
        source,
        parse.mapping(columns),
        public_columns=public_columns or (),
        separator=text.delimiter,
        encoding=text.encoding,
    )
    uses = decide_uses(items, tuple(families) if families else None)
    if as_json:
        typer.echo(dumps([_as_json(use) for use in uses], ensure_ascii=False, indent=2))
        return
    console = show.console()
    console.print(show.uses(uses, _WIDEST_NAME), soft_wrap=False)
    sentences = [
        f"{len(items):,} items give {_count(uses)}.",
        "Every column is published with each release, also one that is left out: "
        f"{', '.join(items.frame.columns)}. Remove from the table what must not be public.",
    ]
    if items.left_out:
        names = ", ".join(items.left_out)
        sentences.append(f"Not published: {names}.")
    if "title" not in items.frame.columns:
        sentences.append("No column is the title: if one is, say --item-columns title=NAME.")
    console.print("\n" + " ".join(sentences), soft_wrap=False)


def _as_json(use: Use) -> dict[str, object]:
    return {
        "column": use.column,
        "holds": use.kind,
        "used_as": use.role,
        "why": use.why,
        "features": [*use.numbers, *use.flags, *use.families],
        "published": use.published,
    }


def _count(uses: Sequence[Use]) -> str:
    """How many features there are of each form."""
    from discreet.data.numbers import told_count

    counts = {
        "number": sum(len(use.numbers) for use in uses),
        "flag": sum(len(use.flags) for use in uses),
        "grouping": sum(len(use.families) for use in uses),
    }
    *some, last = [told_count(n, name) for name, n in counts.items() if n] or ["no feature"]
    return f"{', '.join(some)} and {last}" if some else last
