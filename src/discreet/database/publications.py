"""The latest publication, as all processes see it, and who may make the next: one at a time.

Whoever publishes holds a lease, which is renewed while the program runs. A process that was killed
does not renew it, and another may publish once it has run out.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.database import ledger
from discreet.database.connection import Database, Lock, insert, now, one_at_a_time
from discreet.database.schema import releases, settings

LEASE_MS = 30_000
_NAME = "publication"
_MAKING = "being made"
_MAKERS = sa.select(
    settings.c.value, sa.select(sa.func.max(releases.c.number)).scalar_subquery().label("latest")
).where(settings.c.name == _MAKING)
"""Made once: it is asked with every rating that is given."""


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


@contextmanager
def making(database: Database) -> Iterator[None]:
    """While a release is made, by whatever program: said before any rating is read.

    A release that is there says by itself that it is no longer being made.
    """
    me = secrets.token_hex(8)

    def change(*, begins: bool) -> None:
        with database.writing() as connection:
            one_at_a_time(connection, Lock.PUBLICATION)
            others = [other for other in _makers(connection) if other != me]
            after, by = ledger.latest(connection), [*others, me] if begins else others
            _set(connection, _MAKING, {"after": after, "by": by})

    change(begins=True)
    try:
        yield
    except BaseException:
        with suppress(sa.exc.SQLAlchemyError):  # what went wrong may be the database
            change(begins=False)
        raise


def is_being_made(connection: Connection) -> bool:
    """Whether a release may be in the making, which has read ratings as they were when it began.

    Also where its publisher was killed, until the next release is there.
    """
    return bool(_makers(connection))


def _makers(connection: Connection) -> list[str]:
    """Who makes the release after the latest: who began before that one can make none."""
    found = connection.execute(_MAKERS).one_or_none()
    if found is None or found.value["after"] != (found.latest or 0):
        return []
    return list(found.value["by"])


def _stored(connection: Connection) -> Publication:
    value = _get(connection, _NAME)
    return Publication() if value is None else Publication(**value)


def _store(connection: Connection, publication: Publication) -> None:
    _set(connection, _NAME, asdict(publication))


def _get(connection: Connection, name: str) -> dict[str, Any] | None:
    return connection.scalar(sa.select(settings.c.value).where(settings.c.name == name))


def _set(connection: Connection, name: str, value: dict[str, Any]) -> None:
    statement = insert(connection, settings).values(name=name, value=value)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["name"], set_={"value": value})
    )
