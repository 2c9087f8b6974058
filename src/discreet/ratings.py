"""Ratings: the validated table, with external ids, in both orders the kernels need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.columns import (
    Where,
    as_polars,
    check_ratings,
    choose_columns,
    levels,
    numbers,
    timestamps,
)
from discreet.errors import DataError, require_choice, require_count
from discreet.ids import Ids, id_series
from discreet.kernels.cpu import counting_order
from discreet.scale import RatingScale

Floats = NDArray[np.floating[Any]]


Integers = NDArray[np.int64]
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Held(Protocol[T_co]):
    """What was prepared from the ratings of sets of people; nobody is in two of them."""

    def add_up(self, contribution: Callable[[T_co], Integers], shape: tuple[int, ...]) -> Integers:
        """The sum of all sets' contributions: integers, so it does not depend on the sets."""
        ...


class Crowd(Protocol):
    """Ratings as a mechanism sees them: it may ask for integer sums over people, and no more.

    A person's ratings are all in one set. Where a table is in memory there is one set, the table.
    """

    @property
    def items(self) -> Ids:
        """The catalogue, in canonical order."""
        ...

    @property
    def scale(self) -> RatingScale:
        """The rating scale."""
        ...

    def with_items(self, catalogue: Ids) -> Crowd:
        """The same over a public catalogue."""
        ...

    def held(self, prepare: Callable[[Ratings], T]) -> Held[T]:
        """Prepare every set; whether results are kept or made anew each time is the crowd's."""
        ...


@dataclass(frozen=True, eq=False)
class HeldHere(Generic[T]):
    """One set, in memory."""

    state: T

    def add_up(self, contribution: Callable[[T], Integers], shape: tuple[int, ...]) -> Integers:
        """The contribution of the only set."""
        return contribution(self.state).reshape(shape)


