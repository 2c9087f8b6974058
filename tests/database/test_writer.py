"""Writing together: all of it durable before anybody is told, and nobody takes others along."""

import threading
from concurrent.futures import Future

import pytest
import sqlalchemy as sa

from discreet.database import own_ratings, people, together
from discreet.database.connection import Database
from discreet.database.declaration import establish
from discreet.database.own_ratings import Given, Level
from discreet.database.writer import Alike, Writer
from discreet.errors import BusyError
from discreet.operate.imports import add_items
from tests.databases import films


@pytest.fixture
def writing(database: Database) -> Database:
    establish(database)
    add_items(database, films())
    with database.writing() as connection:
        people.add_many(connection, ["ann", "bob"])
    return database


def rating(person: str, item: int) -> object:
    return lambda connection: own_ratings.put(connection, person, str(item), 3.0, 0.1)


def held_back(database: Database, wanted: list[object]) -> tuple[Writer, list[Future[object]]]:
    """Submit while another transaction writes, so that all of it waits together."""
    made = Writer(database)
    begun = threading.Event()

    def first(_: sa.Connection) -> None:
        begun.set()
        going_on.wait(30)

    going_on = threading.Event()
    futures = [made.submit(first)]
    assert begun.wait(30)
    try:
        futures += [made.submit(work) for work in wanted]  # type: ignore[arg-type]
    except BusyError:
        going_on.set()
        made.close()
        raise
    going_on.set()
    return made, futures[1:]


def test_what_waits_together_is_committed_together(writing: Database) -> None:
    commits: list[int] = []
    sa.event.listen(writing.engine, "commit", lambda _: commits.append(1))
    made, futures = held_back(writing, [rating("ann", 100 + k) for k in range(30)])
    assert [f.result(30).item for f in futures] == [str(100 + k) for k in range(30)]  # type: ignore[attr-defined]
    assert len(commits) == 2  # the one that was waited for, and all the others
    with writing.reading() as connection:
        assert len(own_ratings.of(connection, "ann")) == 30
    made.close()


def test_one_that_cannot_be_written_takes_no_other_along(writing: Database) -> None:
    made, futures = held_back(
        writing, [rating("ann", 100), rating("nobody", 101), rating("bob", 102)]
    )
    with pytest.raises(sa.exc.IntegrityError):
        futures[1].result(30)
    assert [futures[k].exception(30) for k in (0, 2)] == [None, None]
    with writing.reading() as connection:
        assert len(own_ratings.of(connection, "ann")) == len(own_ratings.of(connection, "bob")) == 1
    made.close()


def test_nobody_is_told_before_it_is_durable(writing: Database) -> None:
    seen: list[bool] = []
    made = Writer(writing)

    def look(done: Future[object]) -> None:
        other = Database(writing.url.render_as_string(hide_password=False))
        with other.reading() as connection:
            seen.append(own_ratings.one(connection, "ann", "100") is not None)
        other.close()
        done.result()

    future = made.submit(rating("ann", 100))  # type: ignore[arg-type]
    future.add_done_callback(look)
    made.close()  # writes what waits
    assert seen == [True]


def test_who_comes_when_far_too_many_wait_is_refused(
    writing: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "MOST_WAITING", 3)
    with pytest.raises(BusyError, match="try again"):
        held_back(writing, [rating("ann", 100 + k) for k in range(5)])


def given(person: str, item: int, rating: float, level: Level = Level.NEW) -> Alike[Given, object]:
    return Alike(own_ratings.put_many, Given(person, str(item), rating, 0.1, level))  # type: ignore[arg-type]


def test_what_is_alike_is_given_at_once_and_in_order(writing: Database) -> None:
    wanted = [
        given("ann", 100, 1.0), given("bob", 100, 2.0), given("ann", 100, 3.0, Level.KEPT),
        given("ann", 101, 4.0), given("ann", 100, 5.0),
    ]  # fmt: skip
    statements: list[str] = []

    def note(_c: object, _k: object, statement: str, *_: object) -> None:
        statements.append(statement)

    sa.event.listen(writing.engine, "before_cursor_execute", note)
    made, futures = held_back(writing, wanted)  # type: ignore[arg-type]
    ratings = [f.result(30).rating for f in futures]  # type: ignore[attr-defined]
    assert ratings == [1.0, 2.0, 3.0, 4.0, 5.0]  # each is told its own, also what changed since
    with writing.reading() as connection:
        assert {own.item: own.rating for own in own_ratings.of(connection, "ann")} == {
            "100": 5.0,
            "101": 4.0,
        }
    given_in = [s for s in statements if s.startswith("INSERT INTO ratings")]
    assert len(given_in) == (5 if writing.sqlite else 3)  # once for every time a pair comes again
    made.close()


def test_of_many_that_are_alike_one_that_cannot_be_written_takes_none_along(
    writing: Database,
) -> None:
    wanted = [given("ann", 100, 1.0), given("nobody", 101, 2.0), given("bob", 102, 3.0)]
    made, futures = held_back(writing, wanted)  # type: ignore[arg-type]
    with pytest.raises(sa.exc.IntegrityError):
        futures[1].result(30)
    assert [futures[k].exception(30) for k in (0, 2)] == [None, None]
    made.close()


def test_who_gives_up_takes_no_other_along(writing: Database) -> None:
    """A request that is ended while it waits leaves nothing, and the writer goes on."""
    made, begun, going_on = Writer(writing), threading.Event(), threading.Event()

    def first(_: sa.Connection) -> None:
        begun.set()
        assert going_on.wait(30)

    submitted = [made.submit(first)]
    assert begun.wait(30)
    submitted += [made.submit(rating("ann", 100 + k)) for k in range(3)]  # type: ignore[arg-type]
    assert not submitted[0].cancel()  # it is being done
    assert submitted[2].cancel()
    going_on.set()
    assert [submitted[k].exception(30) for k in (0, 1, 3)] == [None, None, None]
    with writing.reading() as connection:
        assert {own.item for own in own_ratings.of(connection, "ann")} == {"100", "102"}
    made.close()
