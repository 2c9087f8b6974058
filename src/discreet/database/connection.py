"""Connections: SQLite by default, PostgreSQL by URL; readers see one snapshot, writers queue."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, Connection, Engine, make_url

from discreet.errors import BusyError, DatabaseError

BUSY_SECONDS = 60
"""How long a writer waits for another process's: a publisher records its spends in one piece."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.0005, 0.005
"""Seconds between two questions whether it is our turn."""
IDLE_SECONDS = 1.0
"""After so long a connection to a server is asked whether it is still one."""
MOST_WAITING = 16
"""Writers who may wait in line; more would keep all threads from those who only read."""


class Lock(IntEnum):
    """What only one transaction does at a time; PostgreSQL knows a lock by an arbitrary number."""

    BEGINNING = 0x64697363
    """Of a database: its tables and its declaration."""
    GENERATION = 0x64697367
    """The ledger's: reading what was declared and published, and writing it."""
    SPENDS = 0x64697369
    """The ledger's pages, which are read, added to, and written back."""
    CATALOGUE = 0x64697364
    """Adding to it, which looks at what is there."""
    TOKENS = 0x64697365
    """Giving a token for another one, and ending those that there are."""
    PUBLICATION = 0x64697368
    """Who may publish next."""
    RETURNING = 0x64697366
    """What was deleted or erased, against what brings people and ratings back."""


Insert = sqlite.Insert | postgresql.Insert


def insert(connection: Connection, table: sa.Table) -> Insert:
    """An insert that can say what happens to rows that are there already."""
    return insert_into(connection.dialect.name, table)


def insert_into(dialect: str, table: sa.Table) -> Insert:
    """The same by the name of what speaks to the database."""
    return (sqlite.insert if dialect == "sqlite" else postgresql.insert)(table)


def one_at_a_time(
    connection: Connection, what: Lock = Lock.BEGINNING, *, shared: bool = False
) -> None:
    """Let others who want the same wait until our transaction ends; those who share it, together.

    Whatever is read after this is as they left it. SQLite's writers wait for each other anyway.
    """
    if connection.dialect.name == "postgresql":
        f = sa.func
        take = f.pg_advisory_xact_lock_shared if shared else f.pg_advisory_xact_lock
        connection.execute(sa.select(take(int(what))))


