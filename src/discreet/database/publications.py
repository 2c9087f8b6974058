"""The latest publication, as all processes see it, and who may make the next: one at a time.

Whoever publishes holds a lease, which is renewed while the program runs. A process that was killed
does not renew it, and another may publish once it has run out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.database import ledger
from discreet.database.connection import Database, Lock, insert, now, one_at_a_time
from discreet.database.schema import settings

LEASE_MS = 30_000
_NAME = "publication"


@dataclass(frozen=True)
class Publication:
    """A publication that a service started."""

    state: str = "idle"
    """idle, running, published, failed"""
    begun_at: int | None = None
    ended_at: int | None = None
    number: int | None = None
    message: str = ""
    """Why it failed: for the operator alone."""
    holder: str = ""
    """The process that runs it."""
    until: int = 0
    """When its lease ends."""
    before: int = 0
    """The latest release when it began."""
    step: str = ""
    """What the program is doing."""
    done: int = 0
    total: int = 0
    """How far it is with that."""


def current(connection: Connection) -> Publication:
    """The latest publication; of one whose process was killed, what became of it."""
    found = _stored(connection)
    if found.state != "running" or found.until > now():
        return found
    number = ledger.latest(connection)
    if number > found.before:  # the program has outlived the process that started it
        return replace(found, state="published", number=number, ended_at=found.until)
    return replace(
        found, state="failed", ended_at=found.until, message="the process that ran it has ended"
    )


def begin(
    database: Database, holder: str, still_wanted: Callable[[Connection], bool]
) -> Publication | None:
    """Take the lease for a publication; None if one is running, or none is wanted any more."""
    with database.writing() as connection:
        one_at_a_time(connection, Lock.PUBLICATION)
        if current(connection).state == "running" or not still_wanted(connection):
            return None
        at = now()
        begun = Publication(
            "running", at, holder=holder, until=at + LEASE_MS, before=ledger.latest(connection)
        )
        _store(connection, begun)
    return begun


def renew(database: Database, holder: str, **found: Any) -> None:
    """Say that the program is still running, and how far it is."""
    with database.writing() as connection:
        one_at_a_time(connection, Lock.PUBLICATION)
        stored = _stored(connection)
        if stored.state == "running" and stored.holder == holder:
            _store(connection, replace(stored, until=now() + LEASE_MS, **found))


def end(database: Database, holder: str, **found: Any) -> None:
    """Say how it ended, unless another process publishes by now."""
    with database.writing() as connection:
        one_at_a_time(connection, Lock.PUBLICATION)
        stored = _stored(connection)
        if stored.holder == holder:
            _store(connection, replace(stored, ended_at=now(), **found))


def _stored(connection: Connection) -> Publication:
    value = connection.scalar(sa.select(settings.c.value).where(settings.c.name == _NAME))
    return Publication() if value is None else Publication(**value)


def _store(connection: Connection, publication: Publication) -> None:
    value = asdict(publication)
    statement = insert(connection, settings).values(name=_NAME, value=value)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["name"], set_={"value": value})
    )
