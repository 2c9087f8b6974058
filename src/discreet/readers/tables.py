"""From a path to validated `Ratings` and `Items`, in any format of the table in formats.py."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from discreet.data.columns import ANOTHER_SCALE, COLUMNS, choose_columns
from discreet.data.event_rules import COLUMNS as EVENT_COLUMNS
from discreet.data.event_rules import Quantity
from discreet.data.events import Events
from discreet.data.items import Items
from discreet.data.names import how_to_map, told
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.data.texts import read_lists, without_blanks
from discreet.errors import DataError, DataMissingError
from discreet.readers import movielens
from discreet.readers.base import Dialect, RatingsTable
from discreet.readers.explain import delimiter_hint, explained, naming_errors
from discreet.readers.formats import items_format, ratings_format

ITEM_COLUMNS = ("item", "title", "year", "genres")
"""Our names of columns of an item table; it may have any others."""


def read_ratings(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    scale: RatingScale | tuple[float, float] | None = None,
    keep: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Ratings:
    """Read a ratings table: who rated what, how well, and where given at which privacy level.

    `path` is a CSV, TSV, JSON lines, Parquet or Arrow file (text also as .gz or .zst), a MovieLens
    file, folder or official archive, or a Netflix file, folder or archive. A table has the columns
    user, item and rating, and may have epsilon (the privacy level of the rating) and timestamp;
    usual names such as user_id or stars are known, and `columns` maps others. `scale` is the
    smallest and the largest rating allowed, by default the format's own, else 1..5, and never what
    the ratings show; `keep="last"` resolves duplicate pairs by timestamp.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ratings.csv"
    ...     _ = path.write_text("customer,item,rating\\nada,7,5\\nbob,7,3\\n")
    ...     ratings = read_ratings(path, {"user": "customer"})
    >>> len(ratings), ratings.users.values.to_list()
    (2, ['ada', 'bob'])
    """
    source = _existing(path)
    found = _read_ratings(source, Dialect(columns or {}, separator, encoding))
    try:
        return Ratings.from_frame(
            found.frame, columns, scale=scale or found.scale, keep=keep, text_ids=found.text_ids
        )
    except DataError as error:
        raise explained(error, source, found.frame.columns) from None


def read_events(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    quantity: Quantity | str | None = None,
    repeats: str = "any",
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Events:
    """Read a table of events: who chose what, how much of it, and where given at which level.

    `path` is as for `read_ratings`. A table has the columns user and item, and may have weight (a
    quantity: hours, counts), epsilon and timestamp; `columns` maps these names to the file's. Every
    event counts 1, unless `quantity` declares how much a weight counts, such as
    Quantity(10, "log") or "log:10"; `repeats` says what several events of a pair are.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "plays.csv"
    ...     _ = path.write_text("user_id,item_id,hours\\nada,7,5\\nada,7,2\\nbob,7,40\\n")
    ...     read_events(path, quantity="linear:10").to_frame()["weight"].to_list()
    [0.5, 1.0]
    """
    source = _existing(path)
    rule = Quantity.parse(quantity) if isinstance(quantity, str) else quantity
    found = _read_ratings(source, Dialect(columns or {}, separator, encoding, EVENT_COLUMNS))
    try:
        return Events.from_frame(
            found.frame, columns, quantity=rule, repeats=repeats, text_ids=found.text_ids
        )
    except DataError as error:
        raise explained(error, source, found.frame.columns) from None


def read_people(
    path: str | Path,
    scale: RatingScale,
    columns: Mapping[str, str] | None = None,
    *,
    separator: str | None = None,
    encoding: str = "utf-8",
    events: bool = False,
    keep: str | None = None,
) -> Ratings:
    """Read the ratings of people who are to get recommendations without having been trained on.

    The table has the columns item and rating, and user where there are several people; without it,
    all rows are of one person, called "you". `scale` is that of the release. Of `events`, the table
    may have the column item alone.
    """
    source, mapped = _existing(path), columns or {}
    dialect = Dialect(mapped, separator, encoding, EVENT_COLUMNS if events else COLUMNS)
    frame, _, text_ids = _read_ratings(source, dialect)
    names = frame.columns
    several = "user" in dialect.names(names).values() or "user" in mapped
    needed = ("item",) if events else ("item", "rating")
    try:
        if not several:
            own = {ours: theirs for ours, theirs in mapped.items() if ours in needed}
            choose_columns(names, own, needed, needed)  # or nobody would be told what is missing
            frame = frame.with_columns(pl.lit("you").alias("user"))
        if events:
            return Events.from_frame(frame, mapped, text_ids=text_ids)
        return Ratings.from_frame(frame, mapped, scale=scale, keep=keep, text_ids=text_ids)
    except DataError as error:
        known = f"mend the row: the release knows ratings {scale}"
        error = DataError(str(error).replace(ANOTHER_SCALE, known))
        raise explained(error, source, names) from None


def read_items(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    public_columns: Iterable[str] = (),
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Items:
    """Read a public item table, the catalogue: item, and any of title, year, genres, numbers.

    Genres may be a list, or text with "|", ";" or "," between; the original MovieLens and Netflix
    item files are read as they are. `columns` maps our names to the file's. Columns that look
    derived from ratings are left out, unless `public_columns` vouches for them (by our names).
    """
    source = _existing(path)
    known = items_format(source, separator)
    dialect = Dialect(columns or {}, separator, encoding, ITEM_COLUMNS)
    with naming_errors(source):
        frame = known.read_items(source, dialect)
        frame = _renamed(frame, dialect)
    if frame.schema.get("genres") == pl.String:
        frame = frame.with_columns(_split_genres(frame["genres"]))
    try:
        return Items.from_frame(frame, public_columns=public_columns)
    except DataError as error:
        raise explained(error, source, frame.columns, dialect.flag("separator")) from None


def _split_genres(texts: pl.Series) -> pl.Series:
    """Genres as lists, by the delimiter that the texts show, else by that of MovieLens."""
    found = read_lists(without_blanks(texts))
    joined = texts if found is None else found.values.list.join("|")
    return joined.to_frame("genres").select(movielens.split_genres(pl.col("genres")))["genres"]


def _renamed(frame: pl.DataFrame, dialect: Dialect) -> pl.DataFrame:
    """The item table under our names; a column that has one of these already is in the way."""
    missing = [name for name in dialect.columns.values() if name not in frame.columns]
    if missing:
        raise DataError(f"no column {missing[0]!r} in the item table: {_has(frame)}")
    names = dialect.names(frame.columns) | {t: ours for ours, t in dialect.columns.items()}
    for theirs, ours in names.items():
        if theirs != ours and ours in frame.columns and ours not in names:
            raise DataError(f"the item table has a column {ours!r} already: {_has(frame)}")
    if "item" not in names.values():
        hint = delimiter_hint(frame.columns, dialect.flag("separator"))
        remedy = hint or f"; name yours with {how_to_map('item', flag=dialect.flag('columns'))}"
        raise DataError(f"no column 'item' in the item table: {_has(frame)}{remedy}")
    return frame.rename(names)


def _has(frame: pl.DataFrame) -> str:
    return f"it has {told(frame.columns)}"


def _read_ratings(source: Path, dialect: Dialect) -> RatingsTable:
    """The table as its format reads it; MovieLens' header is known wherever it stands."""
    known = ratings_format(source, dialect.separator)
    with naming_errors(source):
        found = known.read_ratings(source, dialect)
    if movielens.is_movielens_header(found.frame.columns):
        frame = found.frame if dialect.columns else movielens.rename(found.frame)
        return RatingsTable(frame, movielens.HALF_STARS)
    return found


def _existing(path: str | Path) -> Path:
    source = Path(path).expanduser()
    if not source.exists():
        if re.match(r"[a-z][a-z0-9]+:/", str(source)):  # a path has lost one of its slashes
            raise DataMissingError(f"{path} is an address: download the table, and give its path")
        raise DataMissingError(f"no file or folder {source}: check the path")
    return source