def now() -> int:
    """The time as it is stored: milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def utc_time(at: int) -> str:
    """A stored time for people to read.

    >>> utc_time(0)
    '1 Jan 1970, 00:00 UTC'
    """
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%-d %b %Y, %H:%M UTC")


class Database:
    """An open database; `url` is a path, or postgresql://..., or sqlite:///...

    >>> Database("club.db").url.database
    'club.db'
    """

    def __init__(self, url: str | Path) -> None:
        self.url = _parsed(str(url))
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._engine: Engine | None = None
        # SQLite lets one write at a time; waiting in line here is fairer than its own polling.
        self._turn = _Line() if self.sqlite else None

    def __repr__(self) -> str:
        # A password may also stand in a URL's query: only what names the database is shown.
        place = f"{self.url.host}/" if self.url.host else ""
        return f"Database({self.url.get_backend_name()}: {place}{self.url.database})"

    @property
    def exists(self) -> bool:
        """Whether there is a file; of a server we only learn by asking."""
        return not self.sqlite or Path(self.url.database or "").is_file()

    @property
    def waiting_writers(self) -> int:
        """How many threads wait for their turn to write to SQLite; a server has its own queue."""
        return 0 if self._turn is None else self._turn.waiting

    @property
    def engine(self) -> Engine:
        """Made on first use: a database file is created, readable by its owner alone."""
        if self._engine is None:
            self._engine = self._sqlite() if self.sqlite else self._server()
            # Who forgets to close it leaves nothing open; at exit the system does, and a forked
            # process must not end its parent's connections.
            weakref.finalize(self, self._engine.dispose).atexit = False
        return self._engine

    def _sqlite(self) -> Engine:
        path = Path(self.url.database or "")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise DatabaseError(f"cannot open the database {path}: {error.strerror}") from None
        engine = sa.create_engine(
            self.url,
            pool_size=64,
            hide_parameters=True,
            connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
        )
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine

    def _server(self) -> Engine:
        engine = sa.create_engine(
            self.url,
            pool_size=16,
            max_overflow=48,
            hide_parameters=True,
            # Whatever the server's default: what was shown as done must survive a crash.
            connect_args={"connect_timeout": 10, "options": "-c synchronous_commit=on"},
        )
        event.listen(engine, "checkin", _note_use)
        event.listen(engine, "checkout", _ask_if_idle)
        return engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads one consistent snapshot, whatever is written meanwhile."""
        with self.connected() as connection:
            options: dict[str, Any] = {"writing": False}
            if not self.sqlite:
                options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
            with connection.execution_options(**options).begin():
                yield connection

    def forget(self) -> None:
        """Overwrite what was erased also in SQLite's log, as far as nobody is reading it."""
        if self.sqlite:
            with self.engine.connect() as connection:
                driver = connection.connection.driver_connection
                assert driver is not None
                driver.execute("PRAGMA busy_timeout = 1000")  # not for long: a reader may be slow
                driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                driver.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is durable when the block ends, or leaves no trace."""
        with (
            self._turn or nullcontext(),
            self.connected() as connection,
            connection.execution_options(writing=True).begin(),
        ):
            yield connection

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """A connection on which no transaction has begun."""
        try:
            connection = self.engine.connect()
        except sa.exc.DBAPIError as error:
            # The driver's words may hold a host name, never a password or a value.
            reason = str(error.orig).strip().splitlines()[0]
            raise DatabaseError(f"cannot open {self!r}: {reason}") from None
        with connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None


class _Line:
    """A lock whose queue has a limit: who comes when it is full is refused."""

    def __init__(self) -> None:
        self._lock, self.waiting = threading.Lock(), 0

    def __enter__(self) -> None:
        if self.waiting >= MOST_WAITING:
            raise BusyError("too many are writing at the moment: try again in a second")
        self.waiting += 1
        try:
            self._lock.acquire()
        finally:
            self.waiting -= 1

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _parsed(url: str) -> URL:
    if "://" not in url:
        return URL.create("sqlite", database=url)
    try:
        parsed = make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise DatabaseError(
            "the database is a path, or a URL such as postgresql://user@host/name: this is neither"
        ) from None
    backend = parsed.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise DatabaseError(f"SQLite and PostgreSQL are supported: got {backend!r}")
    if backend == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise DatabaseError("SQLite needs a file: ratings and the ledger must survive a crash")
        return parsed
    return parsed.set(drivername="postgresql+psycopg")


def _note_use(_connection: Any, record: Any) -> None:
    record.info["used"] = time.monotonic()


def _ask_if_idle(connection: Any, record: Any, _proxy: Any) -> None:
    """Whether the server is still there, of a connection that was not used for a while: a server
    that was started anew is met with another one, and a busy service need not ask every time."""
    if time.monotonic() - record.info.get("used", float("inf")) < IDLE_SECONDS:
        return
    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except Exception:
        raise sa.exc.DisconnectionError from None


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves
    _write_ahead(connection)
    for pragma in (
        "synchronous = FULL",  # durable before COMMIT returns
        "foreign_keys = ON",
        "secure_delete = ON",  # what is erased is overwritten
    ):
        connection.execute(f"PRAGMA {pragma}")


def _write_ahead(connection: Any) -> None:
    """Turn a new file's log on; several processes may want to, and SQLite lets them not wait."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    driver = connection.connection.driver_connection
    assert driver is not None
    # A reader that turns writer can be refused for good; one that says so first only waits.
    if connection.get_execution_options().get("writing", True):
        driver.execute("PRAGMA busy_timeout = 0")
        try:
            _wait_to_write(connection, driver)
        finally:
            driver.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    else:
        driver.execute("BEGIN")  # which cannot fail, and SQLAlchemy takes ten times as long


def _wait_to_write(connection: Connection, driver: Any) -> None:
    """Begin as soon as no other process writes; who waits asks every few milliseconds.

    SQLite's own waiting asks less and less often, up to every tenth of a second: between two of its
    questions a busy process writes ten times, and the other one waits for seconds.
    """
    end, pause = time.monotonic() + BUSY_SECONDS, SHORTEST_PAUSE
    while time.monotonic() < end:
        try:
            driver.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                break
        time.sleep(pause)
        pause = min(1.2 * pause, LONGEST_PAUSE)
    connection.exec_driver_sql("BEGIN IMMEDIATE")  # whose error is one of SQLAlchemy's
