"""Import: item tables and ratings tables into the recommender's database."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from discreet.database import catalogue, opinions, people
from discreet.database.connection import Database
from discreet.database.declaration import Declaration
from discreet.errors import DataError
from discreet.io.tables import read_items, read_ratings
from discreet.items import Items
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.ratings import Ratings

_CHUNK = 20_000


def import_items(database: Database, path: str | Path) -> int:
    """Add the items of a table to the public catalogue; how many are new."""
    return add_items(database, read_items(path))


def add_items(database: Database, items: Items) -> int:
    """Add items to the public catalogue; how many are new."""
    with database.writing() as connection:
        return catalogue.add(connection, items)


def import_ratings(
    database: Database,
    declared: Declaration,
    path: str | Path,
    *,
    replace: bool = False,
    progress: Progress = silent,
) -> int:
    """Add the ratings of a table, and the people in it who are new; how many rows were read.

    A pair that is rated already keeps its rating, unless `replace`. Checked as a whole before
    anything is written.
    """
    ratings = read_ratings(path, scale=declared.rating_scale)
    return add_ratings(database, declared, ratings, replace=replace, progress=progress)


def add_ratings(
    database: Database,
    declared: Declaration,
    ratings: Ratings,
    *,
    replace: bool = False,
    progress: Progress = silent,
) -> int:
    """Add ratings; those without a level get the declared default."""
    levels = np.full(len(ratings), declared.usual_level)
    if ratings.epsilon is not None:
        levels = offered(declared).levels(ratings)
    frame = ratings.to_frame().with_columns(pl.Series("epsilon", levels))
    frame = frame.select(
        pl.col("user").cast(pl.String), pl.col("item").cast(pl.String),
        pl.col("rating").cast(pl.Float64), "epsilon",
    )  # fmt: skip
    ids = ratings.users.values.cast(pl.String)
    long = ids.filter(ids.str.len_chars() > 200)
    if len(long):
        raise DataError(f"user ids have at most 200 letters: got {long[0][:30]!r}...")
    with database.reading() as connection:
        catalogue.require_known(connection, ratings.items.values.cast(pl.String))
    _add_people(database, ids.to_list())
    # In pieces, so that people can rate in between; a repeated import changes nothing twice.
    for start in range(0, frame.height, _CHUNK):
        progress("import", start, frame.height)
        with database.writing() as connection:
            rows = frame.slice(start, _CHUNK).rows()
            opinions.add_many(connection, rows, replace=replace)
    progress("import", frame.height, frame.height)
    return frame.height


def _add_people(database: Database, ids: list[str]) -> None:
    for start in range(0, len(ids), _CHUNK):
        with database.writing() as connection:
            people.add_many(connection, ids[start : start + _CHUNK])


def offered(declared: Declaration) -> PrivacySpec:
    """The declared levels as a specification."""
    return PrivacySpec.column(max_level=declared.max_level, default=declared.usual_level)
