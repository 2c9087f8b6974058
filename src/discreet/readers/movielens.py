"""MovieLens: the original files of 100K, 1M, 10M, 20M, 25M and latest, loose or archived."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import polars as pl

from discreet.data.scale import RatingScale
from discreet.errors import DataError
from discreet.readers.archives import is_archive, is_container, names_in, naming_errors
from discreet.readers.base import Dialect, Format, RatingsTable

WHOLE_STARS = RatingScale(1, 5)
"""100K and 1M."""
HALF_STARS = RatingScale(0.5, 5)
"""10M and later."""
RATING_FILES = ("u.data", "ratings.dat", "ratings.csv")
ITEM_FILES = ("u.item", "movies.dat", "movies.csv")
CSV_HEADER = {"userId": "user", "movieId": "item"}
"""MovieLens' names of columns in CSV files, and ours."""
_COLUMNS = ["user", "item", "rating", "timestamp"]
# The order of u.item's flags is u.genre's, which every copy of the data set shares.
_GENRES_100K = (
    "unknown",
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
)
_LEADING_ZERO = re.compile(rb"^0[0-9]|^[0-9]+(?:::|\t)0[0-9]", re.MULTILINE).search
_NO_GENRES = ("(no genres listed)", "unknown")


def recognises_ratings(path: Path) -> bool:
    """Whether path is a MovieLens ratings file, or a folder or archive that holds one."""
    if path.name in ("u.data", "ratings.dat"):
        return True
    return is_container(path) and _find(path, RATING_FILES) is not None


def recognises_items(path: Path) -> bool:
    """Whether path is a MovieLens item file, or a folder or archive that holds one."""
    if path.name in ("u.item", "movies.dat"):
        return True
    return is_container(path) and _find(path, ITEM_FILES) is not None


def is_movielens_header(columns: Sequence[str]) -> bool:
    """Whether a table has the columns userId and movieId, as MovieLens' ratings.csv."""
    return set(CSV_HEADER) <= set(columns)


def rename(frame: pl.DataFrame) -> pl.DataFrame:
    """Give the columns userId and movieId our names, user and item."""
    both = [(old, new) for old, new in CSV_HEADER.items() if {old, new} <= set(frame.columns)]
    if both:
        old, new = both[0]
        raise DataError(f"the table has both a column {old!r} and a column {new!r}: rename one")
    return frame.rename({old: new for old, new in CSV_HEADER.items() if old in frame.columns})


def split_genres(column: pl.Expr) -> pl.Expr:
    """Text such as "Action|Comedy" as a list; no genre as an empty list.

    >>> frame = pl.DataFrame({"genres": ["Action|Comedy", "(no genres listed)"]})
    >>> frame.select(split_genres(pl.col("genres")))["genres"].to_list()
    [['Action', 'Comedy'], []]
    """
    return (
        column.fill_null("")
        .str.split("|")
        .list.eval(pl.element().filter(~pl.element().is_in(["", *_NO_GENRES])))
    )


def read_ratings(path: Path, dialect: Dialect) -> RatingsTable:
    """The ratings of a file, or of the first that a folder or archive holds, and their scale."""
    del dialect
    with naming_errors(path):
        return _ratings(path, *_open(path, RATING_FILES))


def _ratings(path: Path, name: str, raw: bytes) -> RatingsTable:
    if name == "u.data":
        return RatingsTable(_headless(raw, "\t", list(range(4))), WHOLE_STARS)
    if name == "ratings.csv":
        types = dict.fromkeys(CSV_HEADER, pl.Int64())
        frame = pl.read_csv(io.BytesIO(raw), schema_overrides=types)
        if not is_movielens_header(frame.columns):  # its scale would be anybody's guess
            unpacked = "unpack it, and " if is_archive(path) else ""
            raise DataError(
                f"the ratings.csv in {path} is not MovieLens': {unpacked}give the path of the table"
            )
        frame = rename(frame)
        return RatingsTable(frame, HALF_STARS)
    # Polars splits at one byte; "::" then leaves an empty column between every two.
    frame = _headless(raw, ":", [0, 2, 4, 6])
    # 1M and 10M share the name ratings.dat; only 10M has half stars, and its own folder name.
    halves = frame["rating"].dtype.is_float() or _is_ten_million(path)
    return RatingsTable(frame, HALF_STARS if halves else WHOLE_STARS)


def read_items(path: Path, dialect: Dialect) -> pl.DataFrame:
    """The item table: item, title, year, genres."""
    del dialect
    with naming_errors(path):
        return _items(*_open(path, ITEM_FILES))


def _items(name: str, raw: bytes) -> pl.DataFrame:
    if name == "u.item":
        frame = _items_100k(raw)
    elif name == "movies.dat":
        frame = _items_dat(raw)
    else:
        frame = rename(pl.read_csv(io.BytesIO(raw), schema_overrides={"title": pl.String}))
        frame = frame.with_columns(split_genres(pl.col("genres")))
    return frame.with_columns(
        pl.col("title").str.extract(r"\((\d{4})\)\s*$", 1).cast(pl.Int16).alias("year")
    ).select("item", "title", "year", "genres")


