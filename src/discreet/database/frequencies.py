"""How often somebody asks, for all processes together: a keyed hash, and what is left."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.database.connection import insert, now
from discreet.database.declaration import ledger_key
from discreet.database.people import hidden
from discreet.database.schema import frequencies

FORGOTTEN_MS = 600_000
"""After ten minutes every bucket is full again, and its row says nothing."""


def take(connection: Connection, who: str, per_second: float, burst: float, wanted: float) -> float:
    """Take up to `wanted` of somebody's bucket; what there was."""
    c, begun = frequencies.c, now()
    name = hidden(ledger_key(connection), f"frequency:{who}")
    # Who come first at the same moment must not all find a full bucket: one makes it for all.
    full = insert(connection, frequencies).values(who=name, left=burst, at=begun)
    connection.execute(full.on_conflict_do_nothing())
    row = connection.execute(sa.select(c.left, c.at).where(c.who == name).with_for_update())
    left, since = row.one_or_none() or (burst, begun)
    at = max(now(), since)  # after waiting for others: what has been filled is not filled again
    left = min(burst, left + (at - since) / 1000 * per_second)
    got = min(left, wanted)
    connection.execute(sa.delete(frequencies).where(c.at < at - FORGOTTEN_MS))
    kept = {"left": left - got, "at": at}
    statement = insert(connection, frequencies).values(who=name, **kept)
    connection.execute(statement.on_conflict_do_update(index_elements=["who"], set_=kept))
    return float(got)
