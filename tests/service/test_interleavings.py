"""Two requests at once end as one order of them would, however they interleave.

The first has written and not committed when the second begins; it commits once the second waits
for it, or is through. No test hopes for a race.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import catalogue, own_ratings, people
from discreet.database.connection import Database
from discreet.database.declaration import catalogue_version
from discreet.database.people import Role
from discreet.errors import DataError
from discreet.operate.imports import add_items, add_ratings
from discreet.service.pages import undoing
from discreet.service.pages.tapping import Action, Tap
from discreet.service.problems import Problem
from tests.service.clubs import OUR_PAGE, Club, open_club

WAITING = sa.text(
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def somebody_waits(database: Database) -> bool:
    if database.sqlite:
        return database.waiting_writers > 0
    with database.reading() as connection:
        return bool(connection.scalar(WAITING))


def interleave(
    database: Database, first: Callable[[Connection], object], second: Callable[[], object]
) -> Any:
    """What the second answers, or the error that it ends with."""
    answers: list[object] = []

    def answer() -> None:
        try:
            answers.append(second())
        except Exception as error:
            answers.append(error)

    beside = threading.Thread(target=answer)
    with database.writing() as connection:
        first(connection)
        beside.start()
        end = time.monotonic() + 60
        while beside.is_alive() and not somebody_waits(database):
            assert time.monotonic() < end
            time.sleep(0.005)
    beside.join()
    return answers[0]


def rated(club: Club, epsilon: float) -> own_ratings.OwnRating:
    """A rating at a level."""
    with club.database.writing() as connection:
        return own_ratings.put(connection, "u1", "129", 3.0, epsilon)


def stored(club: Club) -> tuple[float, float]:
    with club.database.reading() as connection:
        found = own_ratings.one(connection, "u1", "129")
    assert found is not None
    return found.rating, found.epsilon


def test_a_level_that_was_lowered_is_not_raised_by_a_change_beside_it(club: Club) -> None:
    service = club.app.state.service
    rated(club, 1.0)
    interleave(
        club.database,
        lambda connection: own_ratings.put(connection, "u1", "129", 5.0, 0.1),
        lambda: service.rate("u1", "129", 4.0, None),
    )
    assert stored(club) == (4.0, 0.1)


def test_a_level_that_is_lowered_beside_a_change_is_lowered(club: Club) -> None:
    service = club.app.state.service
    rated(club, 1.0)
    interleave(
        club.database,
        lambda connection: own_ratings.put(connection, "u1", "129", 4.0, 1.0),
        lambda: service.rate("u1", "129", 5.0, 0.1),
    )
    assert stored(club) == (5.0, 0.1)


def test_a_rating_given_beside_its_deletion_is_a_new_one(club: Club) -> None:
    service = club.app.state.service
    rated(club, 1.0)
    interleave(
        club.database,
        lambda connection: own_ratings.remove(connection, "u1", "129"),
        lambda: service.rate("u1", "129", 4.0, None),
    )
    # Deleted, then given: at the default level. In the other order nothing would be left.
    assert stored(club) == (4.0, service.declared.usual_level)


def test_another_level_beside_a_deletion_brings_nothing_back(club: Club) -> None:
    rated(club, 1.0)
    changed = interleave(
        club.database,
        lambda connection: own_ratings.remove(connection, "u1", "129"),
        lambda: tapped(club, "level", epsilon=0.1),
    )
    assert isinstance(changed, Problem)
    assert changed.status_code == 404
    with club.database.reading() as connection:
        assert own_ratings.one(connection, "u1", "129") is None


def test_another_level_beside_a_change_keeps_what_was_changed(club: Club) -> None:
    rated(club, 1.0)
    interleave(
        club.database,
        lambda connection: own_ratings.put(connection, "u1", "129", 5.0, 1.0),
        lambda: tapped(club, "level", epsilon=0.1),
    )
    assert stored(club) == (5.0, 0.1)


def test_an_undo_beside_a_lower_level_does_not_raise_it(club: Club) -> None:
    service = club.app.state.service
    rated(club, 1.0)
    undo = tapped(club, "save", rating=4.0)
    ended = interleave(
        club.database,
        lambda connection: own_ratings.change_level(connection, "u1", "129", 0.1),
        lambda: undoing.undo(service, "u1", undo),
    )
    assert isinstance(ended, Problem)
    assert ended.status_code == 409
    assert stored(club) == (4.0, 0.1)


def test_an_undo_knows_what_was_changed_beside_the_tap(club: Club) -> None:
    """What a tap found is read where it writes: not the level of a moment before."""
    service = club.app.state.service
    rated(club, 1.0)
    undo = interleave(
        club.database,
        lambda connection: own_ratings.put(connection, "u1", "129", 3.0, 0.1),
        lambda: tapped(club, "save", rating=4.0),
    )
    undoing.undo(service, "u1", undo)
    assert stored(club) == (3.0, 0.1)


def tapped(club: Club, action: Action, **given: float) -> str:
    """A tap of the member's, and what undoes it."""
    service = club.app.state.service
    fields = {"rating": None, "weight": None, "epsilon": None} | given
    change = Tap(action, **fields).write(service, "u1", "129")
    return undoing.remember(service, "u1", "129", change, "Saved").sealed


