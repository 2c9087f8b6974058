"""Import: item tables and ratings tables into the recommender's database."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from sqlalchemy.engine import Connection

from discreet.data.edges import PerItem, refuse_derived
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import catalogue, own_ratings, people
from discreet.database.connection import Database, Lock, one_at_a_time
from discreet.database.declaration import Declaration, ledger_key
from discreet.errors import DataError
from discreet.privacy.hashing import Hashes
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.publishing.ledger import hash_records

_CHUNK = 20_000


def add_items(database: Database, items: Items) -> int:
    """Add items to the public catalogue; how many are new.

    A column that orders them as their ratings here do is refused: the operator alone sees that.
    """
    with database.reading() as connection:
        rated = own_ratings.per_item(connection)
    refuse_derived(PerItem.of(rated), items)
    with database.writing() as connection:
        return catalogue.add(connection, items)


class Imported(NamedTuple):
    """What became of a table, for the operator alone."""

    rows: int
    skipped: int
    """Whose owner had taken the rating back or was erased, or whose item was taken down: an import
    does not undo that."""


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
    anything is written. Events go into a database that was declared for them, and by its rules.
    """
    frame, hashes = checked(database, declared, ratings)
    kept = 0
    # In pieces, so that people can rate in between.
    for start in range(0, frame.height, _CHUNK):
        progress("import", start, frame.height)
        rows = slice(start, start + _CHUNK)
        with database.writing() as connection:
            # Until this piece is written nobody deletes what it would bring back.
            one_at_a_time(connection, Lock.RETURNING)
            piece = _wanted(connection, frame[rows], (hashes[0][rows], hashes[1][rows]))
            people.add_many(connection, piece["user"].unique().to_list())
            own_ratings.add_many(connection, piece.rows(), replace=replace)
        kept += piece.height
    progress("import", frame.height, frame.height)
    return Imported(frame.height, frame.height - kept)


class Checked(NamedTuple):
    """Ratings that can be imported."""

    frame: pl.DataFrame
    """user, item, rating, epsilon: a level for every one."""
    hashes: Hashes


def checked(database: Database, declared: Declaration, ratings: Ratings) -> Checked:
    """What an import would write, or an error that says why it cannot."""
    if ratings.rules != declared.rules:
        held, given = (
            "ratings" if rules is None else f"events ({rules.words})"
            for rules in (declared.rules, ratings.rules)
        )
        raise DataError(f"the database was declared for {held}: got {given}")
    levels = np.full(len(ratings), declared.usual_level)
    if ratings.epsilon is not None:
        levels = offered(declared).levels(ratings)
    frame = pl.DataFrame(
        {
            "user": ratings.users.take(ratings.user).cast(pl.String),
            "item": ratings.items.take(ratings.item).cast(pl.String),
            "rating": ratings.rating.astype(np.float64),
            "epsilon": levels,
        }
    )
    ids = ratings.users.values.cast(pl.String)
    people.check_ids(ids.to_list())
    with database.reading() as connection:
        catalogue.require_known(connection, ratings.items.values.cast(pl.String))
        known = catalogue.read(connection)
        hashes = hash_records(ledger_key(connection), ratings)
    if known is not None:
        refuse_derived(ratings.per_item, known)
    return Checked(frame, hashes)


def _wanted(connection: Connection, piece: pl.DataFrame, hashes: Hashes) -> pl.DataFrame:
    """Without those whose owner has taken them back, or was erased, or whose item is gone."""
    erased = people.erased(connection, piece["user"].unique().to_list())
    back = pl.Series(own_ratings.were_taken_back(connection, hashes), dtype=pl.Boolean)
    gone = piece["item"].is_in(list(catalogue.removed(connection)))
    return piece.filter(~back & ~piece["user"].is_in(list(erased)) & ~gone)


def offered(declared: Declaration) -> PrivacySpec:
    """The declared levels as a specification."""
    return PrivacySpec.column(max_level=declared.max_level, default=declared.usual_level)
