"""Tables: CSV, TSV, Parquet and Arrow files, and the original formats by the look of the path."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl

from discreet.data.columns import COLUMNS
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.errors import DataError, DataMissingError
from discreet.readers import movielens, netflix
from discreet.readers.delimited import read_plain

DELIMITED = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
DEFAULT_SCALE = RatingScale(1, 5)


def read_ratings(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    scale: RatingScale | tuple[float, float] | None = None,
    keep: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Ratings:
    """Read a ratings table.

    `path` is a CSV, TSV, Parquet or Arrow file, a MovieLens file, folder or official archive, or a
    Netflix file, folder or archive. `scale` defaults to the format's own, else 1..5; `keep="last"`
    resolves duplicate pairs by timestamp.
    """
    source = _existing(path)
    found = _ratings_frame(source, separator, encoding, columns or {})
    try:
        return Ratings.from_frame(
            found.frame, columns, scale=scale or found.scale, keep=keep, text_ids=found.text_ids
        )
    except DataError as error:
        raise DataError(f"{source}: {error}{_delimiter_hint(found.frame)}") from None


def read_people(
    path: str | Path,
    scale: RatingScale,
    columns: Mapping[str, str] | None = None,
    *,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Ratings:
    """People's own ratings for fold-in: item and rating, and user where there are several."""
    source, mapped = _existing(path), columns or {}
    frame, _, text_ids = _ratings_frame(source, separator, encoding, mapped)
    if frame.width > 1 and mapped.get("user", "user") not in frame.columns:
        frame = frame.with_columns(pl.lit("you").alias("user"))
    try:
        return Ratings.from_frame(frame, mapped, scale=scale, text_ids=text_ids)
    except DataError as error:
        raise DataError(f"{source}: {error}{_delimiter_hint(frame)}") from None


def read_items(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    public_columns: Iterable[str] = (),
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Items:
    """Read a public item table: item, and any of title, year, genres, numbers.

    Genres may be a list, or text with "|" between; the original MovieLens and Netflix item files
    are read as they are. `columns` maps our names to the file's. Columns that look derived from
    ratings are left out, unless `public_columns` vouches for them (by our names).
    """
    source = _existing(path)
    frame = (
        movielens.read_items(source)
        if movielens.recognises_items(source)
        else netflix.read_titles(source)
        if netflix.recognises_titles(source)
        else read_table(source, separator, encoding, _id_types(columns or {}))
    )
    renames = {theirs: ours for ours, theirs in (columns or {}).items()}
    missing = [name for name in renames if name not in frame.columns]
    if missing:
        raise DataError(
            f"{source}: no column {missing[0]!r} in the item table: it has "
            f"{', '.join(map(repr, frame.columns))}"
        )
    frame = frame.rename(renames)
    if frame.schema.get("genres") == pl.String:
        frame = frame.with_columns(movielens.split_genres(pl.col("genres")))
    try:
        return Items.from_frame(frame, public_columns=public_columns)
    except DataError as error:
        raise DataError(f"{source}: {error}{_delimiter_hint(frame)}") from None


def read_table(
    path: Path,
    separator: str | None,
    encoding: str,
    ids: Mapping[str, pl.DataType] | None = None,
    *,
    any_text: bool = False,
) -> pl.DataFrame:
    """Any delimited, Parquet or Arrow file as a frame.

    `ids` are the types of a text file's id columns: the type of an id must not depend on what
    other rows hold, so it is never guessed from them. With `any_text`, columns that later rows
    make something else of than the first rows promised are text.
    """
    suffix = path.suffix.lower()
    if separator is not None and len(separator.encode()) != 1:
        raise DataError(f"a separator must be one character: got {separator!r}")
    try:
        if suffix in PARQUET:
            return pl.read_parquet(path)
        if suffix in ARROW:
            return pl.read_ipc(path)
        if suffix not in DELIMITED and separator is None:
            raise DataError(
                f"{path}: cannot tell the format from the name; use one of "
                f"{', '.join([*DELIMITED, *PARQUET, *ARROW])}, or pass separator="
            )
        read = partial(
            pl.read_csv,
            path if _is_utf8(encoding) else _as_utf8(path, encoding),
            separator=separator or DELIMITED[suffix],
            schema_overrides=dict(ids or {}),
            glob=False,
        )
        try:
            return read(infer_schema_length=10_000)
        except pl.exceptions.ComputeError:
            if not any_text:
                raise
            return read(infer_schema=False)
    except pl.exceptions.NoDataError:
        raise DataError(f"{path} is empty: it needs a header and at least one row") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if suffix not in (*PARQUET, *ARROW):
            _require_utf8(path, encoding)
        raise DataError(
            f"{path} is not a readable {suffix or 'delimited'} table: "
            f"{str(error).splitlines()[0]}; check that it is whole, its delimiter, and that all "
            "rows have as many fields"
        ) from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error}") from None


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


