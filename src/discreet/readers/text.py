"""Text tables: a header, then a line for each row, its fields separated by one character."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import DataError
from discreet.readers import movielens
from discreet.readers.base import Dialect, Format, RatingsTable
from discreet.readers.delimited import read_plain

GUESSED_FROM = 10_000
"""Rows from which the types of columns other than ids are guessed; where a later row disagrees, the
table is read once more as text."""


def separated_by(separator: str) -> Format:
    """The format of text tables that this character separates, unless the dialect names another."""
    return Format(
        read_ratings=partial(_read_ratings, separator),
        read_items=partial(_read_items, separator),
        scan=partial(_scan, separator),
    )


def _read_ratings(usual: str, path: Path, dialect: Dialect) -> RatingsTable:
    """The quick reader where the file is plain enough for it, else the general one."""
    separator = dialect.separator or usual
    frame = _plain_frame(path, separator, dialect)
    if frame is not None:
        return RatingsTable(frame, text_ids=True)
    return RatingsTable(_read(path, separator, dialect))


def _read_items(usual: str, path: Path, dialect: Dialect) -> pl.DataFrame:
    return _read(path, dialect.separator or usual, dialect)


def _scan(usual: str, path: Path, dialect: Dialect) -> pl.LazyFrame:
    return pl.scan_csv(
        path,
        separator=dialect.separator or usual,
        schema_overrides=id_types(dialect.names),
        infer_schema_length=GUESSED_FROM,
    )


def id_types(names: Mapping[str, str]) -> dict[str, Any]:
    """The types of a text file's id columns, by the file's names, which `names` maps to ours.

    The type of an id must not depend on what other rows hold, so it is never guessed: ids in a text
    file are text, but MovieLens' own are integers by its format.

    >>> id_types({"customer": "user", "item": "item", "rating": "rating"})
    {'customer': String, 'item': String, 'userId': Int64, 'movieId': Int64}
    """
    ids = [theirs for theirs, ours in names.items() if ours in ("user", "item")]
    return {name: pl.String() for name in ids} | {name: pl.Int64() for name in movielens.CSV_HEADER}


def _read(path: Path, separator: str, dialect: Dialect) -> pl.DataFrame:
    """The general reader; where later rows break what the first ones promised, all is text."""
    encoding = dialect.encoding
    read = partial(
        pl.read_csv,
        path if _is_utf8(encoding) else _as_utf8(path, encoding),
        separator=separator,
        schema_overrides=id_types(dialect.names),
        glob=False,
    )
    try:
        try:
            return read(infer_schema_length=GUESSED_FROM)
        except pl.exceptions.ComputeError:
            return read(infer_schema=False)
    except pl.exceptions.NoDataError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        _require_utf8(path, encoding)
        raise


def _plain_frame(path: Path, separator: str, dialect: Dialect) -> pl.DataFrame | None:
    """A large text file of plain numbers; None for any other, and where its ids are ambiguous."""
    if not _is_utf8(dialect.encoding):
        return None
    names = dialect.names | movielens.CSV_HEADER
    needed = set(dialect.columns.values())
    frame = read_plain(path, separator, names, needed, dialect.required)
    if frame is None or movielens.is_movielens_header(frame.columns):
        return frame
    return None if set(frame.columns) & set(movielens.CSV_HEADER) else frame


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("-", "") == "utf8"


def _as_utf8(path: Path, encoding: str) -> bytes:
    """The text of a file in another encoding."""
    try:
        return path.read_text(encoding=encoding).encode("utf-8")
    except (LookupError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path} as {encoding!r}: {error}") from None


def _require_utf8(path: Path, encoding: str) -> None:
    """Name the first byte that is not UTF-8, where a file should be: the reader names none."""
    if not _is_utf8(encoding):
        return
    raw = path.read_bytes()
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path} is not UTF-8: byte 0x{raw[error.start]:02x} in line {line}; pass its "
            "encoding (encoding='latin-1', --encoding latin-1)"
        ) from None
