"""Netflix: the prize's original files, mv_*.txt and combined_data_*.txt, and movie_titles.txt.

A file holds a block for each film, "1:" and then lines "1488844,3,2005-09-06": user, stars, day.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import polars as pl

from discreet.errors import DataError
from discreet.readers.archives import is_archive, names_in, naming_errors
from discreet.readers.base import Dialect, Format, RatingsTable

RATING_PATTERNS = ("mv_*.txt", "combined_data_*.txt")
_FOLDERS = (".", "training_set")


def recognises_ratings(path: Path) -> bool:
    """Whether path is a Netflix ratings file, or a folder or archive that holds some."""
    if path.is_dir():
        return bool(_files(path))
    if is_archive(path):
        return bool(_members(path))
    return any(path.match(pattern) for pattern in RATING_PATTERNS)


def recognises_items(path: Path) -> bool:
    """Whether path is movie_titles.txt (or .csv), or a folder that holds it."""
    return path.name.startswith("movie_titles") or _titles_in(path) is not None


def read_ratings(path: Path, dialect: Dialect) -> RatingsTable:
    """The ratings of one file, or of all files of a folder or archive."""
    del dialect
    with naming_errors(path):
        return RatingsTable(_ratings(path))


def _ratings(path: Path) -> pl.DataFrame:
    if path.is_dir():
        return pl.concat([_blocks(file.read_bytes(), file.name) for file in _files(path)])
    if is_archive(path):
        with zipfile.ZipFile(path) as archive:
            return pl.concat([_blocks(archive.read(name), name) for name in _members(path)])
    return _blocks(path.read_bytes(), path.name)


def read_items(path: Path, dialect: Dialect) -> pl.DataFrame:
    """The item table: item, title, year. A title may hold commas; an unknown year is NULL."""
    del dialect
    file = _titles_in(path) or path
    rows = [line.split(",", 2) for line in file.read_text(encoding="latin-1").splitlines() if line]
    for number, row in enumerate(rows, 1):
        if len(row) != 3 or not row[0].isdigit():
            raise DataError(f"{file} line {number} is not 'item,year,title': {','.join(row)!r}")
    return pl.DataFrame(
        {
            "item": [int(row[0]) for row in rows],
            "title": [row[2] for row in rows],
            "year": [int(row[1]) if row[1].isdigit() else None for row in rows],
        },
        schema_overrides={"year": pl.Int16},
    )


def _blocks(raw: bytes, name: str) -> pl.DataFrame:
    """Blocks of "item:" followed by lines "user,rating,date"."""
    lines = pl.read_csv(
        io.BytesIO(raw),
        has_header=False,
        separator="\0",  # none occurs: a line stays whole, because the first has one field only
        schema={"line": pl.String},
        quote_char=None,
    )
    is_heading = pl.col("line").str.ends_with(":")
    fields = pl.col("line").str.split_exact(",", 2).struct
    frame = (
        lines.lazy()
        .with_columns(
            pl.when(is_heading)
            .then(pl.col("line").str.strip_suffix(":").cast(pl.Int32, strict=False))
            .forward_fill()
            .alias("item"),
        )
        .filter(~is_heading)
        .select(
            fields.field("field_0").cast(pl.Int32, strict=False).alias("user"),
            "item",
            fields.field("field_1").cast(pl.Int8, strict=False).alias("rating"),
            fields.field("field_2")
            .str.to_date("%Y-%m-%d", strict=False)
            .dt.epoch("s")
            .alias("timestamp"),
        )
        .collect()
    )
    if frame["item"].null_count():
        raise DataError(f"{name} does not begin with a line such as '1:' that names the film")
    return frame


def _files(folder: Path) -> list[Path]:
    return [
        file
        for pattern in RATING_PATTERNS
        for inner in _FOLDERS
        for file in sorted((folder / inner).glob(pattern))
    ]


def _members(archive: Path) -> list[str]:
    names = sorted(names_in(archive))
    return [n for n in names if any(Path(n).match(pattern) for pattern in RATING_PATTERNS)]


def _titles_in(folder: Path) -> Path | None:
    found = sorted(folder.glob("movie_titles.*")) if folder.is_dir() else []
    return found[0] if found else None


FORMAT = Format(
    read_ratings,
    read_items,
    recognises_ratings=recognises_ratings,
    recognises_items=recognises_items,
    rating_files=RATING_PATTERNS,
)
