"""The catalogue: public items and what is publicly known of each, never taken from ratings."""

from __future__ import annotations

from typing import Any

import polars as pl
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.database.declaration import count_catalogue_change
from discreet.database.schema import items
from discreet.errors import DataError
from discreet.items import Items


def read(connection: Connection) -> Items | None:
    """All items; None if there are none yet."""
    rows = connection.execute(sa.select(items.c.id, items.c.features)).all()
    if not rows:
        return None
    records = [{"item": row.id, **row.features} for row in rows]
    return Items.from_frame(pl.DataFrame(records, infer_schema_length=None))


def add(connection: Connection, table: Items) -> int:
    """Add items, or mend what is known of them; how many are new. None can be taken away."""
    frame = table.frame.with_columns(pl.col("item").cast(pl.String))
    known = set(connection.scalars(sa.select(items.c.id)))
    new: list[dict[str, Any]] = []
    mended: list[dict[str, Any]] = []
    for record in frame.iter_rows(named=True):
        id_ = record.pop("item")
        features = {name: value for name, value in record.items() if value is not None}
        (mended if id_ in known else new).append({"key": id_, "features": features})
    if new:
        rows = [{"id": row["key"], "features": row["features"]} for row in new]
        connection.execute(sa.insert(items), rows)
    if mended:
        change = sa.update(items).where(items.c.id == sa.bindparam("key"))
        connection.execute(change.values(features=sa.bindparam("features", type_=sa.JSON)), mended)
    count_catalogue_change(connection)
    return len(new)


def require_known(connection: Connection, ids: Any) -> None:
    """An error that names the first id which is not in the catalogue."""
    known = set(connection.scalars(sa.select(items.c.id)))
    for id_ in ids:
        if id_ not in known:
            raise DataError(f"item {id_!r} is not in the catalogue: import the item table first")
