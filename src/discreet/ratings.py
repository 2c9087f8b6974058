"""Ratings: the validated table, with external ids, in both orders the kernels need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.columns import (
    COLUMNS,
    Where,
    as_polars,
    choose_columns,
    levels,
    ratings,
    timestamps,
)
from discreet.errors import DataError, require_choice, require_count
from discreet.ids import Ids, id_column
from discreet.kernels.numbering import pairs_ascend
from discreet.kernels.tables import pair_order, read_only, sort_column, sort_columns, take
from discreet.kernels.threads import thread_count
from discreet.scale import RatingScale

Floats = NDArray[np.floating[Any]]


Integers = NDArray[np.int64]
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_any = TypeVar("T_any", bound=np.generic)


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
    """The records sorted by one side, then the other: those of row i are ptr[i]..ptr[i+1]."""

    cols: NDArray[np.int32]
    values: Floats
    ptr: NDArray[np.int64]

    @property
    def rows(self) -> NDArray[np.int32]:
        """Whose record each one is, made anew every time."""
        return np.repeat(np.arange(len(self.ptr) - 1, dtype=np.int32), np.diff(self.ptr))


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

    def __post_init__(self) -> None:
        for name in COLUMNS:
            column = getattr(self, name)
            if column is not None:
                object.__setattr__(self, name, read_only(column))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # a copy is as read-only

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        columns: Mapping[str, str] | None = None,
        *,
        scale: RatingScale | tuple[float, float] = (1, 5),
        keep: str | None = None,
        text_ids: bool = False,
    ) -> Ratings:
        """Check a Polars, pandas or Arrow table and take it over.

        `columns` maps our names (user, item, rating, epsilon, timestamp) to the table's;
        `keep="last"` keeps the latest record (by timestamp) of a pair that occurs more than
        once, which otherwise is an error. `text_ids` makes texts of integer ids, as all ids in
        a text file are.
        """
        require_choice("keep", keep, (None, "last"))
        table = as_polars(frame)
        chosen = choose_columns(table.columns, columns or {})
        if table.height == 0:
            raise DataError("the ratings table is empty: it needs at least one row")
        ids = [id_column(table[chosen[c]], c) for c in ("user", "item")]
        where = Where(ids[0], ids[1], text_ids)
        scale = RatingScale.of(scale)
        rating = ratings(table[chosen["rating"]], scale, where)
        epsilon = timestamp = None
        if "epsilon" in chosen:
            epsilon = levels(table[chosen["epsilon"]], where)
        if "timestamp" in chosen:
            timestamp = timestamps(table[chosen["timestamp"]], where)
        elif keep == "last":
            raise DataError(
                "keep='last' needs a timestamp column to know which record of a pair is the "
                "latest: map one, or remove the duplicates first"
            )
        threads = thread_count(None)
        (users, user), (items, item) = (Ids.factorise(column, text=text_ids) for column in ids)
        unsorted = cls(users, items, user, item, rating, epsilon, timestamp, scale)
        if pairs_ascend(user, item, threads):
            return unsorted
        ordered = unsorted._by_way_of_items()
        if pairs_ascend(ordered.user, ordered.item, threads):
            return ordered
        return unsorted._without_duplicates(keep, where)

    def _by_way_of_items(self) -> Ratings:
        """The records sorted by item and then by user: quick, but it forgets where each stood."""
        by_item, users, threads = self.by_item, len(self.users), thread_count(None)
        order = Order(*sort_columns(by_item.cols, users, by_item.rows, by_item.values, threads))

        def moved(column: NDArray[T_any] | None) -> NDArray[T_any] | None:
            if column is None:
                return None
            return sort_column(by_item.cols, users, self.in_item_order(column), threads)

        return replace(
            self,
            user=order.rows,
            item=order.cols,
            rating=order.values,
            epsilon=moved(self.epsilon),
            timestamp=moved(self.timestamp),
        )

    def _without_duplicates(self, keep: str | None, where: Where) -> Ratings:
        """The records in order, duplicate pairs being resolved or refused."""
        threads = thread_count(None)
        order = pair_order(self.user, self.item, (len(self.users), len(self.items)), threads)
        user, item = take(self.user, order, threads), take(self.item, order, threads)
        kept = _one_of_each_pair(user, item, order, self.timestamp, keep, where)
        if kept is not None:
            user, item, order = user[kept], item[kept], order[kept]
        return replace(
            self,
            user=user,
            item=item,
            rating=take(self.rating, order, threads),
            epsilon=None if self.epsilon is None else take(self.epsilon, order, threads),
            timestamp=None if self.timestamp is None else take(self.timestamp, order, threads),
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
        ptr = np.searchsorted(self.user, np.arange(len(self.users) + 1, dtype=np.int32))
        return Order(self.item, self.rating, read_only(ptr))

    @cached_property
    def by_item(self) -> Order:
        """The records by item, then user."""
        size, threads = len(self.items), thread_count(None)
        columns = sort_columns(self.item, size, self.user, self.rating, threads)
        return Order(*map(read_only, columns))

    def in_item_order(self, column: NDArray[T_any]) -> NDArray[T_any]:
        """A number for every record, moved from the table's order to that of `by_item`."""
        return sort_column(self.item, len(self.items), column, thread_count(None))

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


def _one_of_each_pair(
    user: NDArray[np.int32],
    item: NDArray[np.int32],
    order: NDArray[np.integer[Any]],
    timestamp: NDArray[np.int64] | None,
    keep: str | None,
    where: Where,
) -> NDArray[np.int64] | None:
    """Which of the sorted records to keep, duplicate pairs being resolved or refused; None: all.

    `order` says in which row of the table each record stood.
    """
    same = (user[1:] == user[:-1]) & (item[1:] == item[:-1])
    if not same.any():
        return None
    if keep is None:
        first = int(np.argmax(same))
        raise DataError(
            f"two ratings of one pair: row {order[first] + 1} and again "
            f"{where(int(order[first + 1]))}; remove one, or keep the latest with "
            "keep='last' (--keep last), which needs a timestamp column"
        )
    assert timestamp is not None
    latest = np.lexsort((order, timestamp[order], item, user))
    u, i = user[latest], item[latest]
    return np.asarray(latest[np.append((u[1:] != u[:-1]) | (i[1:] != i[:-1]), True)])
