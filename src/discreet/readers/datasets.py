"""Data sets by name: where they are looked for, and how the official archives are fetched."""

from __future__ import annotations

import hashlib
import http.client
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from discreet.data.event_rules import Quantity
from discreet.data.events import Events
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.errors import DataError, DataMissingError, OutputError
from discreet.progress import Progress, silent
from discreet.readers import club
from discreet.readers.formats import holds_items, holds_ratings
from discreet.readers.tables import read_events, read_items, read_ratings

_GROUPLENS = "https://files.grouplens.org/datasets/movielens"
CLUB = "club"


@dataclass(frozen=True)
class DataSet:
    """What is known of a data set before it is read."""

    about: str
    url: str | None = None
    """Where its publisher offers the official archive, if anybody still does."""
    md5: str | None = None
    """The digest that its publisher gives beside the archive."""
    family: str | None = None
    """The data set that it is a part of and whose item table it shares."""
    scale: tuple[float, float] | None = None
    """Of its ratings, where it is not the format's."""
    events: bool = False
    """Whether it holds events, which have no ratings."""
    generate: Callable[[], club.Club] | None = None
    """Makes it in memory; such a data set is in no file."""


DATA_SETS = {
    CLUB: DataSet("the embedded cinema club: synthetic, always there", generate=club.cinema_club),
    "ml-100k": DataSet(
        "MovieLens 100K: 943 users, 1,682 films",
        f"{_GROUPLENS}/ml-100k.zip",
        "0e33842e24a9c977be4e0107933c0723",
    ),
    "ml-1m": DataSet(
        "MovieLens 1M: 6,040 users, 3,706 films",
        f"{_GROUPLENS}/ml-1m.zip",
        "c4d9eecfca2ab87c1945afe126590906",
    ),
    "ml-10m": DataSet(
        "MovieLens 10M: half stars",
        f"{_GROUPLENS}/ml-10m.zip",
        "ce571fd55effeba0271552578f2648bd",
    ),
    "ml-20m": DataSet(
        "MovieLens 20M: half stars",
        f"{_GROUPLENS}/ml-20m.zip",
        "cd245b17a1ae2cc31bb14903e1204af3",
    ),
    "ml-25m": DataSet(
        "MovieLens 25M: half stars",
        f"{_GROUPLENS}/ml-25m.zip",
        "6b51fb2759a8657d3bfcbfc42b592ada",
    ),
    "netflix": DataSet("the Netflix Prize: 100 million ratings, no longer distributed"),
    "netflix-7128": DataSet(
        "7,128 users of the Netflix Prize, as many as in the paper", family="netflix"
    ),
    "netflix-10m": DataSet("48,000 users of the Netflix Prize", family="netflix"),
    "book-ratings": DataSet(
        "Book-Crossing: 1,295 users, 14,684 books, 1 to 10", family="book", scale=(1, 10)
    ),
    "book-events": DataSet(
        "Book-Crossing: who read what, 2,946 users, 17,384 books", family="book", events=True
    ),
    "steam-events": DataSet(
        "Steam: who bought what, and hours played, 12,393 users, 5,155 games",
        family="steam",
        events=True,
    ),
}
"""Every data set by its name: a new one is a line here."""


def find_data_set(name: str) -> DataSet:
    """What is known of a data set, or an error that names those there are."""
    if name not in DATA_SETS:
        raise DataMissingError(f"unknown data set {name!r}: there are {', '.join(DATA_SETS)}")
    return DATA_SETS[name]


def folders() -> list[Path]:
    """Where data sets are looked for: DISCREET_DATA, then the cache folder."""
    own = os.environ.get("DISCREET_DATA")
    return [*([Path(own).expanduser()] if own else []), cache_folder()]


def cache_folder() -> Path:
    """The user's cache folder for data sets."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "discreet"


def find(name: str) -> Path | None:
    """The path of a data set's ratings, or None if it is nowhere."""
    for folder in folders():
        for candidate in (folder / f"{name}.parquet", folder / name):
            if candidate.is_file():
                return candidate
            if candidate.is_dir() and holds_ratings(candidate):
                return candidate
    return None


def find_items(name: str) -> Path | None:
    """The path of a data set's item table: beside its ratings, or beside those of its family."""
    source = find(name)
    if source is None:
        return None
    if source.is_dir():
        return source if holds_items(source) else None
    known = DATA_SETS.get(name)
    family = known.family if known is not None and known.family is not None else name
    candidates = [source.with_name(f"{stem}-items.parquet") for stem in (name, family)]
    return next((c for c in candidates if c.is_file()), None)


def has_items(name: str) -> bool:
    """Whether a data set's item table is there."""
    return find_data_set(name).generate is not None or find_items(name) is not None


