"""The door for tables: ratings from whatever somebody has them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.errors import DataError

Table = Any
"""What `as_ratings` takes: `Ratings`, a Polars, pandas or Arrow table, or a SciPy sparse array."""


def as_ratings(
    table: Table,
    columns: Mapping[str, str] | None = None,
    *,
    scale: RatingScale | tuple[float, float] = (1, 5),
    keep: str | None = None,
    users: Sequence[Any] | None = None,
    items: Sequence[Any] | None = None,
) -> Ratings:
    """Ratings from a Polars, pandas or Arrow table, or from a SciPy sparse array.

    Of a table, `columns` and `keep` are those of `Ratings.from_frame`. Of a sparse array, a row is
    a person and a column an item: `users` and `items` name them, else their numbers do; every
    stored entry is a rating, also a zero.

    The scale is declared, here or by leaving it at 1..5, and never looked up in the ratings: what
    is computed from them is secret, and everything later would depend on it.

    >>> frame = pl.DataFrame({"customer": ["ann", "bob"], "sku": [7, 7], "stars": [4, 10]})
    >>> as_ratings(frame, scale=(0, 10))
    Ratings(2 ratings of 2 users on 1 items, scale 0..10)
    """
    if isinstance(table, Ratings):
        return table
    if not _is_sparse(table):
        if users is not None or items is not None:
            raise DataError("users and items name the rows and columns of a sparse array")
        return Ratings.from_frame(table, columns, scale=scale, keep=keep)
    if columns is not None or keep is not None:
        raise DataError("columns and keep go with a table: a sparse array has rows and columns")
    return Ratings.from_frame(_entries(table, users, items), scale=scale)


def _is_sparse(table: Any) -> bool:
    # SciPy is no dependency: whoever has such an array has it.
    return type(table).__module__.startswith("scipy.sparse") and hasattr(table, "tocoo")


def _entries(table: Any, users: Sequence[Any] | None, items: Sequence[Any] | None) -> pl.DataFrame:
    """The stored entries of a sparse array: user, item, rating."""
    entries = table.tocoo()
    if len(entries.shape) != 2:
        raise DataError(f"a sparse array of ratings has rows and columns: got {entries.shape}")
    named = {}
    for what, names, size, numbers in (
        ("user", users, entries.shape[0], entries.row),
        ("item", items, entries.shape[1], entries.col),
    ):
        if names is None:
            named[what] = pl.Series(numbers.astype(np.int64))
            continue
        if len(names) != size:
            raise DataError(f"there are {size} {what}s in the array: got {len(names)} names")
        named[what] = pl.Series(names).gather(numbers.astype(np.int64))
    return pl.DataFrame({**named, "rating": pl.Series(entries.data)})