def _id_types(columns: Mapping[str, str]) -> dict[str, pl.DataType]:
    """Ids in a text file are text, but MovieLens' own are integers by its format."""
    names = [columns.get(name, name) for name in ("user", "item")]
    return {name: pl.String() for name in names} | {
        name: pl.Int64() for name in movielens.CSV_HEADER
    }


class _Found(NamedTuple):
    """A ratings table as it was read."""

    frame: pl.DataFrame
    scale: RatingScale
    text_ids: bool
    """Whether its ids are text, also where digits were read as integers."""


def _ratings_frame(
    source: Path, separator: str | None, encoding: str, columns: Mapping[str, str]
) -> _Found:
    try:
        if movielens.recognises_ratings(source):
            return _Found(*movielens.read_ratings(source), text_ids=False)
        if netflix.recognises_ratings(source):
            return _Found(netflix.read_ratings(source), DEFAULT_SCALE, text_ids=False)
    except (pl.exceptions.PolarsError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {source}: {str(error).splitlines()[0]}") from None
    if source.is_dir() or source.suffix.lower() == ".zip":
        raise DataError(
            f"{source} holds no ratings file known here (u.data, ratings.dat, ratings.csv, "
            "mv_*.txt, combined_data_*.txt); give the path of a table"
        )
    frame = _plain_frame(source, separator, encoding, columns)
    text_ids = frame is not None
    if frame is None:
        frame = read_table(source, separator, encoding, _id_types(columns), any_text=True)
    if movielens.is_movielens_header(frame.columns):
        return _Found(movielens.rename(frame), movielens.HALF_STARS, text_ids=False)
    return _Found(frame, DEFAULT_SCALE, text_ids=text_ids)


def _plain_frame(
    source: Path, separator: str | None, encoding: str, columns: Mapping[str, str]
) -> pl.DataFrame | None:
    """A large text file of plain numbers; None for any other, and where its ids are ambiguous."""
    suffix = source.suffix.lower()
    if separator is None:
        separator = DELIMITED.get(suffix)
    if separator is None or suffix in (*PARQUET, *ARROW):
        return None
    if len(separator.encode()) != 1 or not _is_utf8(encoding):
        return None
    own = {columns.get(name, name): name for name in COLUMNS}
    frame = read_plain(source, separator, own | movielens.CSV_HEADER, set(columns.values()))
    if frame is None or movielens.is_movielens_header(frame.columns):
        return frame
    return None if set(frame.columns) & set(movielens.CSV_HEADER) else frame


def _existing(path: str | Path) -> Path:
    source = Path(path).expanduser()
    if not source.exists():
        raise DataMissingError(f"no file or folder {source}: check the path")
    return source


def _delimiter_hint(frame: pl.DataFrame) -> str:
    """A word on the delimiter, where a table of one column hints at a wrong one."""
    if frame.width != 1:
        return ""
    for separator, name in ((";", "';'"), ("\t", "a tab"), ("|", "'|'"), (",", "','")):
        if separator in frame.columns[0]:
            return f". Its header seems to be separated by {name}: pass it as the separator"
    return ""