class Order(NamedTuple):
    """The records sorted by one side: row k of the other arrays belongs to `rows[k]`."""

    rows: NDArray[np.int32]
    cols: NDArray[np.int32]
    values: Floats
    ptr: NDArray[np.int64]
    records: NDArray[np.int64] | None
    """Where each record stands in the table's own order; None for that order itself."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """At most one record per user and item, sorted by user, then item; build it by `from_frame`.

    The ids and the arrays are secret, like all ratings; only the scale is public.

    >>> frame = pl.DataFrame({"user": ["ann", "bob"], "item": [7, 7], "rating": [4, 5]})
    >>> len(Ratings.from_frame(frame))
    2
    """

    users: Ids
    items: Ids
    user: NDArray[np.int32]
    item: NDArray[np.int32]
    rating: Floats
    epsilon: NDArray[np.float64] | None
    timestamp: NDArray[np.int64] | None
    scale: RatingScale

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        columns: Mapping[str, str] | None = None,
        *,
        scale: RatingScale | tuple[float, float] = (1, 5),
        keep: str | None = None,
    ) -> Ratings:
        """Check a Polars, pandas or Arrow table and take it over.

        `columns` maps our names (user, item, rating, epsilon, timestamp) to the table's;
        `keep="last"` keeps the latest record (by timestamp) of a pair that occurs more than
        once, which otherwise is an error.
        """
        require_choice("keep", keep, (None, "last"))
        table = as_polars(frame)
        chosen = choose_columns(table, columns or {})
        if table.height == 0:
            raise DataError("the ratings table is empty: it needs at least one row")
        user_ids, item_ids = (id_series(table[chosen[c]], c) for c in ("user", "item"))
        where = Where(user_ids, item_ids)
        scale = RatingScale.of(scale)
        rating = numbers(table[chosen["rating"]], "rating", where)
        check_ratings(rating, scale, where)
        epsilon = timestamp = None
        if "epsilon" in chosen:
            epsilon = levels(table[chosen["epsilon"]], where)
        if "timestamp" in chosen:
            timestamp = timestamps(table[chosen["timestamp"]], where)
        users, items = Ids.of(user_ids, "user"), Ids.of(item_ids, "item")
        user, item = users.rows(user_ids), items.rows(item_ids)
        order = _canonical_order(user, item, len(users), len(items), timestamp, keep, where)
        compact = rating.astype(np.float32)
        return cls(
            users=users,
            items=items,
            user=user[order],
            item=item[order],
            # Stars and half stars are exact in 32 bits; anything else stays as it came.
            rating=(compact if np.array_equal(compact, rating) else rating)[order],
            epsilon=None if epsilon is None else epsilon[order],
            timestamp=None if timestamp is None else timestamp[order],
            scale=scale,
        )

    def __len__(self) -> int:
        return len(self.rating)

    def __repr__(self) -> str:
        return (
            f"Ratings({len(self):,} ratings of {len(self.users):,} users "
            f"on {len(self.items):,} items, scale {self.scale})"
        )

    @cached_property
    def by_user(self) -> Order:
        """The records by user, then item."""
        ptr = np.zeros(len(self.users) + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.user, minlength=len(self.users)), out=ptr[1:])
        return Order(self.user, self.item, self.rating, ptr, None)

    @cached_property
    def by_item(self) -> Order:
        """The records by item, then user."""
        order, ptr = counting_order(self.item, len(self.items))
        return Order(self.item[order], self.user[order], self.rating[order], ptr, order)

    def subset(self, mask: NDArray[np.bool_]) -> Ratings:
        """The records where mask is true; users and items keep their row numbers."""
        return Ratings(
            users=self.users,
            items=self.items,
            user=self.user[mask],
            item=self.item[mask],
            rating=self.rating[mask],
            epsilon=None if self.epsilon is None else self.epsilon[mask],
            timestamp=None if self.timestamp is None else self.timestamp[mask],
            scale=self.scale,
        )

    def of_some_people(self, count: int, seed: int = 0) -> Ratings:
        """All ratings of so many people, drawn at random."""
        if require_count("users", count) > len(self.users):
            raise DataError(f"cannot draw {count} people: there are only {len(self.users)}")
        chosen = np.zeros(len(self.users), dtype=bool)
        chosen[np.random.default_rng(seed).choice(len(self.users), count, replace=False)] = True
        return self.subset(chosen[self.user])

    def with_items(self, catalogue: Ids) -> Ratings:
        """The same records over a public catalogue; those of other items are dropped silently."""
        place = catalogue.rows(self.items.values)
        item = place[self.item]
        inside = item >= 0
        kept = self if inside.all() else self.subset(inside)
        return Ratings(
            users=kept.users,
            items=catalogue,
            user=kept.user,
            item=item[inside],
            rating=kept.rating,
            epsilon=kept.epsilon,
            timestamp=kept.timestamp,
            scale=kept.scale,
        )

    def held(self, prepare: Callable[[Ratings], T]) -> HeldHere[T]:
        """The table as one set of people."""
        return HeldHere(prepare(self))

    def to_frame(self) -> pl.DataFrame:
        """The table back, with external ids."""
        columns = {
            "user": self.users.take(self.user),
            "item": self.items.take(self.item),
            "rating": pl.Series(self.rating),
        }
        if self.epsilon is not None:
            columns["epsilon"] = pl.Series(self.epsilon)
        if self.timestamp is not None:
            columns["timestamp"] = pl.Series(self.timestamp)
        return pl.DataFrame(columns)


def _canonical_order(
    user: NDArray[np.int32],
    item: NDArray[np.int32],
    users: int,
    items: int,
    timestamp: NDArray[np.int64] | None,
    keep: str | None,
    where: Where,
) -> NDArray[np.int64]:
    """The rows to keep, sorted by user, then item; duplicate pairs resolved or refused."""
    if keep == "last" and timestamp is None:
        raise DataError(
            "keep='last' needs a timestamp column to know which record of a pair is the "
            "latest: map one, or remove the duplicates first"
        )
    by_item, _ = counting_order(item, items)
    by_user, _ = counting_order(user[by_item], users)
    order: NDArray[np.int64] = by_item[by_user]
    u, i = user[order], item[order]
    same = (u[1:] == u[:-1]) & (i[1:] == i[:-1])
    if not same.any():
        return order
    if keep is None:
        first = int(np.argmax(same))
        raise DataError(
            f"two ratings of one pair: row {order[first] + 1} and again "
            f"{where(int(order[first + 1]))}; remove one, or keep the latest with "
            "keep='last' (--keep last), which needs a timestamp column"
        )
    assert timestamp is not None
    latest = np.lexsort((order, timestamp[order], i, u))
    last_of_pair = np.append(
        (u[latest][1:] != u[latest][:-1]) | (i[latest][1:] != i[latest][:-1]), True
    )
    return np.asarray(order[latest[last_of_pair]])
