"""Reading together: in one statement, to everybody their own rows, and an error to all of them."""

import threading
from concurrent.futures import Future
from typing import Any

import pytest
import sqlalchemy as sa

from discreet.data.ratings import Ratings
from discreet.database import glance, people, tastes
from discreet.database.connection import Database
from discreet.database.people import Role
from discreet.database.reader import AMONG, Reader
from tests.databases import database as database
from tests.databases import filled
from tests.databases import postgresql as postgresql

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


def held_back(
    database: Database, wanted: list[tuple[Any, str]], patch: pytest.MonkeyPatch
) -> tuple[Reader, list[Future[Any]], list[list[str]]]:
    """Ask while another question is answered, so that all of it waits together."""
    begun, going_on, asked = threading.Event(), threading.Event(), list[list[str]]()
    rows = glance.rows

    def watched(at: Database, question: Any, words: Any) -> Any:
        asked.append(words[AMONG])
        begun.set()
        assert going_on.wait(30)
        return rows(at, question, words)

    patch.setattr(glance, "rows", watched)
    made = Reader(database)
    first = made.submit(people.HOLDERS, "nobody's")
    assert begun.wait(30)
    futures = [made.submit(*one) for one in wanted]
    going_on.set()
    assert first.result(30) == []
    return made, futures, asked


def test_what_waits_together_is_asked_once_and_everybody_gets_their_own(
    database: Database, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(database, small)
    with database.writing() as connection:
        token = people.issue(connection, Role.PERSON, "u1")
        tastes.hide(connection, "u2", "101")
    digest, holder = people.digest(token), people.holder(database, token)
    alone = {who: tastes.for_lists(database, who) for who in ("u1", "u2", "nobody")}
    wanted = [(tastes.FOR_LISTS, who) for who in ("u1", "u2", "nobody", "u1")]
    wanted += [(people.HOLDERS, digest), (people.HOLDERS, people.digest("x"))]
    made, futures, asked = held_back(database, wanted, monkeypatch)
    found = [future.result(30) for future in futures]
    for (_, who), rows in zip(wanted[:4], found[:4], strict=True):
        own, hidden = tastes.taste(rows)
        assert (sorted(own), hidden) == (sorted(alone[who].own), alone[who].hidden)
    assert alone["u2"].hidden == ["101"]
    assert people.held(found[4]) == holder is not None
    assert people.held(found[5]) is None
    made.close()
    # After the one that was waited for every question once, and nobody twice.
    assert sorted(map(len, asked[1:])) == [2, 3]


def test_an_error_reaches_all_who_asked_and_the_next_are_answered(
    database: Database, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(database, small)
    broken = sa.select(sa.literal_column("1 / 0")).where(sa.bindparam(AMONG).is_not(None))
    wanted = [(broken, "u1"), (broken, "u2"), (tastes.FOR_LISTS, "u1")]
    made, futures, _ = held_back(database, wanted, monkeypatch)
    for future in futures[:2]:
        with pytest.raises(sa.exc.OperationalError):
            future.result(30)
    assert tastes.taste(futures[2].result(30)).own
    made.close()
