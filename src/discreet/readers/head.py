"""The head of a text file: how its lines end and what its columns are called; gzip and zstd too."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from pathlib import Path
from typing import NamedTuple

import polars as pl

from discreet.data.columns import refuse_doubles
from discreet.data.names import is_number
from discreet.errors import DataError

COMPRESSED = (".gz", ".zst")
_LOOKED_AT = 1 << 16
_LINE_END = re.compile(rb"[\r\n]")
_OTHERS = {
    b"PK\x03\x04": "an Excel workbook or another archive: save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel workbook: save the sheet as CSV",
    b"PAR1": "a Parquet file: give it the ending .parquet",
    b"ARROW1": "an Arrow file: give it the ending .arrow",
    b"SQLite format 3": "a database: export the table as CSV",
    b"\x1f\x8b": "compressed by gzip: give it the ending .gz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: give it the ending .zst",
    b"%PDF": "a PDF: export the table as CSV",
    b"<!DOCTYPE": "a web page: download the table itself",
    b"<html": "a web page: download the table itself",
    b"<?xml": "XML: export the table as CSV",
    b"INSERT INTO": "a dump of a database: export the table as CSV",
}
"""What other files begin with, and what to do about them."""


def told_by_content(begins: bytes) -> str | None:
    """What a file is that begins so, and what to do about it; None where it may be text."""
    return next((told for mark, told in _OTHERS.items() if begins.startswith(mark)), None)


_DECLARED = re.compile(r'\ufeff?"?sep=(.)"?;*,*[\r\n]+')
"""A first line that tells Excel, and whoever else reads it, what separates fields."""


class Head(NamedTuple):
    """What the first lines of a table tell."""

    header: list[str]
    """The names of its columns, as far as they can be told."""
    newline: str
    """The character that ends a line: a carriage return alone where old programs wrote it."""
    declared: str | None = None
    """The separator that a line before the header declares, as Excel writes it."""

    @property
    def skipped(self) -> int:
        """How many lines stand before the header."""
        return int(self.declared is not None)


def ending(path: Path) -> str:
    """The ending that tells the format, in small letters: that of the file within, if compressed.

    >>> ending(Path("ratings.CSV")), ending(Path("ratings.csv.gz"))
    ('.csv', '.csv')
    """
    name = path.with_suffix("") if is_compressed(path) else path
    return name.suffix.lower()


def is_compressed(path: Path) -> bool:
    """Whether a path is named as compressed by gzip or zstd."""
    return path.suffix.lower() in COMPRESSED


def read_bytes(path: Path, count: int = -1) -> bytes:
    """The bytes of a file, or its first ones; without their compression."""
    if not is_compressed(path):
        with path.open("rb") as file:
            return file.read(count)
    try:
        if path.suffix.lower() == ".gz":
            with gzip.open(path) as packed:
                return packed.read(count)
        # Python unpacks zstd from 3.14 on; Polars does in all versions, line by line.
        lines = pl.read_lines(path, n_rows=None if count < 0 else 2)["line"]
        return "\n".join([*lines, ""]).encode()
    except (EOFError, OSError, zlib.error, pl.exceptions.PolarsError) as error:
        told = (str(error).splitlines() or ["it ends too early"])[0]
        raise DataError(
            f"{path} cannot be unpacked: {told}; check that it is whole, and its ending"
        ) from None


def look_at(path: Path, separator: str, encoding: str) -> Head:
    """The head of a text table; an error for what is none, or calls two columns alike."""
    raw = _first_lines(path)
    if (told := told_by_content(raw)) is not None:
        raise DataError(f"{path} is {told}")
    if encoding.lower().startswith("utf") and "8" in encoding and b"\0" in raw:
        likely = _sixteen_bits(raw)
        remedy = f"pass encoding={likely!r} (--encoding {likely})" if likely else "is it a table?"
        raise DataError(f"{path} holds zero bytes, which no UTF-8 table has: {remedy}")
    try:
        text = raw.decode(encoding, errors="replace").removeprefix("\ufeff")
    except LookupError as error:
        raise DataError(f"cannot read {path} as {encoding!r}: {error}") from None
    declared = _DECLARED.match(text)
    if declared is not None:
        text, separator = text[declared.end() :], declared[1]
    header = _fields(text, separator)
    if len(header) == 1 and header[0].startswith("#"):
        raise DataError(
            f"{path}: the first line must name the columns: got {header[0][:40]!r}; remove the "
            "comment"
        )
    if not all(map(is_number, header)):  # else it is no header
        refuse_doubles([name for name in header if name])
    newline = "\r" if "\r" in text and "\n" not in text else "\n"
    return Head(header, newline, declared and separator)


def _first_lines(path: Path) -> bytes:
    """The first bytes of a file, at least to the end of its first line."""
    count = _LOOKED_AT
    while len(raw := read_bytes(path, count)) == count and not _LINE_END.search(raw):
        count *= 16
    return raw


def _sixteen_bits(raw: bytes) -> str | None:
    """The encoding of a text that holds zero bytes, if it may be one of two bytes a character."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    some = raw[: len(raw) // 2 * 2]
    for encoding, zeros, others in (
        ("utf-16-le", some[1::2], some[::2]),
        ("utf-16-be", some[::2], some[1::2]),
    ):
        if 2 * zeros.count(0) > len(zeros) and 0 not in others:
            return encoding
    return None


def _fields(text: str, separator: str) -> list[str]:
    lines = io.StringIO(text, newline=None)  # whatever ends a line
    if len(separator.encode()) > 1:
        return lines.readline().removesuffix("\n").split(separator)
    try:
        return next(csv.reader(lines, delimiter=separator), [])
    except csv.Error:
        return []
