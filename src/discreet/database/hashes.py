"""Keyed hashes of pairs: how the ledger names a rating without storing who rated what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from sqlalchemy.engine import Connection

from discreet.database.declaration import ledger_key
from discreet.privacy.hashing import Hashes, pair_hash, pair_hashes

FEW = 100
"""So many pairs are hashed one by one before tables for all of them would be set up."""


def hashes_of_one(connection: Connection, person: str, items: Sequence[str] | pl.Series) -> Hashes:
    """How the ledger names one person's pairs with these items."""
    if len(items) <= FEW:
        return hashes_of_few(connection, [(person, item) for item in items])
    return pair_hashes(
        ledger_key(connection),
        pl.Series("user", [person], dtype=pl.String),
        pl.Series("item", items, dtype=pl.String),
        np.zeros(len(items), dtype=np.int32),
        np.arange(len(items), dtype=np.int32),
    )


def hashes_of_few(connection: Connection, pairs: Sequence[tuple[str, str]]) -> Hashes:
    """How the ledger names these pairs (person, item), of whoever they are."""
    key = ledger_key(connection)
    hashes = np.array([pair_hash(key, *pair) for pair in pairs], dtype=np.int64)
    first, second = hashes.reshape(-1, 2).T
    return first, second
