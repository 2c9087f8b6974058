"""Detecting that a database is a copy: its generation is compared with where the database is.

For SQLite that is the file beside it (`privacy.beside`); for PostgreSQL the server, its timeline,
and the transaction that wrote the generation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.database.connection import Database, Lock, insert, one_at_a_time
from discreet.database.schema import items, releases, settings
from discreet.errors import LedgerError
from discreet.privacy.beside import Beside
from discreet.privacy.generation import Generation, unrecorded
from discreet.privacy.history import History, off_schedule
from discreet.privacy.keeper import Keeper

if TYPE_CHECKING:
    from discreet.database.declaration import Declaration

GENERATION = "generation"
_COPY, _SKIPPED = "is a copy", "numbers used elsewhere"
"""What older versions wrote down of copies."""
_XIDS = 2**32
"""A row has the last 32 bits of the number of the transaction that wrote it."""


class Server(NamedTuple):
    """Where a PostgreSQL database is, and which transaction wrote the row that says so."""

    system: str
    """Of the cluster: another one has another, also when it was upgraded into."""
    timeline: str
    """Another one since the cluster was recovered to an earlier time, or a replica took over."""
    database: str
    """A copy within the cluster has another."""
    transaction: int
    """A row that was dumped and restored was written by another one."""


_HERE = sa.text("""
    SELECT (SELECT system_identifier FROM pg_control_system())::text,
           left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
           (SELECT oid FROM pg_database WHERE datname = current_database())::text
""")
_WRITER = sa.text("SELECT pg_current_xact_id()::text::numeric")
_WRITTEN = sa.text("SELECT xmin::text::bigint FROM settings WHERE name = :name")


class DatabaseKeeper(Keeper[Connection]):
    """Keeps the generation in the table of settings, one transaction at a time."""

    def __init__(self, database: Database) -> None:
        self.database = database
        if database.sqlite:
            path = Path(database.url.database or "").resolve()
            self.beside = Beside(path, before="latest")

    def command(self, declared: str) -> str:
        """The command; PostgreSQL has nothing beside it that tells the latest number."""
        after = " --after N" if declared == "restored" and self.beside is None else ""
        return f"discreet operate {declared}{after}"

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction, one at a time."""
        with self.database.writing() as connection:
            one_at_a_time(connection, Lock.GENERATION)
            yield connection

    def load(self, at: Connection) -> Generation | None:
        """The generation; nobody changes it before the transaction ends."""
        return _stored(at, _value(GENERATION).with_for_update())

    def save(self, at: Connection, generation: Generation) -> None:
        """Store it; in PostgreSQL with where and by which transaction."""
        if self.beside is None:
            writer = int(at.scalar(_WRITER) or 0)
            place = "/".join(map(str, Server(*_here(at), writer)))
            generation = replace(generation, place=place)
        statement = insert(at, settings)
        changed = statement.on_conflict_do_update(
            index_elements=["name"], set_={"value": statement.excluded.value}
        )
        at.execute(changed, [{"name": GENERATION, "value": generation.to_dict()}])
        at.execute(sa.delete(settings).where(settings.c.name.in_([_COPY, _SKIPPED])))

    def releases(self, at: Connection) -> dict[int, str]:
        """The digests of all releases by their numbers."""
        rows = at.execute(sa.select(releases.c.number, releases.c.digest))
        return {row.number: row.digest for row in rows}

    def older(self, at: Connection) -> Generation:
        """The first generation of a database that an older version wrote."""
        return unrecorded(max(self.known(at)), _skipped(at))

    def strange(self, at: Connection) -> str | None:
        """Why a database that an older version wrote may be a copy: that one left a file."""
        labelled = at.scalar(_value(_COPY)) is not None
        published = labelled or max(self.known(at)) > 0
        if self.beside is not None and self.beside.current is None and published:
            return "this database is a copy: nothing beside it says that it published"
        return super().strange(at)

    def moved_away(self, at: Connection, generation: Generation) -> str | None:
        """Why PostgreSQL is not where, or when, the generation was written."""
        if self.beside is not None:
            return None
        system, timeline, database, writer = generation.place.split("/")
        here = _here(at)
        if here[0] != system or here[2] != database:
            return "this database is a copy: it was published from another server or database"
        if here[1] != timeline:
            return "the server was taken back to an earlier moment, or a replica has taken over"
        if at.scalar(_WRITTEN, {"name": GENERATION}) != int(writer) % _XIDS:
            return "this database is a copy: its rows were restored from a dump"
        return None


def history(connection: Connection, declared: Declaration, number: int, begun_at: int) -> History:
    """What happened up to release `number`, which begins at `begun_at`."""
    inside = _inside(connection)
    query = sa.select(releases.c.number, releases.c.begun_at).order_by(releases.c.number)
    begun = [(row.number, row.begun_at) for row in connection.execute(query)]
    gone = sa.select(sa.func.count()).where(items.c.removed_at.is_not(None))
    return inside.history(
        number,
        every_hours=declared.publish_every_hours,
        off_schedule=off_schedule([*begun, (number, begun_at)], declared.schedules),
        changes=tuple(change.words for change in declared.changes),
        removed=int(connection.scalar(gone) or 0),
    )


def was_restored(connection: Connection) -> bool:
    """Whether this database was ever declared an older copy of itself, as far as it knows."""
    return bool(_inside(connection).restores)


def current(connection: Connection) -> Generation:
    """The generation: another one since an older copy was restored and charged in full."""
    return _inside(connection)


def next_number(connection: Connection) -> int:
    """The number of the next release: no number is given twice, also after a restored copy."""
    return _inside(connection).next_number(_latest(connection))


def _value(name: str) -> sa.Select[tuple[Any]]:
    return sa.select(settings.c.value).where(settings.c.name == name)


def _stored(connection: Connection, query: sa.Select[tuple[Any]]) -> Generation | None:
    found = connection.scalar(query)
    return None if found is None else Generation.of(found)


def _inside(connection: Connection) -> Generation:
    """As it is stored, or as the next publication will store it for an older version's database."""
    stored = _stored(connection, _value(GENERATION))
    return stored or unrecorded(_latest(connection), _skipped(connection))


def _latest(connection: Connection) -> int:
    return int(connection.scalar(sa.select(sa.func.max(releases.c.number))) or 0)


def _skipped(connection: Connection) -> int:
    return int(connection.scalar(_value(_SKIPPED)) or 0)


def _here(connection: Connection) -> tuple[str, str, str]:
    try:
        system, timeline, database = connection.execute(_HERE).one()
    except sa.exc.DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0]
        raise LedgerError(
            f"PostgreSQL does not say which server and timeline this is: {reason}"
        ) from None
    return system, timeline, database
