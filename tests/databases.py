"""Databases for tests: a SQLite file, or a database in a PostgreSQL of the test run's own."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl
import psycopg
import pytest

from discreet.data.events import read_table
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database.connection import Database
from discreet.database.declaration import Declaration, establish
from discreet.operate.imports import add_items, add_ratings
from tests.processes import free_port


def postgresql_programs() -> Path | None:
    """The folder with initdb and postgres, wherever the system's packages put it."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((f for f in reversed(folders) if (f / "postgres").exists()), None)


# The server refuses to run as root; Debian's package brings a user for it.
SERVER_USER: dict[str, Any] = {"user": "postgres"} if os.getuid() == 0 else {}


@contextmanager
def running(programs: Path, folder: Path) -> Iterator[str]:
    """The URL of a server on the data in a folder; the folder goes with it."""
    for path in (folder, *folder.rglob("*")) if SERVER_USER else ():
        shutil.chown(path, "postgres")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    if not (folder / "data").exists():
        words = ["-D", folder / "data", "-A", "trust", "-U", "discreet", "--no-sync"]
        subprocess.run([programs / "initdb", *words], check=True, **quiet, **SERVER_USER)
    port = free_port()
    words = ["-D", folder / "data", "-k", folder, "-h", "127.0.0.1", "-p", str(port), "-F"]
    server = subprocess.Popen([programs / "postgres", *words], **quiet, **SERVER_USER)
    url = f"postgresql://discreet@127.0.0.1:{port}"
    for _ in range(600):
        try:
            psycopg.connect(f"{url}/postgres", connect_timeout=1).close()
            break
        except psycopg.OperationalError:
            time.sleep(0.05)
    try:
        yield url
    finally:
        server.send_signal(signal.SIGINT)  # at once, not when the last client has gone
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a PostgreSQL server on loopback that this test run starts and stops."""
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("no PostgreSQL here: install the package postgresql")
    with running(programs, Path(tempfile.mkdtemp(prefix="discreet-postgresql-"))) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database of either kind."""
    url = str(tmp_path / "club.db")
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql")
        name = f"t{uuid4().hex}"
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
        url = f"{server}/{name}"
    opened = Database(url)
    yield opened
    opened.close()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Database]:
    """An empty SQLite database, for what does not depend on the kind."""
    opened = Database(tmp_path / "club.db")
    yield opened
    opened.close()


def films(count: int = 30) -> Items:
    genres = (["Drama"], ["Comedy", "Crime"], ["War"])
    return Items.from_frame(
        pl.DataFrame(
            {
                "item": [str(100 + k) for k in range(count)],
                "title": [f"Film {k}" for k in range(count)],
                "year": [1990 + k for k in range(count)],
                "genres": [genres[k % 3] for k in range(count)],
            }
        )
    )


def filled(database: Database, ratings: Ratings, *, count: int = 30, **wanted: Any) -> Declaration:
    """Declare, add so many films, and these ratings; of events, that they were rated."""
    declared = establish(database, wanted)
    add_items(database, films(count))
    if declared.rules is not None:
        pairs = ratings.to_frame().select("user", "item", weight=pl.col("rating"))
        ratings = read_table(pairs, rules=declared.rules)
    add_ratings(database, declared, ratings)
    return declared
