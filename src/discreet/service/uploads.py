"""Tables that an operator has sent: kept for a while, looked into, and imported as understood.

What is looked at are names of columns and the first rows, so that the operator says what is what
before anything is written. Only the owner of this process can read the files.
"""

from __future__ import annotations

import asyncio
import codecs
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from starlette.concurrency import run_in_threadpool

from discreet.data.event_rules import EventRules
from discreet.service.problems import Problem

TABLES = {".csv", ".tsv", ".parquet"}
KEEP_SECONDS = 3600
_TIDY_SECONDS = 60
_PREFIX = "discreet-upload-"
_ROWS = 5
_LONGEST = 40
_HEAD = 1 << 16
"""Bytes from which columns, separator and encoding are told."""
_SEPARATORS = ("\t", ";", "|", ",")

_ITEM = ("item", "item_id", "itemid", "id", "movie_id", "movieid", "isbn", "sku", "product")
_USER = ("user", "user_id", "userid", "customer", "customer_id", "member", "person")
_LEVEL = ("epsilon", "level", "privacy")
_WHEN = ("timestamp", "time", "date")
FIELDS = {
    "items": {
        "item": _ITEM,
        "title": ("title", "name"),
        "year": ("year", "release_year", "published"),
        "genres": ("genres", "genre", "categories", "category"),
        "image": ("image", "cover", "poster", "picture"),
    },
    "ratings": {
        "user": _USER,
        "item": _ITEM,
        "rating": ("rating", "score", "stars", "value"),
        "epsilon": _LEVEL,
        "timestamp": _WHEN,
    },
    "events": {
        "user": _USER,
        "item": _ITEM,
        "weight": ("weight", "quantity", "count", "plays", "hours", "minutes", "amount"),
        "epsilon": _LEVEL,
        "timestamp": _WHEN,
    },
}
"""What a table of each kind is asked for, and by which names its columns are guessed."""
_NEEDED = {"items": ("item",), "ratings": ("user", "item", "rating"), "events": ("user", "item")}
UTF8 = "utf-8"
ENCODINGS = {
    UTF8: "Unicode (UTF-8)",
    "utf-16": "Unicode (UTF-16)",
    "windows-1252": "Western (Windows-1252)",
    "latin-1": "Western (ISO 8859-1)",
    "windows-1250": "Central European (Windows-1250)",
    "windows-1251": "Cyrillic (Windows-1251)",
    "shift_jis": "Japanese (Shift JIS)",
    "gb18030": "Chinese (GB 18030)",
    "big5": "Chinese (Big5)",
    "euc-kr": "Korean (EUC-KR)",
}
"""In which a text table may be written, and what people call them."""


def fields_of(what: str, rules: EventRules | None) -> dict[str, tuple[str, ...]]:
    """What a table is asked for where these rules of events were declared."""
    known = dict(FIELDS[what])
    if rules is not None and rules.quantity is None:
        known.pop("weight", None)
    return known


def needed(what: str, rules: EventRules | None) -> tuple[str, ...]:
    """The columns without which nothing can be imported."""
    more = []
    if what == "events" and rules is not None:
        more += ["weight"] if rules.quantity is not None and rules.repeats != "sum" else []
        more += ["timestamp"] if rules.repeats == "last" else []
    return (*_NEEDED[what], *more)


@dataclass(frozen=True)
class Reading:
    """How an operator says that a table is to be read."""

    what: str
    columns: Mapping[str, str]
    """For every field the column that it is; empty where there is none."""
    needed: tuple[str, ...]
    separator: str = ""
    encoding: str = UTF8
    keep_last: bool = False
    """Of several ratings of one pair, the latest."""
    vouched: tuple[str, ...] = ()
    """Columns of an item table that look derived from ratings, and are public all the same."""

    @property
    def options(self) -> list[str]:
        """As the command takes them; a problem where a column is missing."""
        for field in self.needed:
            if not self.columns.get(field):
                raise Problem(422, "no_column", f"choose the column that holds: {field}")
        if self.keep_last and not self.columns.get("timestamp"):
            raise Problem(
                422, "no_column", "to keep the latest, choose the column that holds: timestamp"
            )
        words = [
            f"--columns={field}={column}"
            for field, column in self.columns.items()
            if column and column != field
        ]
        words += [f"--separator={self.separator}"] if self.separator not in ("", ",") else []
        words += [f"--encoding={self.encoding}"] if self.encoding != UTF8 else []
        words += ["--keep=last"] if self.keep_last else []
        return [*words, *(f"--public-column={name}" for name in self.vouched)]


@dataclass(frozen=True)
class Understood:
    """A table as it was understood."""

    columns: list[str]
    rows: list[list[str]]
    guessed: dict[str, str]
    """For every field the column that it may be; empty where there is none."""
    separator: str
    encoding: str
    """Empty where the table is no text."""


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


def understand(
    table: Path, fields: Mapping[str, tuple[str, ...]], encoding: str = ""
) -> Understood:
    """What columns a table has, its first rows, and which column is probably what."""
    separator = ""
    try:
        if table.suffix == ".parquet":
            frame = pl.read_parquet(table, n_rows=_ROWS)
        else:
            with table.open("rb") as file:
                head = file.read(_HEAD)
            encoding = encoding or _encoding(head)
            text = head.decode(encoding, "replace").removeprefix("\ufeff")
            separator = max(_SEPARATORS, key=text.split("\n", 1)[0].count)
            frame = _first_rows(text, separator)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0].replace(str(table), "the table")
        raise Problem(422, "refused", f"this is no table that can be read: {reason}") from None
    plain = {name.strip().lower(): name for name in frame.columns}
    guessed = {
        field: next((plain[name] for name in names if name in plain), "")
        for field, names in fields.items()
    }
    rows = [["" if v is None else str(v)[:_LONGEST] for v in row] for row in frame.iter_rows()]
    return Understood(frame.columns, rows, guessed, separator, encoding)


def _first_rows(text: str, separator: str) -> pl.DataFrame:
    """What was read may end within a row: of a long table that one is not shown."""
    return pl.read_csv(
        text.encode("utf-8", "replace"),
        n_rows=_ROWS,
        separator=separator,
        infer_schema=False,
        truncate_ragged_lines=True,
    )


def _encoding(head: bytes) -> str:
    """UTF-8 where it can be; else what most tables are that are not."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    try:
        codecs.getincrementaldecoder(UTF8)().decode(head)
    except UnicodeDecodeError:
        return "windows-1252"
    return UTF8
