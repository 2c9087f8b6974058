"""The recommender's memory: connections, migrations, the declaration, people."""

import stat
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from discreet.database import glance, own_ratings, people, schema
from discreet.database.connection import Database, now
from discreet.database.declaration import Declaration, establish, opened
from discreet.database.migrations import migrate
from discreet.database.people import Role
from discreet.errors import DatabaseError, DiscreetError
from discreet.operate.imports import add_items
from tests.databases import films


def test_migrations_lead_to_the_declared_tables(database: Database) -> None:
    migrate(database)
    with database.reading() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), schema.metadata)
    assert differences == []


def test_migrating_again_keeps_everything(database: Database) -> None:
    establish(database)
    with database.writing() as connection:
        people.new_person(connection, "ann")
    migrate(database)
    with database.reading() as connection:
        assert people.joined_at(connection, "ann") > 0


def test_several_services_may_start_at_once(database: Database) -> None:
    problems: list[Exception] = []

    def start() -> None:
        own = Database(database.url.render_as_string(hide_password=False))
        try:
            establish(own)
        except Exception as error:
            problems.append(error)
        finally:
            own.close()

    starting = [threading.Thread(target=start) for _ in range(4)]
    for thread in starting:
        thread.start()
    for thread in starting:
        thread.join()
    assert problems == []


def test_a_database_of_a_newer_version_is_refused(database: Database) -> None:
    migrate(database)
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DatabaseError, match="newer version"):
        migrate(database)


def test_only_its_owner_can_read_a_database_file(sqlite: Database, tmp_path: Path) -> None:
    establish(sqlite)
    with sqlite.writing() as connection:
        people.new_person(connection)
        modes = {f.name: stat.S_IMODE(f.stat().st_mode) for f in tmp_path.iterdir()}
    assert set(modes.values()) == {0o600}, modes


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "a://b://c", "://"]
)
def test_other_databases_are_refused_by_name(url: str) -> None:
    with pytest.raises(DatabaseError):
        Database(url)


def test_a_server_that_is_not_there_is_an_error_without_a_password() -> None:
    with pytest.raises(DatabaseError, match="cannot open") as caught:
        establish(Database("postgresql://ann:hunter2@127.0.0.1:1/nothing"))
    assert "hunter2" not in str(caught.value)


def test_a_database_that_is_not_there_is_not_begun_by_accident(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="check the path"):
        opened(str(tmp_path / "none.db"))
    assert not (tmp_path / "none.db").exists()


def test_what_was_declared_stays(database: Database) -> None:
    first = establish(database, {"levels": (1.0, 0.2), "scale": (0, 10), "things": "books"})
    assert first.levels == (0.2, 1.0)
    assert first.usual_level == 0.2
    assert establish(database) == first
    assert establish(database, {"levels": (0.2, 1.0)}) == first
    for changed in ({"levels": (0.2, 2.0)}, {"delta": 1e-8}, {"scale": (1, 5)}):
        with pytest.raises(DatabaseError, match="cannot be changed"):
            establish(database, changed)
    assert asdict(establish(database)) == asdict(first)


@pytest.mark.parametrize(
    "wanted",
    [{"levels": ()}, {"levels": (0.0,)}, {"levels": (float("nan"),)}, {"default_level": 2.0},
     {"delta": 1.0}, {"scale": (5, 1)}, {"publish_every_hours": -1.0}, {"things": " "}],
)  # fmt: skip
def test_a_declaration_that_promises_nothing_is_refused(wanted: dict[str, object]) -> None:
    with pytest.raises(DiscreetError):
        Declaration(**wanted)  # type: ignore[arg-type]


def test_tokens_are_stored_as_hashes_alone(database: Database) -> None:
    establish(database)
    with database.writing() as connection:
        people.new_person(connection, "ann")
        token = people.issue(connection, Role.PERSON, "ann")
        ended = people.issue(connection, Role.OPERATOR, days=-1)
    with database.reading() as connection:
        rows = connection.execute(sa.select(schema.tokens)).all()
        holder = people.bearer(connection, token)
        late = people.bearer(connection, ended)
        nobody = people.bearer(connection, token + "x")
    assert [people.holder(database, t) for t in (token, ended, "x")] == [holder, late, None]
    assert token not in str(rows)
    assert holder is not None
    assert (holder.role, holder.person) == (Role.PERSON, "ann")
    assert late is not None
    assert late.expires_at < now()
    assert nobody is None


def test_erasing_removes_ratings_and_tokens(database: Database) -> None:
    establish(database)
    add_items(database, films())
    with database.writing() as connection:
        for name in ("ann", "bob"):
            people.new_person(connection, name)
            own_ratings.put(connection, name, "100", 4.0, 0.1)
        token = people.issue(connection, Role.PERSON, "ann")
        people.erase(connection, "ann")
    with database.reading() as connection:
        assert own_ratings.of(connection, "ann") == []
        assert people.bearer(connection, token) is None
        assert len(own_ratings.of(connection, "bob")) == 1


def test_ratings_are_put_changed_and_removed(database: Database) -> None:
    establish(database)
    add_items(database, films())
    with database.writing() as connection:
        people.new_person(connection, "ann")
        own_ratings.put(connection, "ann", "100", 4.0, 0.1)
        own_ratings.put(connection, "ann", "100", 2.0, 0.3)
        own_ratings.put(connection, "ann", "101", 5.0, 0.1)
        assert own_ratings.remove(connection, "ann", "101")
        assert not own_ratings.remove(connection, "ann", "101")
    with database.reading() as connection:
        [own] = own_ratings.of(connection, "ann")
        assert own[:3] == ("100", 2.0, 0.3)
        assert own_ratings.one(connection, "ann", "100") == own
        assert own_ratings.one(connection, "bob", "100") is None


def test_a_reader_sees_one_snapshot(database: Database) -> None:
    establish(database)
    add_items(database, films())
    with database.writing() as connection:
        people.new_person(connection, "ann")
        own_ratings.put(connection, "ann", "100", 4.0, 0.1)
    with database.reading() as reader:
        before = own_ratings.of(reader, "ann")
        with database.writing() as writer:
            own_ratings.put(writer, "ann", "101", 1.0, 0.1)
        assert own_ratings.of(reader, "ann") == before
    with database.reading() as reader:
        assert len(own_ratings.of(reader, "ann")) == 2


def test_a_transaction_that_fails_leaves_no_trace(database: Database) -> None:
    establish(database)

    def fail_half_way() -> None:
        with database.writing() as connection:
            people.new_person(connection, "ann")
            own_ratings.put(connection, "nobody", "nothing", 4.0, 0.1)

    with pytest.raises(sa.exc.IntegrityError):
        fail_half_way()
    with database.reading() as connection:
        assert people.joined_at(connection, "ann") == 0


def test_a_server_that_was_started_anew_is_met_by_other_connections(
    postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.database.connection.IDLE_SECONDS", 0.0)
    database = Database(f"{postgresql}/postgres")
    who = sa.text("SELECT pg_backend_pid()")

    def read() -> Any:
        with database.reading() as connection:
            return connection.scalar(who)

    for look in (read, lambda: glance.rows(database, who, {})[0][0]):
        mine = look()
        with psycopg.connect(f"{postgresql}/postgres") as other:
            other.execute("SELECT pg_terminate_backend(%s)", [mine])
        assert look() != mine
    with database.writing() as connection:  # not left in the mode of a glance
        assert connection.scalar(sa.text("SELECT txid_current()")) == connection.scalar(
            sa.text("SELECT txid_current()")
        )
    database.close()
