"""Every format by the ending of its files, or by a name: a new one is a file and a line here."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from discreet.errors import DataError
from discreet.readers import movielens, netflix
from discreet.readers.archives import is_container
from discreet.readers.base import Dialect, Format
from discreet.readers.columnar import ARROW, PARQUET, scan_parquet
from discreet.readers.head import ending, read_bytes, told_by_content
from discreet.readers.json_lines import JSON, JSON_LINES
from discreet.readers.text import separated_by

FORMATS: dict[str, Format] = {
    "MovieLens": movielens.FORMAT,
    "Netflix": netflix.FORMAT,
    ".csv": separated_by(","),
    ".tsv": separated_by("\t"),
    ".txt": separated_by("\t"),
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".json": JSON,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".arrow": ARROW,
    ".feather": ARROW,
    ".ipc": ARROW,
}
"""Formats with a recogniser come first: mv_0000001.txt is a file of Netflix, not a plain table."""


def holds_ratings(folder: Path) -> bool:
    """Whether a folder holds ratings in a format that is known by the look of its files."""
    return any(known.recognises_ratings(folder) for known in FORMATS.values())


def holds_items(folder: Path) -> bool:
    """Whether a folder holds an item table likewise."""
    return any(known.recognises_items(folder) for known in FORMATS.values())


def ratings_format(path: Path, separator: str | None = None) -> Format:
    """How the ratings at a path are read.

    >>> ratings_format(Path("ml-100k/u.data")) is FORMATS["MovieLens"]
    True
    >>> ratings_format(Path("ratings.CSV")) is FORMATS[".csv"]
    True
    """
    for known in FORMATS.values():
        if known.recognises_ratings(path):
            return known
    if is_container(path):
        names = [name for known in FORMATS.values() for name in known.rating_files]
        raise DataError(
            f"{path} holds no ratings file known here ({', '.join(names)}); "
            "give the path of a table"
        )
    return _format_by_ending(path, separator)


def items_format(path: Path, separator: str | None = None) -> Format:
    """How the item table at a path is read."""
    for known in FORMATS.values():
        if known.recognises_items(path):
            return known
    return _format_by_ending(path, separator, "--item-separator")


def scan_ratings(path: Path, dialect: Dialect) -> pl.LazyFrame:
    """The ratings at a path, to be read piece by piece: as Parquet where nothing says otherwise."""
    recognised = (known for known in FORMATS.values() if known.recognises_ratings(path))
    known = next(recognised, _text_or(PARQUET, path, dialect.separator))
    return (known.scan or scan_parquet)(path, dialect)


def scanned_endings() -> list[str]:
    """Endings of the files that the stream engine reads besides Parquet."""
    return [
        ending
        for ending, known in FORMATS.items()
        if known.scan is not None and known is not PARQUET
    ]


def _text_or(other: Format, path: Path, separator: str | None) -> Format:
    """The format by the ending; a file that a separator is given for is a text table."""
    usual = other if separator is None else separated_by(separator)
    return FORMATS.get(ending(path), usual)


def _format_by_ending(path: Path, separator: str | None, flag: str = "--separator") -> Format:
    if separator == "":
        raise DataError("a separator must be at least one character: got ''")
    if separator is None and ending(path) not in FORMATS:
        told = told_by_content(read_bytes(path, 16)) if path.is_file() else None
        if told is not None:
            raise DataError(f"{path} is {told}")
        endings = [name for name in FORMATS if name.startswith(".")]
        raise DataError(
            f"{path}: cannot tell the format from the name; use one of {', '.join(endings)} (and "
            ".gz or .zst after it), or say what separates the fields of a text table "
            f"(separator=',', {flag} ,)"
        )
    return _text_or(PARQUET, path, separator)