def _known(source: str) -> DataSet | None:
    """The data set that a word means; None where it is a path. Of two of one name, a file comes
    before a data set in files, and a data set that is generated comes before both."""
    known = DATA_SETS.get(source)
    if known is None or (known.generate is None and Path(source).exists()):
        return None
    return known


def load_ratings(
    source: str,
    columns: Mapping[str, str] | None = None,
    *,
    scale: RatingScale | tuple[float, float] | None = None,
    keep: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Ratings:
    """Read a path, or a data set by its name ("club" is the embedded one).

    The other arguments are those of `read_ratings`.

    >>> len(load_ratings("club"))
    150000
    """
    known = _known(source)
    if known is not None and known.generate is not None:
        return known.generate().ratings
    if known is not None:
        if known.events:
            raise DataError(
                f"data set {source!r} holds events, which have no ratings: read it with "
                "load_events (--events on the command line)"
            )
        source, scale = _path(source), scale or known.scale
    return read_ratings(
        source, columns, scale=scale, keep=keep, separator=separator, encoding=encoding
    )


def load_events(
    source: str,
    columns: Mapping[str, str] | None = None,
    *,
    quantity: Quantity | str | None = None,
    repeats: str = "any",
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Events:
    """Read events by a path, or by the name of a data set; of ratings, who rated what.

    The other arguments are those of `read_events`.

    >>> len(load_events("club"))
    150000
    """
    known = _known(source)
    if known is not None and known.generate is not None:
        rule = Quantity.parse(quantity) if isinstance(quantity, str) else quantity
        table = known.generate().ratings.to_frame()
        return Events.from_frame(table, columns, quantity=rule, repeats=repeats)
    return read_events(
        source if known is None else _path(source),
        columns,
        quantity=quantity,
        repeats=repeats,
        separator=separator,
        encoding=encoding,
    )


def _path(name: str) -> str:
    """Where a data set is, or an error that says how to get it."""
    path = find(name)
    if path is None:
        raise DataMissingError(f"data set {name!r} is not here. {how_to_get(name)}")
    return str(path)


def load_items(
    source: str,
    columns: Mapping[str, str] | None = None,
    *,
    public_columns: Iterable[str] = (),
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Items:
    """Read an item table by its path, or by the name of its data set.

    The other arguments are those of `read_items`.

    >>> load_items("club").frame.columns
    ['item', 'title', 'year', 'genres']
    """
    known = _known(source)
    if known is not None and known.generate is not None:
        return Items.from_frame(known.generate().items.frame, public_columns=public_columns)
    if known is not None:
        path = find_items(source)
        if path is None:
            raise DataMissingError(
                f"data set {source!r} has no item table here. {how_to_get(source)}"
            )
        source = str(path)
    return read_items(
        source, columns, public_columns=public_columns, separator=separator, encoding=encoding
    )


def how_to_get(name: str) -> str:
    """What to do to have a data set."""
    places = " or ".join(str(folder) for folder in folders())
    put = f"put {name}.parquet, or a folder {name} with the original files, into {places}"
    if DATA_SETS[name].url is None:
        return f"It is not offered for download any more: if you have it, {put}."
    return f"Fetch it with: discreet data get {name} - or {put}."


def get(name: str, *, progress: Progress = silent, url: str | None = None) -> Path:
    """Fetch an official archive into the cache folder, checking its digest.

    An archive that is there already is not fetched again. `url` is asked instead of the publisher.
    """
    known = find_data_set(name)
    if known.url is None or known.md5 is None:
        where = "It needs no fetching." if known.generate is not None else how_to_get(name)
        raise DataMissingError(f"data set {name!r} cannot be fetched. {where}")
    target = cache_folder() / name / f"{name}.zip"
    if target.is_file() and _md5(target) == known.md5:
        return target
    address = url or known.url
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkstemp(prefix=".part-", dir=target.parent)[1])
    except OSError as error:
        raise OutputError(f"cannot write to {target.parent}: {error}") from None
    try:
        _download(address, part, name, progress)
        found = _md5(part)
        if found != known.md5:
            raise DataError(
                f"{address} has the MD5 digest {found} instead of {known.md5}: it was damaged or "
                "changed on the way; nothing was kept, try again"
            )
        part.replace(target)
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        raise DataMissingError(
            f"cannot fetch {address}: {getattr(error, 'reason', None) or error}. On a machine that "
            f"reaches it, download it and copy it to {target}"
        ) from None
    finally:
        part.unlink(missing_ok=True)
        if not any(target.parent.iterdir()):
            target.parent.rmdir()
    return target


def _download(address: str, part: Path, name: str, progress: Progress) -> None:
    with urllib.request.urlopen(address, timeout=30) as response, part.open("wb") as file:
        total = int(response.headers.get("Content-Length") or 0)
        done = 0
        while chunk := response.read(1 << 20):
            file.write(chunk)
            done += len(chunk)
            progress(f"fetching {name}", done, max(total, done))


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
