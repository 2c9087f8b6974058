"""Import: item tables and ratings tables into the recommender's database."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from sqlalchemy.engine import Connection

from discreet.database import catalogue, opinions, people
from discreet.database.connection import Database
from discreet.database.declaration import Declaration, ledger_key
from discreet.items import Items
from discreet.privacy.hashing import pair_hashes
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.ratings import Ratings

_CHUNK = 20_000


def add_items(database: Database, items: Items) -> int:
    """Add items to the public catalogue; how many are new."""
    with database.writing() as connection:
        return catalogue.add(connection, items)


class Imported(NamedTuple):
    """What became of a table, for the operator alone."""

    rows: int
    skipped: int
    """Whose owner had taken the rating back or was erased: an import does not undo that."""


def add_ratings(
    database: Database,
    declared: Declaration,
    ratings: Ratings,
    *,
    replace: bool = False,
    progress: Progress = silent,
) -> Imported:
    """Add ratings, and the people who are new; those without a level get the declared default.

    A pair that is rated already keeps its rating, unless `replace`. Checked as a whole before
    anything is written.
    """
    levels = np.full(len(ratings), declared.usual_level)
    if ratings.epsilon is not None:
        levels = offered(declared).levels(ratings)
    frame = ratings.to_frame().with_columns(pl.Series("epsilon", levels))
    frame = frame.select(
        pl.col("user").cast(pl.String), pl.col("item").cast(pl.String),
        pl.col("rating").cast(pl.Float64), "epsilon",
    )  # fmt: skip
    ids = ratings.users.values.cast(pl.String)
    people.check_ids(ids.to_list())
    with database.reading() as connection:
        catalogue.require_known(connection, ratings.items.values.cast(pl.String))
        kept = frame.filter(~_unwanted(connection, ratings, ids))
    # In pieces, so that people can rate in between.
    for start in range(0, kept.height, _CHUNK):
        progress("import", start, kept.height)
        piece = kept.slice(start, _CHUNK)
        with database.writing() as connection:
            # Looked at again: somebody may have been erased a moment ago.
            gone = people.erased(connection, piece["user"].unique().to_list())
            piece = piece.filter(~pl.col("user").is_in(list(gone)))
            people.add_many(connection, piece["user"].unique().to_list())
            opinions.add_many(connection, piece.rows(), replace=replace)
    progress("import", kept.height, kept.height)
    return Imported(frame.height, frame.height - kept.height)


def _unwanted(connection: Connection, ratings: Ratings, ids: pl.Series) -> pl.Series:
    """Records whose owner has taken them back, or was erased."""
    hashes = pair_hashes(
        ledger_key(connection), ratings.users.values, ratings.items.values, ratings.user,
        ratings.item,
    )  # fmt: skip
    gone = people.erased(connection, ids.to_list())
    erased = ids.is_in(list(gone)).to_numpy()[ratings.user]
    return pl.Series(np.array(opinions.taken_back(connection, hashes), dtype=bool) | erased)


def offered(declared: Declaration) -> PrivacySpec:
    """The declared levels as a specification."""
    return PrivacySpec.column(max_level=declared.max_level, default=declared.usual_level)
