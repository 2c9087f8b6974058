"""Tastes: the level that a person chose for all, and what does not interest them.

Both are read for that person's own pages alone; no publisher looks at them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection

from discreet.database import glance
from discreet.database.connection import Database, insert, now
from discreet.database.own_ratings import ForLists
from discreet.database.reader import AMONG
from discreet.database.schema import hidden_items, ratings, usual_levels

_HIDDEN = (
    sa.select(hidden_items.c.item)
    .where(hidden_items.c.person == sa.bindparam("who"))
    .order_by(hidden_items.c.hidden_at.desc(), hidden_items.c.item)
)
_RATED = sa.select(ratings.c.item, ratings.c.rating, ratings.c.changed_at)
_HIDDEN_TOO = sa.select(
    hidden_items.c.item, sa.cast(sa.null(), ratings.c.rating.type), hidden_items.c.hidden_at
)
_FOR_LISTS = sa.union_all(
    _RATED.where(ratings.c.person == sa.bindparam("who")),
    _HIDDEN_TOO.where(hidden_items.c.person == sa.bindparam("who")),
)
_ANY = sa.any_(sa.bindparam(AMONG, type_=ARRAY(ratings.c.person.type)))
FOR_LISTS = sa.union_all(
    _RATED.with_only_columns(ratings.c.person, *_RATED.selected_columns).where(
        ratings.c.person == _ANY
    ),
    _HIDDEN_TOO.with_only_columns(hidden_items.c.person, *_HIDDEN_TOO.selected_columns).where(
        hidden_items.c.person == _ANY
    ),
)
"""For a reader, who is asked for people; `taste` makes of it what lists are made of."""
_LEVEL = sa.select(usual_levels.c.level).where(usual_levels.c.person == sa.bindparam("who"))
_LEVELS = sa.select(usual_levels.c.person, usual_levels.c.level).where(
    usual_levels.c.person.in_(sa.bindparam("among", expanding=True))
)


class Taste(NamedTuple):
    """All of a person that recommending needs."""

    own: list[ForLists]
    hidden: list[str]
    """What does not interest them."""


def usual_level(connection: Connection, person: str) -> float | None:
    """The level that somebody chose once for all; None if they have not."""
    found = connection.scalar(_LEVEL, {"who": person})
    return None if found is None else float(found)


def usual_levels_of(connection: Connection, persons: Sequence[str]) -> dict[str, float]:
    """The same of several people, those alone who have chosen."""
    rows = connection.execute(_LEVELS, {"among": list(persons)})
    return {person: float(level) for person, level in rows}


def choose_level(connection: Connection, person: str, level: float) -> None:
    """Choose a level for all ratings to come; those that were given keep theirs."""
    statement = insert(connection, usual_levels).values(person=person, level=level)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["person"], set_={"level": level})
    )


def hidden(connection: Connection, person: str) -> list[str]:
    """What does not interest somebody, the latest first."""
    return list(connection.scalars(_HIDDEN, {"who": person}))


def for_lists(database: Database, person: str) -> Taste:
    """Own ratings, and what does not interest, at once."""
    return taste(glance.rows(database, _FOR_LISTS, {"who": person}))


def taste(found: Iterable[Sequence[Any]]) -> Taste:
    """Own ratings, and what does not interest, as they were found together."""
    made = Taste([], [])
    for item, rating, at in found:
        if rating is None:
            made.hidden.append(item)
        else:
            made.own.append(ForLists(item, rating, at))
    return made


def hide(connection: Connection, person: str, item: str) -> None:
    """Leave an item out of somebody's lists."""
    statement = insert(connection, hidden_items).values(person=person, item=item, hidden_at=now())
    connection.execute(statement.on_conflict_do_nothing())


def show_again(connection: Connection, person: str, item: str) -> None:
    """Let an item into somebody's lists again."""
    where = (hidden_items.c.person == person) & (hidden_items.c.item == item)
    connection.execute(sa.delete(hidden_items).where(where))
