"""Dumps, replicas and recovery: PostgreSQL's generation; and what a restore cannot know."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from discreet.data.ratings import Ratings
from discreet.database import generation, own_ratings, people
from discreet.database.connection import Database
from discreet.database.declaration import Declaration
from discreet.errors import LedgerError
from discreet.operate.copies import back_up, charge_in_full
from discreet.operate.releases import publish
from tests.databases import filled, postgresql_programs, running
from tests.operate.test_generations import history, put_back
from tests.operate.test_publish import spent


def rate(database: Database, person: str) -> None:
    with database.writing() as connection:
        people.new_person(connection, person)
        own_ratings.put(connection, person, "100", 5.0, 1.0)


def test_a_rating_that_was_lost_and_given_again_is_named_by_every_later_history(
    database: Database, small: Ratings, tmp_path: Path, postgresql: str
) -> None:
    """The review's B2: bob lost 2.0 where his level is 1."""
    declared = filled(database, small)
    publish(database, declared)
    copy = Copy(database, tmp_path, postgresql)
    rate(database, "bob")
    publish(database, declared)
    copy.put_back()
    with pytest.raises(LedgerError, match="copy"):
        publish(database, declared)
    charge_in_full(database, declared, after=2)
    rate(database, "bob")
    before = spent(database)["total"]
    assert publish(database, declared)[0].number == 3
    assert spent(database)["total"] == pytest.approx(before + 1.0, abs=1e-5)
    for number in (3, 4):
        found = history(database)
        assert [restore.known for restore in found.restores] == [1]
        assert (found.release, found.whole) == (number + 1, False)
        publish(database, declared)


class Copy:
    """A copy of either kind, made as docs/service.md says."""

    def __init__(self, database: Database, folder: Path, server: str) -> None:
        self.database, self.folder, self.server = database, folder, server
        if database.sqlite:
            back_up(database, folder / "copy.db")
        else:
            words = ["--format=custom", f"--file={folder / 'copy.dump'}"]
            postgresql_program("pg_dump", *words, f"{server}/{database.url.database}")

    def put_back(self, name: str | None = None) -> None:
        self.database.close()
        if self.database.sqlite:
            put_back(self.folder / "copy.db", self.folder / "club.db")
            return
        words = ["--clean", "--if-exists"] if name is None else []
        into = f"--dbname={self.server}/{name or self.database.url.database}"
        postgresql_program("pg_restore", *words, into, str(self.folder / "copy.dump"))


def postgresql_program(name: str, *words: str) -> None:
    programs = postgresql_programs()
    assert programs is not None
    program = shutil.which(name, path=(programs / "initdb").resolve().parent)
    if program is None:
        pytest.skip(f"no {name} here: install the package postgresql-client")
    subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL)


def recovered(server: str) -> None:
    """Wait until a server has read what there was to recover: until then it only answers."""
    end = time.monotonic() + 120
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        while connection.execute("SELECT pg_is_in_recovery()").fetchone() != (False,):
            assert time.monotonic() < end, "PostgreSQL did not end its recovery"
            time.sleep(0.05)


def ask(server: str, statement: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement)  # type: ignore[arg-type]


@pytest.fixture
def served(postgresql: str, small: Ratings) -> Iterator[tuple[Database, Declaration]]:
    """A PostgreSQL database with a release."""
    name = f"t{uuid4().hex}"
    ask(f"{postgresql}/postgres", f"CREATE DATABASE {name}")
    database = Database(f"{postgresql}/{name}")
    declared = filled(database, small)
    publish(database, declared)
    yield database, declared
    database.close()


def test_postgresql_that_is_only_tidied_up_goes_on(
    served: tuple[Database, Declaration], postgresql: str
) -> None:
    database, declared = served
    database.close()
    for words in ("VACUUM FREEZE settings", "VACUUM (FULL, FREEZE) settings", "CHECKPOINT"):
        ask(f"{postgresql}/{database.url.database}", words)
    assert publish(database, declared)[0].number == 2


def test_a_dump_that_was_restored_into_another_database_publishes_once_declared(
    served: tuple[Database, Declaration], postgresql: str, tmp_path: Path
) -> None:
    database, declared = served
    other = f"t{uuid4().hex}"
    ask(f"{postgresql}/postgres", f"CREATE DATABASE {other}")
    Copy(database, tmp_path, postgresql).put_back(other)
    copy = Database(f"{postgresql}/{other}")
    with pytest.raises(LedgerError, match="is a copy"):
        publish(copy, declared)
    assert generation.DatabaseKeeper(copy).moved()
    assert not generation.DatabaseKeeper(copy).moved()
    assert publish(copy, declared)[0].number == 2
    assert len(history(copy).moves) == 1
    copy.close()


def test_a_copy_within_postgresql_publishes_nowhere(
    served: tuple[Database, Declaration], postgresql: str
) -> None:
    database, declared = served
    database.close()
    other = f"t{uuid4().hex}"
    words = f"CREATE DATABASE {other} TEMPLATE {database.url.database} STRATEGY file_copy"
    ask(f"{postgresql}/postgres", words)
    copy = Database(f"{postgresql}/{other}")
    with pytest.raises(LedgerError, match="another server or database"):
        publish(copy, declared)
    copy.close()
    assert publish(database, declared)[0].number == 2


def test_postgresql_that_was_recovered_to_a_moment_is_noticed(
    served: tuple[Database, Declaration], postgresql: str
) -> None:
    database, declared = served
    database.close()
    folder = Path(tempfile.mkdtemp(prefix="discreet-postgresql-"))  # where its user may go
    data, programs = folder / "data", postgresql_programs()
    assert programs is not None
    words = ["--pgdata", str(data), "--wal-method=fetch", "--checkpoint=fast", "--dbname"]
    postgresql_program("pg_basebackup", *words, f"{postgresql}/postgres")
    (data / "recovery.signal").write_text("")
    with (data / "postgresql.auto.conf").open("a") as file:
        file.write("restore_command = 'false'\n")
    with running(programs, folder) as server:
        recovered(server)
        copy = Database(f"{server}/{database.url.database}")
        with pytest.raises(LedgerError, match="taken back to an earlier moment"):
            publish(copy, declared)
        copy.close()


def test_a_role_without_special_rights_can_publish(
    served: tuple[Database, Declaration], postgresql: str
) -> None:
    database, declared = served
    database.close()
    place, role = f"{postgresql}/{database.url.database}", f"r{uuid4().hex}"
    ask(place, f"CREATE ROLE {role} LOGIN")
    ask(place, f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
    plain = Database(place.replace("discreet@", f"{role}@"))
    assert publish(plain, declared)[0].number == 2
    plain.close()
