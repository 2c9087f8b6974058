"""A snapshot: all that a publication reads of the database, in one transaction; secret."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.data.events import Events, of_values
from discreet.data.ids import Ids
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import catalogue, generation, ledger, own_ratings
from discreet.database.connection import Database, now
from discreet.database.declaration import Declaration, ledger_key
from discreet.errors import DataError, LedgerError
from discreet.privacy.hashing import Hashes
from discreet.publishing.ledger import hash_records
from discreet.release.release import Release
from discreet.schemes.base import LedgerState

_COLUMNS: dict[str, type[pl.DataType]] = {
    "user": pl.String,
    "item": pl.String,
    "rating": pl.Float64,
    "epsilon": pl.Float64,
    "revision": pl.Int64,
}


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What the database held when a publication began: all of it secret but the catalogue."""

    at: int
    items: Items
    ratings: Ratings
    """Over the catalogue; there may be none, which nobody may notice."""
    revisions: Integers
    """Which revision of its rating each record is."""
    hashes: Hashes
    """How the ledger names the pair of each record."""
    state: LedgerState
    """What was spent and released before."""


def read_snapshot(
    database: Database, declared: Declaration, *, taken_down: bool = False
) -> Snapshot:
    """Read everything that a publication needs in one transaction, so that it fits together.

    Ratings of items that were taken down are no part of it, unless they are asked for.
    """
    at = now()
    with database.reading() as connection:
        items = catalogue.read(connection)
        if items is None:
            raise DataError("the catalogue is empty: import an item table first")
        number = generation.next_number(connection)
        history = generation.history(connection, declared, number, at)
        content = ledger.files(connection, ledger.latest(connection))
        gone = frozenset() if taken_down else catalogue.removed(connection)
        table = _in_order(own_ratings.everybody(connection), gone)
        ratings = _over_catalogue(table, items, declared)
        hashes = hash_records(ledger_key(connection), ratings)
        spends = ledger.find_spends(connection, hashes)
        share = ledger.pure_share(connection)
    before = Release.from_files(content) if content else None
    state = LedgerState(spends, before, history, earlier=number - 1, share=share)
    return Snapshot(at, items, ratings, table["revision"].to_numpy(), hashes, state)


def _in_order(parts: Iterable[list[tuple[Any, ...]]], gone: Collection[str]) -> pl.DataFrame:
    """All rows in the order of a ratings table: by person, then item, as texts are ordered.

    Those of items that are `gone` are left out, which everybody can see that they are.
    """
    frames = [pl.DataFrame(part, schema=_COLUMNS, orient="row") for part in parts]
    table = pl.concat(frames) if frames else pl.DataFrame(schema=_COLUMNS)
    return table.filter(~pl.col("item").is_in(list(gone))).sort("user", "item")


def _over_catalogue(table: pl.DataFrame, items: Items, declared: Declaration) -> Ratings:
    """The rows as ratings, record for row: every rated item is in the catalogue."""
    scale, rules = declared.rating_scale, declared.rules
    if table.height == 0:
        nothing, none = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        nobody, empty = Ids(pl.Series("user", [], dtype=pl.String)), np.zeros(0)
        columns = (nobody, items.ids, nothing, none, empty, empty, None, scale)
        return Ratings(*columns) if rules is None else Events(*columns, rules)
    records = table.drop("revision")
    made = Ratings.from_frame(records, scale=scale) if rules is None else of_values(records, rules)
    ratings = made.with_items(items.ids)
    if len(ratings) != table.height:
        raise LedgerError(
            "the database holds ratings of items outside its catalogue: repair it first"
        )
    return ratings