def _headless(raw: bytes, separator: str, columns: list[int]) -> pl.DataFrame:
    """The columns of a file without a header; ids are integers, or texts where a zero leads one."""
    as_text = _LEADING_ZERO(raw) is not None
    try:
        frame = pl.read_csv(
            io.BytesIO(raw),
            separator=separator,
            has_header=False,
            columns=columns,
            quote_char=None,
            infer_schema=not as_text,
            infer_schema_length=10_000,
        )
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"not a MovieLens ratings file: expected lines such as "
            f"'196{separator}242{separator}3{separator}881250949': {str(error).splitlines()[0]}"
        ) from None
    named = frame.rename(dict(zip(frame.columns, _COLUMNS, strict=True)))
    if not as_text:
        return named
    whole = pl.Int64() if not named["rating"].str.contains(".", literal=True).any() else pl.Float64
    return named.with_columns(pl.col("rating").cast(whole, strict=False))


def _items_100k(raw: bytes) -> pl.DataFrame:
    rows = [line.split("|") for line in _text(raw).splitlines() if line]
    for number, row in enumerate(rows, 1):
        if len(row) != 5 + len(_GENRES_100K):
            raise DataError(f"u.item line {number} has {len(row)} fields instead of 24")
        _require_integer(row[0], f"u.item line {number}")
    return pl.DataFrame(
        {
            "item": [int(row[0]) for row in rows],
            "title": [row[1] for row in rows],
            "genres": [
                [g for g, flag in zip(_GENRES_100K[1:], row[6:], strict=True) if flag == "1"]
                for row in rows
            ],
        },
        schema_overrides={"genres": pl.List(pl.String)},
    )


def _items_dat(raw: bytes) -> pl.DataFrame:
    lines = [line for line in _text(raw).splitlines() if line]
    rows = [line.split("::") for line in lines]
    for number, row in enumerate(rows, 1):
        if len(row) != 3:
            raise DataError(f"movies.dat line {number} is not 'item::title::genres': {row!r}")
        _require_integer(row[0], f"movies.dat line {number}")
    return pl.DataFrame(
        {
            "item": [int(row[0]) for row in rows],
            "title": [row[1] for row in rows],
            "genres": [row[2] for row in rows],
        }
    ).with_columns(split_genres(pl.col("genres")))


def _require_integer(text: str, place: str) -> None:
    """MovieLens numbers its films: anything else in that place is an error that names it."""
    try:
        int(text)
    except ValueError:
        raise DataError(f"{place} does not begin with a film's number: got {text!r}") from None


def _text(raw: bytes) -> str:
    """10M and later are UTF-8, 100K and 1M are Latin-1."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def scan_ratings(path: Path, dialect: Dialect) -> pl.LazyFrame:
    """The ratings of a file, or of one in a folder, to be read piece by piece."""
    del dialect
    if path.is_dir() and (name := _find(path, RATING_FILES)) is not None:
        path = path / name
    if path.name == "ratings.csv":
        return pl.scan_csv(path, schema_overrides=dict.fromkeys(CSV_HEADER, pl.Int64()))
    if is_archive(path):
        raise DataError(f"{path}: unpack the archive to read it piece by piece")
    # As above, "::" leaves an empty column between every two.
    doubled = ["user", "gap 1", "item", "gap 2", "rating", "gap 3", "timestamp"]
    names = _COLUMNS if path.name == "u.data" else doubled
    separator = "\t" if path.name == "u.data" else ":"
    scan = pl.scan_csv(
        path, separator=separator, has_header=False, quote_char=None, new_columns=names
    )
    return scan.select(_COLUMNS)


def _is_ten_million(path: Path) -> bool:
    places = [*path.parts[-2:]]
    if is_archive(path):
        places.append(_find(path, RATING_FILES) or "")
    return any("ml-10m" in place.lower() for place in places)


def _find(container: Path, names: Sequence[str]) -> str | None:
    """The first of these files in a folder, or in an archive at any depth."""
    if container.is_dir():
        for name in names:
            if (container / name).is_file():
                return name
        archives = sorted(container.glob("ml-*.zip"))
        return next((a.name for a in archives if _find(a, names)), None)
    inside = names_in(container)
    return next((m for n in names for m in inside if PurePosixPath(m).name == n), None)


def _open(path: Path, names: Sequence[str]) -> tuple[str, bytes]:
    """The plain name and the bytes of the file in path that is one of names."""
    if not is_container(path):
        return path.name, path.read_bytes()
    member = _find(path, names)
    assert member is not None  # the caller has recognised the path
    if path.is_dir():
        return _open(path / member, names)
    with zipfile.ZipFile(path) as archive:
        return PurePosixPath(member).name, archive.read(member)


FORMAT = Format(
    read_ratings,
    read_items,
    scan_ratings,
    recognises_ratings=recognises_ratings,
    recognises_items=recognises_items,
    rating_files=RATING_FILES,
)
