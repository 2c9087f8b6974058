"""Acts: what operators did, and when; for operators, and for a person whom one concerns."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.database.connection import now
from discreet.database.schema import acts


class Act(NamedTuple):
    """One thing that an operator did."""

    at: int
    operator: str
    act: str
    detail: str
    person: str | None = None
    """Whom it concerns."""


UNNAMED = "operator"
"""An operator whose token was made without a name."""
_COLUMNS = [acts.c[name] for name in Act._fields]


def note(
    connection: Connection, operator: str, act: str, detail: str = "", *, person: str | None = None
) -> None:
    """Write down what an operator does, in the transaction that does it."""
    row = Act(now(), operator, act, detail, person)
    connection.execute(sa.insert(acts).values(**row._asdict()))


def latest(connection: Connection, most: int) -> list[Act]:
    """The latest acts, the newest first."""
    query = sa.select(*_COLUMNS).order_by(acts.c.number.desc()).limit(most)
    return [Act._make(row) for row in connection.execute(query)]


def concerning(connection: Connection, person: str) -> list[Act]:
    """All acts that concern a person, the newest first: for that person."""
    query = sa.select(*_COLUMNS).where(acts.c.person == person).order_by(acts.c.number.desc())
    return [Act._make(row) for row in connection.execute(query)]
