"""The catalogue in the database: public items, and what is known of each without the ratings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import polars as pl
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.data.items import Items
from discreet.database.connection import Lock, insert, now, one_at_a_time
from discreet.database.declaration import count_catalogue_change
from discreet.database.schema import items, settings
from discreet.errors import DataError

LONGEST_ID = 200
VOUCHED = "vouched columns"
_REMOVED = sa.select(items.c.id).where(items.c.removed_at.is_not(None))
_KINDS = {"title": (str,), "year": (int, float), "genres": (list,)}
"""What the page shows must be what it expects."""


def read(connection: Connection) -> Items | None:
    """All items; None if there are none yet. Of those that were taken down the id alone is left."""
    stored, gone = _stored(connection), removed(connection)
    shown = {id_: {} if id_ in gone else known for id_, known in stored.items()}
    return _as_items(shown, _vouched(connection)) if stored else None


def removed(connection: Connection) -> frozenset[str]:
    """The items that were taken down."""
    return frozenset(connection.scalars(_REMOVED))


def titles(connection: Connection, wanted: Iterable[str]) -> list[str]:
    """What items are called, those that were taken down as well; by its id one without a title."""
    stored = _stored(connection)
    return [str(stored.get(item, {}).get("title") or item) for item in wanted]


def take_down(connection: Connection, item: str, *, back: bool = False) -> bool:
    """Take an item down, or put it back; False if it was so already.

    It stays in the catalogue by its id: releases that are out have it, and later ones add to them.
    """
    require_known(connection, [item])
    at = None if back else now()
    same = items.c.removed_at.is_not(None) if back else items.c.removed_at.is_(None)
    change = sa.update(items).where(items.c.id == item, same).values(removed_at=at)
    if not connection.execute(change).rowcount:
        return False
    count_catalogue_change(connection)
    return True


def add(connection: Connection, table: Items) -> int:
    """Add items, or mend what is known of them; how many are new. None can be taken away.

    The whole catalogue is checked as it will be, before anything of it can be seen. A column that
    was vouched for once is so for good.
    """
    frame = table.frame.with_columns(pl.col("item").cast(pl.String))
    one_at_a_time(connection, Lock.CATALOGUE)
    before = _stored(connection)
    after = dict(before)
    for record in frame.iter_rows(named=True):
        id_ = record.pop("item")
        known = {name: value for name, value in record.items() if value is not None}
        after[id_] = {**before.get(id_, {}), **known}
    _check(after)
    vouched = dict.fromkeys((*_vouched(connection), *table.vouched))
    _as_items(after, vouched)
    new = [{"id": id_, "features": after[id_]} for id_ in after if id_ not in before]
    mended = [{"key": id_, "features": after[id_]} for id_ in before if after[id_] != before[id_]]
    if new:
        connection.execute(sa.insert(items), new)
    if mended:
        change = sa.update(items).where(items.c.id == sa.bindparam("key"))
        connection.execute(change.values(features=sa.bindparam("features", type_=sa.JSON)), mended)
    if vouched:
        _keep_vouched(connection, list(vouched))
    count_catalogue_change(connection)
    return len(new)


def require_known(connection: Connection, ids: Any) -> None:
    """An error that names the first id which is not in the catalogue."""
    known = set(connection.scalars(sa.select(items.c.id)))
    for id_ in ids:
        if id_ not in known:
            raise DataError(f"item {id_!r} is not in the catalogue: import the item table first")


def _stored(connection: Connection) -> dict[str, dict[str, Any]]:
    rows = connection.execute(sa.select(items.c.id, items.c.features)).all()
    return {row.id: row.features for row in rows}


def _vouched(connection: Connection) -> list[str]:
    """Columns that look derived from ratings, of which the operator said that they are not."""
    chosen = sa.select(settings.c.value).where(settings.c.name == VOUCHED)
    return [str(name) for name in connection.scalar(chosen) or ()]


def _keep_vouched(connection: Connection, names: list[str]) -> None:
    statement = insert(connection, settings).values(name=VOUCHED, value=names)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["name"], set_={"value": names})
    )


def _as_items(features: dict[str, dict[str, Any]], vouched: Iterable[str]) -> Items:
    records = [{"item": id_, **known} for id_, known in features.items()]
    try:
        frame = pl.DataFrame(records, infer_schema_length=None)
        present = [name for name in vouched if name in frame.columns]
        return Items.from_frame(frame, public_columns=present)
    except (pl.exceptions.PolarsError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"the item table does not go with the catalogue: {reason}") from None


def _check(features: dict[str, dict[str, Any]]) -> None:
    """One kind of value in every column, and values that every database can hold."""
    kinds: dict[str, type] = {}
    for id_, known in features.items():
        if not 0 < len(id_) <= LONGEST_ID or not id_.isprintable():
            raise DataError(
                f"an item's id has 1 to {LONGEST_ID} letters that can be shown: got {id_[:30]!r}"
            )
        for name, value in known.items():
            kind = float if type(value) is int else type(value)
            if kind not in (str, float, bool, list) or not _sound(value):
                raise DataError(
                    f"item {id_!r}: {name} is not a text, number, flag or list of texts"
                )
            wanted = _KINDS.get(name)
            if kinds.setdefault(name, kind) is not kind or (
                wanted is not None and not isinstance(value, wanted)
            ):
                raise DataError(
                    f"item {id_!r}: {name} is {value!r}, but a {kinds[name].__name__} for other "
                    "items or by its name: mend the table"
                )


def _sound(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return all(isinstance(part, str) and _sound(part) for part in value)
    return not isinstance(value, str) or "\x00" not in value
