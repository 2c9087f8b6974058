"""Tables that an operator has sent: kept for a while, looked into, and imported as understood.

What is looked at are names of columns and the first rows, so that the operator says what is what
before anything is written. Only the owner of this process can read the files.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from starlette.concurrency import run_in_threadpool

from discreet.service.problems import Problem

TABLES = {".csv", ".tsv", ".parquet"}
KEEP_SECONDS = 3600
_TIDY_SECONDS = 60
_PREFIX = "discreet-upload-"
_ROWS = 5
_LONGEST = 40
_SEPARATORS = ("\t", ";", "|", ",")

FIELDS = {
    "items": {
        "item": ("item", "item_id", "id", "movie_id", "movieid", "isbn", "sku", "product"),
        "title": ("title", "name"),
        "year": ("year", "release_year", "published"),
        "genres": ("genres", "genre", "categories", "category"),
        "image": ("image", "cover", "poster", "picture"),
    },
    "ratings": {
        "user": ("user", "user_id", "userid", "customer", "customer_id", "member", "person"),
        "item": ("item", "item_id", "itemid", "movie_id", "movieid", "isbn", "sku", "product"),
        "rating": ("rating", "score", "stars", "value"),
        "epsilon": ("epsilon", "level", "privacy"),
    },
}
"""What a table of each kind is asked for, and by which names its columns are guessed."""
NEEDED = {"items": ("item",), "ratings": ("user", "item", "rating")}


@dataclass(frozen=True)
class Understood:
    """A table as it was understood."""

    columns: list[str]
    rows: list[list[str]]
    guessed: dict[str, str]
    """For every field the column that it may be; empty where there is none."""
    separator: str | None


async def keep_tidy() -> None:
    """Remove what nobody came back for, also if nobody sends another table: it holds ratings."""
    while True:
        await run_in_threadpool(_remove_old)
        await asyncio.sleep(_TIDY_SECONDS)


def _remove_old() -> None:
    for old in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another process was first, or it is somebody else's
            if time.time() - old.stat().st_mtime > KEEP_SECONDS:
                old.unlink()


def keep_place(suffix: str) -> Path:
    """Where a new upload is kept, for an hour."""
    with tempfile.NamedTemporaryFile(prefix=_PREFIX, suffix=suffix, delete=False) as file:
        return Path(file.name)


def understand(table: Path, what: str) -> Understood:
    """What columns a table has, its first rows, and which column is probably what."""
    separator = None if table.suffix == ".parquet" else _separator(table)
    try:
        if separator is None:
            frame = pl.read_parquet(table, n_rows=_ROWS)
        else:
            frame = pl.read_csv(
                table, n_rows=_ROWS, separator=separator, infer_schema=False, encoding="utf8-lossy"
            )
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0].replace(str(table), "the table")
        raise Problem(422, "refused", f"this is no table that can be read: {reason}") from None
    plain = {name.strip().lower(): name for name in frame.columns}
    guessed = {
        field: next((plain[name] for name in names if name in plain), "")
        for field, names in FIELDS[what].items()
    }
    rows = [["" if v is None else str(v)[:_LONGEST] for v in row] for row in frame.iter_rows()]
    return Understood(frame.columns, rows, guessed, separator)


def import_options(what: str, chosen: Mapping[str, str], separator: str) -> list[str]:
    """The command's words for what the operator chose."""
    for field in NEEDED[what]:
        if not chosen.get(field):
            raise Problem(422, "no_column", f"choose the column that holds: {field}")
    words = [
        f"--columns={field}={column}"
        for field, column in chosen.items()
        if column and column != field
    ]
    return [*words, *([f"--separator={separator}"] if separator not in ("", ",") else [])]


def _separator(table: Path) -> str:
    with table.open("rb") as file:
        first = file.readline(100_000).decode("utf-8", "replace")
    return max(_SEPARATORS, key=first.count)
