"""Own ratings: those of one person, row by row; secret, and shown to that person alone."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

import polars as pl
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Connection

from discreet.database.connection import Insert, Lock, insert, insert_into, now, one_at_a_time
from discreet.database.hashes import hashes_of_one
from discreet.database.schema import deleted_ratings, ratings, settings, taken_back
from discreet.database.streaming import stream
from discreet.privacy.hashing import Hashes


class OwnRating(NamedTuple):
    """One rating of the person who asks, with its privacy level."""

    item: str
    rating: float
    epsilon: float
    changed_at: int
    revision: int
    """Random, new with every change: tells whether a release has counted it as it is."""

    @property
    def for_lists(self) -> ForLists:
        """What recommending needs of it."""
        return ForLists(self.item, self.rating, self.changed_at)


class ForLists(NamedTuple):
    """What a list is made of: what, how it was rated and when."""

    item: str
    rating: float
    changed_at: int


_COLUMNS = [ratings.c[name] for name in OwnRating._fields]
_OF_ONE = sa.select(*_COLUMNS).where(ratings.c.person == sa.bindparam("who"))
_ONCE = sa.select(taken_back.c.item).where(taken_back.c.person == sa.bindparam("who"))
_GIVEN: dict[str, sa.BindParameter[Any]] = {
    name: sa.bindparam(name) for name in ("person", *OwnRating._fields)
}
_ONE = _OF_ONE.where(ratings.c.item == sa.bindparam("what"))
_ONE_HELD = _ONE.with_for_update()


class Level(Enum):
    """Which privacy level a changed rating gets: the new one, the old one, or the smaller."""

    NEW = "the new one's"
    KEPT = "as it was chosen before"
    LOWER = "the smaller of the two"


class Given(NamedTuple):
    """A rating that somebody gives."""

    person: str
    item: str
    rating: float
    epsilon: float
    level: Level


def put_many(connection: Connection, given: Sequence[Given]) -> list[OwnRating]:
    """Give or change several people's ratings, in this order; a server is asked once for all that
    come with one kind of level and whose pair does not come again."""
    if connection.dialect.name == "sqlite":  # which is asked without going anywhere
        return [put(connection, *one[:4], level=one.level) for one in given]
    waves: dict[tuple[int, str], list[int]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for place, one in enumerate(given):
        waves.setdefault((seen[one[:2]], one.level.name), []).append(place)
        seen[one[:2]] += 1
    found: dict[int, OwnRating] = {}
    for wave in sorted(waves):
        # Who writes the same pairs meanwhile takes them in the same order: neither waits for good.
        places = sorted(waves[wave], key=lambda place: given[place][:2])
        found |= zip(places, _put_apart(connection, [given[p] for p in places]), strict=True)
    return [found[place] for place in range(len(given))]


def _put_apart(connection: Connection, given: list[Given]) -> list[OwnRating]:
    """In one statement, where no pair comes twice and all have one kind of level."""
    person, item, rating, epsilon, levels = map(list, zip(*given, strict=True))
    rows = {
        "person": person,
        "item": item,
        "rating": rating,
        "epsilon": epsilon,
        "changed_at": [now()] * len(given),
        "revision": [_revision() for _ in given],
    }
    written = connection.execute(_from_arrays(levels[0]), rows).all()
    by_pair = {(row.person, row.item): OwnRating._make(row[1:]) for row in written}
    return [by_pair[one[:2]] for one in given]


def put(
    connection: Connection,
    person: str,
    item: str,
    rating: float,
    epsilon: float,
    *,
    level: Level = Level.NEW,
) -> OwnRating:
    """Give or change a rating, in one statement: a level that another lowers meanwhile is seen."""
    own_rating = OwnRating(item, rating, epsilon, now(), _revision())
    statement = _returning(connection.dialect.name, level)
    row = connection.execute(statement, {"person": person, **own_rating._asdict()}).one()
    return OwnRating._make(row)


def change_level(
    connection: Connection, person: str, item: str, epsilon: float
) -> OwnRating | None:
    """Give a rating another level, and leave it as it is by now; None if there is none."""
    same = ratings.c.epsilon == epsilon
    fresh = {"changed_at": now(), "revision": _revision()}
    changed = {name: sa.case((same, ratings.c[name]), else_=new) for name, new in fresh.items()}
    statement = sa.update(ratings).where(_is(person, item)).values(epsilon=epsilon, **changed)
    row = connection.execute(statement.returning(*_COLUMNS)).one_or_none()
    return None if row is None else OwnRating._make(row)


def restore(connection: Connection, person: str, before: OwnRating, revision: int | None) -> bool:
    """Make a rating again what it was before this revision, or before it was deleted.

    False if it is another one by now: what changed since stays.
    """
    value = {"rating": before.rating, "epsilon": before.epsilon}
    value |= {"changed_at": now(), "revision": _revision()}
    if revision is None:
        row = value | {"person": person, "item": before.item}
        again = insert(connection, ratings).values(row).on_conflict_do_nothing()
        return bool(connection.execute(again).rowcount)
    mine = _is(person, before.item) & (ratings.c.revision == revision)
    return bool(connection.execute(sa.update(ratings).where(mine).values(value)).rowcount)


def _is(person: str, item: str) -> sa.ColumnElement[bool]:
    return (ratings.c.person == person) & (ratings.c.item == item)


def remove(connection: Connection, person: str, item: str, revision: int | None = None) -> bool:
    """Take a rating back; False if there was none, or not with this revision.

    An import will not bring it back.
    """
    one_at_a_time(connection, Lock.RETURNING, shared=True)
    where = _is(person, item)
    if revision is not None:
        where &= ratings.c.revision == revision
    if not connection.execute(sa.delete(ratings).where(where)).rowcount:
        return False
    h1, h2 = (int(column[0]) for column in hashes_of_one(connection, person, [item]))
    mark = insert(connection, deleted_ratings).on_conflict_do_nothing()
    connection.execute(mark, [{"h1": h1, "h2": h2}])
    # Also if no release has counted it: one that is being made may have read it.
    once = insert(connection, taken_back).on_conflict_do_nothing()
    connection.execute(once, [{"person": person, "item": item}])
    return True


def once_rated(connection: Connection, person: str) -> list[str]:
    """What a person has rated and taken back, perhaps rated again since."""
    return list(connection.scalars(_ONCE, {"who": person}))


def deleted_by_hash_alone(connection: Connection) -> bool:
    """Whether an older version deleted ratings here, of which only keyed hashes were kept."""
    chosen = sa.select(settings.c.value).where(settings.c.name == "deleted by hash alone")
    return connection.scalar(chosen) is not None


def of(connection: Connection, person: str) -> list[OwnRating]:
    """All ratings of one person, latest first."""
    rows = connection.execute(_OF_ONE, {"who": person}).all()
    found = [OwnRating._make(row) for row in rows]
    return sorted(found, key=lambda own: (-own.changed_at, own.item))


def one(connection: Connection, person: str, item: str, *, held: bool = False) -> OwnRating | None:
    """One rating of one person; held, nobody else changes it before this is committed."""
    query = _ONE_HELD if held else _ONE
    row = connection.execute(query, {"who": person, "what": item}).one_or_none()
    return None if row is None else OwnRating._make(row)


def everybody(connection: Connection) -> Iterator[list[tuple[Any, ...]]]:
    """All ratings (person, item, rating, epsilon, revision), part by part: for a publisher."""
    names = ("person", "item", "rating", "epsilon", "revision")
    return stream(connection, sa.select(*(ratings.c[name] for name in names)))


def per_item(connection: Connection) -> pl.DataFrame:
    """How often every rated item was rated, and the sum: secret, for the operator."""
    c, f = ratings.c, sa.func
    query = sa.select(c.item, f.count(), f.sum(c.rating)).group_by(c.item)
    schema = {"item": pl.String, "count": pl.Int64, "sum": pl.Float64}
    return pl.DataFrame(list(map(tuple, connection.execute(query))), schema=schema, orient="row")


def were_taken_back(connection: Connection, hashes: Hashes) -> list[bool]:
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
        statement = _upsert(connection.dialect.name, Level.LOWER)
    if values:
        connection.execute(statement, values)


@cache
def _from_arrays(level: Level) -> sa.sql.dml.ReturningInsert[Any]:
    """For PostgreSQL, every column as one array: the same statement for any number of rows."""
    arrays = [sa.bindparam(name, type_=postgresql.ARRAY(ratings.c[name].type)) for name in _GIVEN]
    rows = sa.func.unnest(*arrays).table_valued(*_GIVEN).render_derived()
    statement = _upsert("postgresql", level).from_select(list(_GIVEN), sa.select(*rows.c))
    return statement.returning(ratings.c.person, *_COLUMNS)


@cache
def _returning(dialect: str, level: Level) -> sa.sql.dml.ReturningInsert[Any]:
    """Made once: to make it takes longer than to run it."""
    return _upsert(dialect, level).values(**_GIVEN).returning(*_COLUMNS)


def _upsert(dialect: str, level: Level) -> Insert:
    statement = insert_into(dialect, ratings)
    new, old = statement.excluded, ratings.c
    epsilon: sa.ColumnElement[float] = {
        Level.NEW: new.epsilon,
        Level.KEPT: old.epsilon,
        Level.LOWER: sa.case((new.epsilon < old.epsilon, new.epsilon), else_=old.epsilon),
    }[level]
    # To say the same again is no change.
    same = (new.rating == old.rating) & (epsilon == old.epsilon)
    changed: dict[str, Any] = {"rating": new.rating, "epsilon": epsilon} | {
        name: sa.case((same, old[name]), else_=new[name]) for name in ("changed_at", "revision")
    }
    return statement.on_conflict_do_update(index_elements=["person", "item"], set_=changed)


_CHANCE = random.Random(secrets.randbits(256))
"""Asking the system every time would let another thread take its turn: that costs more."""


def _revision() -> int:
    return _CHANCE.getrandbits(48)