def valid(club: Club, *tokens: str) -> list[bool]:
    with club.database.reading() as connection:
        return [people.bearer(connection, token) is not None for token in tokens]


def test_of_two_new_tokens_one_is_in_place_of_the_other(club: Club) -> None:
    made: list[str] = []
    second = interleave(
        club.database,
        lambda connection: made.append(people.renew(connection, "u1")),
        lambda: club.app.state.service.new_token("u1"),
    )
    assert valid(club, club.tokens["u1"], made[0], second) == [False, False, True]


def test_no_session_begins_with_a_token_that_is_being_renewed(club: Club) -> None:
    old = club.tokens["u1"]

    def sign_in() -> Any:
        return club.client.post("/signin", data={"token": old}, headers=OUR_PAGE)

    answer = interleave(club.database, lambda connection: people.renew(connection, "u1"), sign_in)
    assert answer.headers["location"] == "/signin"
    assert "discreet-session" not in club.client.cookies
    with club.database.reading() as connection:
        assert [access["kind"] for access in people.accesses(connection, "u1")] == ["token"]


def test_no_session_outlives_the_revocation_of_its_token(club: Club) -> None:
    operator = club.tokens["operator"]
    made: list[str | None] = []

    def revoke() -> None:
        with club.database.writing() as connection:
            people.revoke_role(connection, Role.OPERATOR)

    interleave(
        club.database,
        lambda connection: made.append(people.begin_session(connection, operator)),
        revoke,
    )
    [session] = made
    assert session is not None
    assert valid(club, operator, session) == [False, False]


def test_nobody_comes_back_while_they_are_erased(club: Club) -> None:
    def give_token() -> str:
        with club.database.writing() as connection:
            people.new_person(connection, "u1")
            return people.issue(connection, Role.PERSON, "u1")

    ended = interleave(club.database, lambda connection: people.erase(connection, "u1"), give_token)
    assert isinstance(ended, DataError)
    with club.database.reading() as connection:
        assert people.joined_at(connection, "u1") == 0


@pytest.mark.parametrize("replace", [False, True])
def test_an_import_beside_a_deletion_does_not_bring_the_rating_back(
    club: Club, replace: bool
) -> None:
    rated(club, 1.0)
    table = pl.DataFrame(
        {"user": ["u1", "u2"], "item": ["129", "129"], "rating": [2.0, 2.0], "epsilon": [0.1, 0.1]}
    )
    declared = club.app.state.service.declared
    ratings = Ratings.from_frame(table, scale=declared.rating_scale)
    imported = interleave(
        club.database,
        lambda connection: own_ratings.remove(connection, "u1", "129"),
        lambda: add_ratings(club.database, declared, ratings, replace=replace),
    )
    with club.database.reading() as connection:
        assert own_ratings.one(connection, "u1", "129") is None
        assert own_ratings.one(connection, "u2", "129") is not None
    assert imported == (2, 1)


def test_two_item_tables_at_once_both_count(club: Club) -> None:
    known = Items.from_frame(pl.DataFrame({"item": ["100", "n1"], "director": ["X", "Y"]}))
    other = Items.from_frame(pl.DataFrame({"item": ["100", "n1"], "country": ["A", "B"]}))
    with club.database.reading() as connection:
        before = catalogue_version(connection)
    new = interleave(
        club.database,
        lambda connection: catalogue.add(connection, known),
        lambda: add_items(club.database, other),
    )
    assert new == 0
    with club.database.reading() as connection:
        found = catalogue.read(connection)
        assert catalogue_version(connection) == before + 2
    assert found is not None
    rows = {row["item"]: row for row in found.frame.iter_rows(named=True)}
    assert (rows["100"]["director"], rows["100"]["country"]) == ("X", "A")
    assert (rows["n1"]["director"], rows["n1"]["country"]) == ("Y", "B")


def test_an_event_beside_a_deletion_counts_alone(database: Database, small: Ratings) -> None:
    rules = {"quantity": "linear:10", "repeats": "sum"}
    with open_club(database, small, events=True, levels=(0.1, 1.0), **rules) as players:
        service = players.app.state.service
        add = service.giving.to_add_event("u1", "129", 2.0, 0.1)
        with database.writing() as connection:
            once = add(connection)
            twice = add(connection)
        assert twice.rating > once.rating
        again = interleave(
            database,
            lambda connection: own_ratings.remove(connection, "u1", "129"),
            lambda: service.writer.write(add),
        )
        assert again.rating == once.rating
