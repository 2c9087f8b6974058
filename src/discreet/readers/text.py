"""Text tables: a header, then a line for each row, with a separator between its fields."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from discreet.data.columns import named
from discreet.data.names import is_number
from discreet.errors import DataError
from discreet.readers import movielens
from discreet.readers.base import Dialect, Format, RatingsTable
from discreet.readers.delimited import read_plain
from discreet.readers.explain import refuse_long_rows
from discreet.readers.head import Head, is_compressed, look_at, read_bytes

GUESSED_FROM = 10_000
"""Rows from which the types of columns other than ids are guessed; where a later row disagrees, the
table is read once more as text."""

_STRIPPED = pl.col(pl.String).str.strip_chars().replace("", None)
"""Texts without the blanks that somebody set around them; what is nothing else is missing."""
_UNUSED = "\x1f"
"""ASCII's separator of units, which no table of text holds."""


def separated_by(separator: str) -> Format:
    """The format of text tables that this separates, unless the dialect names another."""
    return Format(
        read_ratings=partial(_read_ratings, separator),
        read_items=partial(_read_items, separator),
        scan=partial(_scan, separator),
    )


def _read_ratings(usual: str, path: Path, dialect: Dialect) -> RatingsTable:
    """The quick reader where the file is plain enough for it, else the general one."""
    separator, head = _looked_at(usual, path, dialect)
    frame = _plain_frame(path, separator, head, dialect)
    if frame is not None:
        return RatingsTable(frame, text_ids=True)
    return RatingsTable(_read(path, separator, head, dialect))


def _looked_at(usual: str, path: Path, dialect: Dialect) -> tuple[str, Head]:
    """What separates fields, and the head of the table."""
    head = look_at(path, dialect.separator or usual, dialect.encoding)
    return dialect.separator or head.declared or usual, head


def _read_items(usual: str, path: Path, dialect: Dialect) -> pl.DataFrame:
    return _read(path, *_looked_at(usual, path, dialect), dialect)


def _scan(usual: str, path: Path, dialect: Dialect) -> pl.LazyFrame:
    separator, head = _looked_at(usual, path, dialect)
    if len(separator.encode()) > 1 or not _is_utf8(dialect.encoding):
        raise DataError(
            f"{path}: piece by piece, tables are read in UTF-8 with separators of one character: "
            "read it whole, without --engine stream, or convert it"
        )
    nameless = _without_header(separator, head, dialect)
    table = pl.scan_csv(
        path,
        separator=separator,
        eol_char=head.newline,
        skip_lines=head.skipped,
        has_header=not nameless,
        new_columns=nameless or None,
        schema_overrides=id_types(dialect.names(nameless or head.header)),
        infer_schema_length=GUESSED_FROM,
    )
    return table.with_columns(_STRIPPED)


def id_types(names: Mapping[str, str]) -> dict[str, Any]:
    """The types of a text file's id columns, by the file's names, which `names` maps to ours.

    The type of an id must not depend on what other rows hold, so it is never guessed: ids in a text
    file are text, but MovieLens' own are integers by its format.

    >>> id_types({"customer": "user", "movieId": "item", "rating": "rating"})
    {'customer': String, 'movieId': Int64}
    """
    ids = [theirs for theirs, ours in names.items() if ours in ("user", "item")]
    return {n: pl.Int64() if n in movielens.CSV_HEADER else pl.String() for n in ids}


def _read(path: Path, separator: str, head: Head, dialect: Dialect) -> pl.DataFrame:
    """The general reader; where later rows break what the first ones promised, all is text."""
    source: Path | bytes = path
    nameless = _without_header(separator, head, dialect)
    if len(separator.encode()) > 1:
        source, separator = _with_one_character(path, separator, dialect.encoding), _UNUSED
    elif not _is_utf8(dialect.encoding):
        source = _text(path, dialect.encoding).encode()
    read = partial(
        pl.read_csv,
        source,
        separator=separator,
        eol_char=head.newline,
        skip_lines=head.skipped,
        has_header=not nameless,
        new_columns=nameless or None,
        glob=False,
    )
    types = id_types(dialect.names(nameless or head.header))
    try:
        try:
            found = read(schema_overrides=types, infer_schema_length=GUESSED_FROM)
        except pl.exceptions.ComputeError:
            found = read(infer_schema=False)
        found = found.with_columns(_STRIPPED)
        return named(_without_blanks(found), nameless or head.header)
    except pl.exceptions.NoDataError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        _require_utf8(path, dialect.encoding)
        text = source.decode() if isinstance(source, bytes) else _text(path, dialect.encoding)
        text = "".join(text.splitlines(keepends=True)[head.skipped :])
        refuse_long_rows(path, text, separator, nameless or head.header, dialect.flag("separator"))
        raise


def _without_blanks(frame: pl.DataFrame) -> pl.DataFrame:
    """The table without empty lines, as they stand at the end of what spreadsheets export."""
    if frame.width < 2:  # an empty line is all that a single missing value is written as
        return frame
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def _with_one_character(path: Path, separator: str, encoding: str) -> bytes:
    """A table between whose fields several characters stand, as MovieLens' "::", with one there."""
    text = _text(path, encoding)
    if _UNUSED in text:
        raise DataError(
            f"{path} holds the character U+001F, so {separator!r} cannot separate its fields"
        )
    return text.replace(separator, _UNUSED).encode()


def _without_header(separator: str, head: Head, dialect: Dialect) -> list[str]:
    """The names of the columns of a table without a header; none, where it has one.

    It has none where columns are mapped to their places, user=1; the names then are the places. And
    where several characters stand between fields and the first row holds nothing but numbers, as in
    MovieLens' files: then columns are in their order.
    """
    numbers = all(map(is_number, head.header))
    mapped = list(dialect.columns.values())
    places = [str(k) for k in range(1, len(head.header) + 1)]
    if mapped and set(mapped) <= set(places) and (numbers or not set(mapped) <= set(head.header)):
        return places
    if len(separator) > 1 and numbers:
        return ["user", "item", "rating", "timestamp"][: len(head.header)]
    return []


def _plain_frame(path: Path, separator: str, head: Head, dialect: Dialect) -> pl.DataFrame | None:
    """A large text file of plain numbers; None for any other, and where its ids are ambiguous."""
    if not _is_utf8(dialect.encoding) or is_compressed(path) or len(separator.encode()) > 1:
        return None
    if head.skipped or _without_header(separator, head, dialect):
        return None
    names = dialect.names(head.header)
    needed = set(dialect.columns.values())
    frame = read_plain(path, separator, names, needed, dialect.required)
    if frame is None or movielens.is_movielens_header(frame.columns):
        return frame
    return None if set(frame.columns) & set(movielens.CSV_HEADER) else frame


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("-", "") == "utf8"


def _text(path: Path, encoding: str) -> str:
    """The text of a file."""
    if _is_utf8(encoding):
        _require_utf8(path, encoding)
    try:
        return read_bytes(path).decode(encoding).removeprefix("\ufeff")
    except (LookupError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path} as {encoding!r}: {error}") from None


def _require_utf8(path: Path, encoding: str) -> None:
    """Name the first byte that is not UTF-8, where a file should be: the reader names none."""
    if not _is_utf8(encoding):
        return
    raw = read_bytes(path)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path} is not UTF-8: byte 0x{raw[error.start]:02x} in line {line}; pass its "
            "encoding (encoding='latin-1', --encoding latin-1)"
        ) from None
