"""Worst cases: two small tables that differ in one record or one person, and copies of them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import Array
from discreet.data.event_rules import EventRules
from discreet.data.events import SCALE, Events
from discreet.data.ids import Ids
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale


@dataclass(frozen=True, eq=False)
class Pair:
    """A table, and the same without some of its records; both name the same people and items."""

    table: Ratings
    removed: Array
    """Which records only one of the two has."""
    instead: float | None = None
    """The value that these records have in the other table, where they are not removed at all."""

    def side(self, with_record: bool) -> Ratings:
        """One of the two tables."""
        if with_record:
            return self.table
        if self.instead is None:
            return self.table.subset(~self.removed)
        rating = np.where(self.removed, np.float32(self.instead), self.table.rating)
        return replace(self.table, rating=rating)

    def replaced(self) -> Pair:
        """The same records there in both tables, with the worst rating in the other one."""
        return replace(self, instead=self.table.scale.lo)

    @property
    def item(self) -> int:
        """The row of the first removed record's item."""
        return int(self.table.item[self.removed][0])

    @property
    def level(self) -> float:
        """The first removed record's level."""
        return float(levels_of(self.table)[self.removed][0])

    def at_level(self, level: float) -> Pair:
        """The same tables with another level for what is removed."""
        levels = np.where(self.removed, level, levels_of(self.table))
        return replace(self, table=replace(self.table, epsilon=levels))


def levels_of(table: Ratings) -> Array:
    """The levels, which every table of a game has."""
    assert table.epsilon is not None
    return table.epsilon


def numbered(
    users: Any, items: Any, ratings: Any, levels: Any, shape: tuple[int, int] | None = None
) -> Ratings:
    """A table from arrays of numbers; people and items are 0, 1, ... and need not occur.

    Unlike `Ratings.from_frame` it allows a pair twice: mechanisms broken on purpose need that.
    """
    user, item = np.asarray(users, dtype=np.int32), np.asarray(items, dtype=np.int32)
    shape = shape or (int(user.max()) + 1, int(item.max()) + 1)
    order = np.lexsort((item, user))
    return Ratings(
        users=Ids(pl.Series("user", np.arange(shape[0]))),
        items=Ids(pl.Series("item", np.arange(shape[1]))),
        ptr=np.searchsorted(user[order], np.arange(shape[0] + 1)),
        item=item[order],
        rating=np.asarray(ratings, dtype=np.float32)[order],
        epsilon=np.broadcast_to(np.asarray(levels, dtype=np.float64), user.shape)[order],
        timestamp=None,
        scale=RatingScale(),
    )


def copies(table: Ratings, count: int) -> Ratings:
    """The table `count` times side by side, with people and items of their own in each copy.

    A mechanism that adds noise item by item to sums over an item's own ratings treats each copy as
    if it were alone: one release of all copies is `count` independent releases of one.
    """
    people, items = len(table.users), len(table.items)
    copy = np.repeat(np.arange(count), len(table))
    found = numbered(
        copy * people + np.tile(table.user, count),
        copy * items + np.tile(table.item, count),
        np.tile(table.rating, count),
        np.tile(levels_of(table), count),
        (count * people, count * items),
    )
    return found if table.rules is None else as_events(found, table.rules)


def as_events(table: Ratings, rules: EventRules = EventRules()) -> Events:
    """The same records as events, whose values are what the ratings are: checked by nobody."""
    kept = {f.name: getattr(table, f.name) for f in fields(Ratings)}
    return Events(**{**kept, "scale": SCALE, "rules": rules})


def events(pair: Pair, value: float = 1.0) -> Pair:
    """The same tables of events, all of this value."""
    table = replace(pair.table, rating=np.full(len(pair.table), value, dtype=np.float32))
    return replace(pair, table=as_events(table))


def without_record(table: Ratings, record: int) -> Pair:
    """Neighbours that differ in one record."""
    return Pair(table, np.arange(len(table)) == record)


def four_people(level: float = 1.0) -> Pair:
    """By hand: 4 people, 3 items; the removed rating is the only one of its item."""
    users, items = [0, 0, 1, 1, 2, 2, 3], [0, 1, 0, 1, 0, 1, 2]
    table = numbered(users, items, [5, 1, 1, 5, 5, 1, 5], level, (4, 3))
    return without_record(table, len(table) - 1)


def crowd(level: float = 1.0) -> Pair:
    """By hand: 4 people rated all 3 items; what one says moves what the others' factors are."""
    ratings = [5, 1, 4, 1, 5, 2, 4, 2, 5, 5, 5, 1]
    table = numbered(np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4), ratings, level)
    return without_record(table, len(table) - 1)


def one_busy_person(items: int, level: float = 1.0, *, times: int = 1) -> Pair:
    """By hand: somebody who gave `items` items the best rating, `times` times each."""
    item = np.repeat(np.arange(items), times)
    table = numbered(np.zeros_like(item), item, np.full(len(item), 5), level)
    return without_record(table, 0)


def whole_person(items: int, level: float = 1.0) -> Pair:
    """By hand: somebody who rated `items` items and is there or not, and nobody else."""
    table = one_busy_person(items, level).table
    return Pair(table, np.ones(len(table), dtype=bool))


def random_pair(
    rng: np.random.Generator, people: int = 4, items: int = 3, level: float = 1.0
) -> Pair:
    """Random search starts here: extreme ratings, one record of them removed."""
    there = np.argwhere(rng.random((people, items)) < rng.uniform(0.4, 0.9))
    if len(there) < 2:
        return random_pair(rng, people, items, level)
    ratings = rng.choice([1, 5], len(there))
    table = numbered(there[:, 0], there[:, 1], ratings, level, (people, items))
    return without_record(table, int(rng.integers(len(table))))


def canary(data: Ratings, level: float, seed: int = 0) -> Pair:
    """A record placed into real data: a stranger gives the least rated item the best rating."""
    counts = np.bincount(data.item, minlength=len(data.items))
    rarest = np.flatnonzero(counts == counts.min())
    item = int(np.random.default_rng(seed).choice(rarest))
    top = max(level, 1.0)
    table = numbered(
        np.append(data.user, len(data.users)),
        np.append(data.item, item),
        np.append(data.rating, data.scale.hi),
        np.append(np.full(len(data), top), level),
    )
    table = replace(table, scale=data.scale)
    return without_record(table, len(table) - 1)
