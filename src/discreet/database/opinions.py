"""Opinions: a person's own ratings, row by row; secret, and shown to that person alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from discreet.database.connection import now
from discreet.database.schema import ratings


class Opinion(NamedTuple):
    """One rating of the person who asks."""

    item: str
    rating: float
    epsilon: float
    changed_at: int


_COLUMNS = (ratings.c.item, ratings.c.rating, ratings.c.epsilon, ratings.c.changed_at)
_OF_ONE = sa.select(*_COLUMNS).where(ratings.c.person == sa.bindparam("who"))


def put(connection: Connection, person: str, item: str, rating: float, epsilon: float) -> Opinion:
    """Give or change a rating."""
    opinion = Opinion(item, rating, epsilon, now())
    connection.execute(_upsert(connection), {"person": person, **opinion._asdict()})
    return opinion


def remove(connection: Connection, person: str, item: str) -> bool:
    """Take a rating back; False if there was none."""
    where = (ratings.c.person == person) & (ratings.c.item == item)
    return bool(connection.execute(sa.delete(ratings).where(where)).rowcount)


def of(connection: Connection, person: str) -> list[Opinion]:
    """All ratings of one person, latest first."""
    rows = connection.execute(_OF_ONE, {"who": person}).all()
    return sorted((Opinion._make(row) for row in rows), key=lambda o: (-o.changed_at, o.item))


def one(connection: Connection, person: str, item: str) -> Opinion | None:
    """One rating of one person."""
    row = connection.execute(
        _OF_ONE.where(ratings.c.item == sa.bindparam("what")), {"who": person, "what": item}
    ).one_or_none()
    return None if row is None else Opinion._make(row)


def everybody(connection: Connection, chunk: int = 100_000) -> Iterator[Sequence[Sequence[Any]]]:
    """All ratings (person, item, rating, epsilon), part by part: for a program that publishes."""
    query = sa.select(ratings.c.person, ratings.c.item, ratings.c.rating, ratings.c.epsilon)
    streamed = connection.execution_options(stream_results=True, yield_per=chunk)
    yield from streamed.execute(query).partitions()


def add_many(
    connection: Connection, rows: Sequence[tuple[str, str, float, float]], *, replace: bool
) -> None:
    """Give many people's ratings; where there is one already it is replaced, or stays."""
    at = now()
    names = ("person", "item", "rating", "epsilon")
    values = [dict(zip(names, row, strict=True), changed_at=at) for row in rows]
    statement = _upsert(connection) if replace else _insert(connection).on_conflict_do_nothing()
    connection.execute(statement, values)


def _insert(connection: Connection) -> sqlite.Insert | postgresql.Insert:
    return (
        sqlite.insert(ratings)
        if connection.dialect.name == "sqlite"
        else postgresql.insert(ratings)
    )


def _upsert(connection: Connection) -> sqlite.Insert | postgresql.Insert:
    statement = _insert(connection)
    new = {name: statement.excluded[name] for name in ("rating", "epsilon", "changed_at")}
    return statement.on_conflict_do_update(index_elements=["person", "item"], set_=new)
