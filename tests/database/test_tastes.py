"""Tastes and acts: one's own, gone with their owner, and no part of what publishers read."""

import sqlalchemy as sa

from discreet.data.ratings import Ratings
from discreet.database import acts, own_ratings, people, tastes
from discreet.database.connection import Database
from discreet.database.schema import hidden_items, usual_levels
from tests.databases import database as database
from tests.databases import filled
from tests.databases import postgresql as postgresql


def test_a_level_and_hidden_items_are_ones_own_and_go_with_their_owner(
    database: Database, small: Ratings
) -> None:
    filled(database, small)
    with database.writing() as connection:
        assert tastes.usual_level(connection, "u1") is None
        tastes.choose_level(connection, "u1", 1.0)
        tastes.choose_level(connection, "u1", 0.3)
        for item in ("100", "101", "101"):
            tastes.hide(connection, "u1", item)
        tastes.hide(connection, "u2", "102")
        tastes.show_again(connection, "u1", "100")
        assert tastes.usual_level(connection, "u1") == 0.3
        assert tastes.usual_level(connection, "u2") is None
        assert tastes.hidden(connection, "u1") == ["101"]
        assert tastes.hidden(connection, "u2") == ["102"]
        rated = [o.for_lists for o in own_ratings.of(connection, "u1")]
    own, without = tastes.for_lists(database, "u1")
    assert sorted(own) == sorted(rated)
    assert len(own) > 2
    assert without == ["101"]
    with database.writing() as connection:
        people.erase(connection, "u1")
        assert connection.scalars(sa.select(hidden_items.c.person)).all() == ["u2"]
        assert connection.scalars(sa.select(usual_levels.c.person)).all() == []


def test_acts_are_listed_newest_first(database: Database, small: Ratings) -> None:
    filled(database, small)
    with database.writing() as connection:
        acts.note(connection, "operator", "published")
        acts.note(connection, "operator", "imported items", "30 new")
        found = acts.latest(connection, 10)
    assert [(act.act, act.detail) for act in found] == [
        ("imported items", "30 new"),
        ("published", ""),
    ]
    with database.reading() as connection:
        assert len(acts.latest(connection, 1)) == 1
