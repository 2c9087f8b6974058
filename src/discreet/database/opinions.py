"""Opinions: a person's own ratings, row by row; secret, and shown to that person alone."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.database.connection import Insert, insert, now
from discreet.database.pairs import Hashes, hashes_of_one
from discreet.database.schema import deleted_ratings, ratings


class Opinion(NamedTuple):
    """One rating of the person who asks."""

    item: str
    rating: float
    epsilon: float
    changed_at: int
    revision: int
    """Random, new with every change: tells whether a release has counted it as it is."""


_OF_ONE = sa.select(*(ratings.c[name] for name in Opinion._fields)).where(
    ratings.c.person == sa.bindparam("who")
)
_VALUES = sa.select(ratings.c.item, ratings.c.rating).where(ratings.c.person == sa.bindparam("who"))
_ONE = _OF_ONE.where(ratings.c.item == sa.bindparam("what"))


def put(connection: Connection, person: str, item: str, rating: float, epsilon: float) -> Opinion:
    """Give or change a rating."""
    opinion = Opinion(item, rating, epsilon, now(), _revision())
    connection.execute(_upsert(connection), {"person": person, **opinion._asdict()})
    found = one(connection, person, item)
    assert found is not None
    return found


def remove(connection: Connection, person: str, item: str) -> bool:
    """Take a rating back; False if there was none. An import will not bring it back."""
    where = (ratings.c.person == person) & (ratings.c.item == item)
    if not connection.execute(sa.delete(ratings).where(where)).rowcount:
        return False
    h1, h2 = (int(column[0]) for column in hashes_of_one(connection, person, [item]))
    mark = insert(connection, deleted_ratings).on_conflict_do_nothing()
    connection.execute(mark, [{"h1": h1, "h2": h2}])
    return True


def of(connection: Connection, person: str) -> list[Opinion]:
    """All ratings of one person, latest first."""
    rows = connection.execute(_OF_ONE, {"who": person}).all()
    return sorted((Opinion._make(row) for row in rows), key=lambda o: (-o.changed_at, o.item))


def values(connection: Connection, person: str) -> Sequence[Any]:
    """One person's pairs (item, rating): all that recommending needs."""
    return connection.execute(_VALUES, {"who": person}).all()


def one(connection: Connection, person: str, item: str) -> Opinion | None:
    """One rating of one person."""
    row = connection.execute(_ONE, {"who": person, "what": item}).one_or_none()
    return None if row is None else Opinion._make(row)


def everybody(connection: Connection, chunk: int = 100_000) -> Iterator[Sequence[Sequence[Any]]]:
    """All ratings (person, item, rating, epsilon, revision), part by part: for a publisher."""
    names = ("person", "item", "rating", "epsilon", "revision")
    query = sa.select(*(ratings.c[name] for name in names))
    streamed = connection.execution_options(stream_results=True, yield_per=chunk)
    yield from streamed.execute(query).partitions()


def taken_back(connection: Connection, hashes: Hashes) -> list[bool]:
    """For every pair, whether its owner took the rating back."""
    known = {(row.h1, row.h2) for row in connection.execute(sa.select(deleted_ratings))}
    return [pair in known for pair in zip(*(h.tolist() for h in hashes), strict=True)]


def add_many(
    connection: Connection, rows: Sequence[tuple[str, str, float, float]], *, replace: bool
) -> None:
    """Give many people's ratings; where there is one already it stays, or is replaced.

    A replaced rating has the smaller level of the two: nobody's is raised behind their back.
    """
    at = now()
    names = ("person", "item", "rating", "epsilon")
    values = [
        dict(zip(names, row, strict=True), changed_at=at, revision=_revision()) for row in rows
    ]
    statement = insert(connection, ratings).on_conflict_do_nothing()
    if replace:
        statement = _upsert(connection, lower=True)
    if values:
        connection.execute(statement, values)


def _upsert(connection: Connection, *, lower: bool = False) -> Insert:
    statement = insert(connection, ratings)
    new = statement.excluded
    changed: dict[str, Any] = {
        name: new[name] for name in ("rating", "epsilon", "changed_at", "revision")
    }
    same = (new.rating == ratings.c.rating) & (new.epsilon == ratings.c.epsilon)
    for name in ("changed_at", "revision"):  # to say the same again is no change
        changed[name] = sa.case((same, ratings.c[name]), else_=new[name])
    if lower:
        below = new.epsilon < ratings.c.epsilon
        changed["epsilon"] = sa.case((below, new.epsilon), else_=ratings.c.epsilon)
    return statement.on_conflict_do_update(index_elements=["person", "item"], set_=changed)


def _revision() -> int:
    return secrets.randbits(48)
