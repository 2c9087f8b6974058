"""From a path to validated `Ratings` and `Items`, in any format of the table in formats.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from discreet.data.event_rules import Quantity
from discreet.data.events import Events
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.data.texts import read_lists, without_blanks
from discreet.errors import DataError, DataMissingError
from discreet.readers import movielens
from discreet.readers.base import Dialect, RatingsTable
from discreet.readers.formats import items_format, ratings_format


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

    `path` is a CSV, TSV, Parquet or Arrow file, a MovieLens file, folder or official archive, or a
    Netflix file, folder or archive. A table has the columns user, item and rating, and may have
    epsilon (the privacy level of the rating) and timestamp; `columns` maps these names to the
    file's. `scale` is the smallest and the largest rating allowed, by default the format's own,
    else 1..5; `keep="last"` resolves duplicate pairs by timestamp.

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
        raise DataError(f"{source}: {error}{_delimiter_hint(found.frame)}") from None


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
    found = _read_ratings(source, Dialect(columns or {}, separator, encoding, events=True))
    try:
        return Events.from_frame(
            found.frame, columns, quantity=rule, repeats=repeats, text_ids=found.text_ids
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
    events: bool = False,
) -> Ratings:
    """Read the ratings of people who are to get recommendations without having been trained on.

    The table has the columns item and rating, and user where there are several people; without it,
    all rows are of one person, called "you". `scale` is that of the release. Of `events`, the table
    may have the column item alone.
    """
    source, mapped = _existing(path), columns or {}
    dialect = Dialect(mapped, separator, encoding, events=events)
    frame, _, text_ids = _read_ratings(source, dialect)
    users = {theirs for theirs, ours in dialect.names.items() if ours == "user"}
    if (frame.width > 1 or events) and users.isdisjoint(frame.columns):
        frame = frame.with_columns(pl.lit("you").alias("user"))
    try:
        if events:
            return Events.from_frame(frame, mapped, text_ids=text_ids)
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
    """Read a public item table, the catalogue: item, and any of title, year, genres, numbers.

    Genres may be a list, or text with "|", ";" or "," between; the original MovieLens and Netflix
    item files are read as they are. `columns` maps our names to the file's. Columns that look
    derived from ratings are left out, unless `public_columns` vouches for them (by our names).
    """
    source = _existing(path)
    known = items_format(source, separator)
    with _naming_errors(source):
        frame = known.read_items(source, Dialect(columns or {}, separator, encoding))
    renames = {theirs: ours for ours, theirs in (columns or {}).items()}
    missing = [name for name in renames if name not in frame.columns]
    if missing:
        raise DataError(
            f"{source}: no column {missing[0]!r} in the item table: it has "
            f"{', '.join(map(repr, frame.columns))}"
        )
    frame = frame.rename(renames)
    if frame.schema.get("genres") == pl.String:
        frame = frame.with_columns(_split_genres(frame["genres"]))
    try:
        return Items.from_frame(frame, public_columns=public_columns)
    except DataError as error:
        raise DataError(f"{source}: {error}{_delimiter_hint(frame)}") from None


def _split_genres(texts: pl.Series) -> pl.Series:
    """Genres as lists, by the delimiter that the texts show, else by that of MovieLens."""
    found = read_lists(without_blanks(texts))
    joined = texts if found is None else found.values.list.join("|")
    return joined.to_frame("genres").select(movielens.split_genres(pl.col("genres")))["genres"]


def _read_ratings(source: Path, dialect: Dialect) -> RatingsTable:
    """The table as its format reads it; MovieLens' header is known wherever it stands."""
    known = ratings_format(source, dialect.separator)
    with _naming_errors(source):
        found = known.read_ratings(source, dialect)
    if movielens.is_movielens_header(found.frame.columns):
        return RatingsTable(movielens.rename(found.frame), movielens.HALF_STARS)
    return found


@contextmanager
def _naming_errors(path: Path) -> Iterator[None]:
    """While a table is read: what goes wrong becomes an error that names the file."""
    try:
        yield
    except pl.exceptions.NoDataError:
        raise DataError(f"{path} is empty: it needs a header and at least one row") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise DataError(
            f"{path} is not a readable {path.suffix.lower() or 'delimited'} table: "
            f"{str(error).splitlines()[0]}; check that it is whole, its delimiter, and that all "
            "rows have as many fields"
        ) from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error}") from None


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
