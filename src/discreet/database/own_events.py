"""Own events: what somebody chose, one record for every item, by the rules that were declared."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.data.event_rules import EventRules
from discreet.database import own_ratings
from discreet.database.own_ratings import Level, OwnRating
from discreet.database.schema import people

_OWNER = (
    sa.select(people.c.id).where(people.c.id == sa.bindparam("who")).with_for_update(key_share=True)
)


def put(
    connection: Connection,
    rules: EventRules,
    person: str,
    item: str,
    weight: float | None,
    epsilon: float | None,
    *,
    usual: float,
) -> OwnRating:
    """One more event: the pair's record counts by the rules, at the smallest level of its events.

    Without an epsilon it has the usual one, or that of the record there is.
    """
    # What is added to must not change meanwhile: a person's events come one after another.
    connection.execute(_OWNER, {"who": person})
    before = own_ratings.one(connection, person, item, held=True)
    value = rules.value(weight, None if before is None else before.rating)
    level = Level.KEPT if epsilon is None else Level.LOWER
    return own_ratings.put(
        connection, person, item, value, usual if epsilon is None else epsilon, level=level
    )
