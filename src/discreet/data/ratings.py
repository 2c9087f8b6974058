"""Ratings: the checked table of who rated what, by user and by item, with external ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import Array, Integers
from discreet.data.columns import (
    COLUMNS,
    Where,
    as_polars,
    choose_columns,
    levels,
    ratings,
    times_if_any,
    timestamps,
)
from discreet.data.csr import CSR
from discreet.data.edges import PerItem
from discreet.data.event_rules import EventRules
from discreet.data.ids import Ids, Keys, id_column
from discreet.data.scale import RatingScale
from discreet.data.source import OnePart, OverCatalogue
from discreet.errors import DataError, require_choice, require_count
from discreet.kernels.numbering import Column, rows_ascend
from discreet.kernels.pairs import PairTwiceError, sort_pairs
from discreet.kernels.sorting import read_only, sort_column
from discreet.kernels.threads import thread_count

T = TypeVar("T")
T_any = TypeVar("T_any", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Ratings:
    """A table of ratings, at most one for each user and item; build it by `from_frame`.

    It is stored by user, then item, as compressed sparse rows; `by_item` has the other order. The
    ids and the arrays are secret, like all ratings; only the scale is public.

    >>> frame = pl.DataFrame({"user": ["ann", "bob"], "item": [7, 7], "rating": [4, 5]})
    >>> len(Ratings.from_frame(frame))
    2
    """

    users: Ids
    items: Ids
    ptr: NDArray[np.int64]
    """The records of person i are ptr[i]..ptr[i+1]."""
    item: NDArray[np.int32]
    rating: Array
    epsilon: NDArray[np.float64] | None
    timestamp: NDArray[np.int64] | None
    scale: RatingScale

    def __post_init__(self) -> None:
        # Kernels follow the pointers without looking.
        ends = len(self.ptr) == len(self.users) + 1 and (self.ptr[0], self.ptr[-1])
        if ends != (0, len(self.item)) or (self.ptr[1:] < self.ptr[:-1]).any():
            raise DataError("ptr must ascend from 0 to the number of records, a step a person")
        for name in ("ptr", *COLUMNS[1:]):
            column = getattr(self, name)
            if column is not None:
                object.__setattr__(self, name, read_only(column))

    def __getstate__(self) -> dict[str, Any]:
        """What the table holds, without what was computed from it."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

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

        `columns` maps our names (user, item, rating, epsilon, timestamp) to the table's; usual ones
        such as user_id or stars are known. `keep="last"` keeps the latest record (by timestamp, of
        equal ones the last) of a pair that occurs more than once, which otherwise is an error.
        `text_ids` makes texts of integer ids, as all ids in a text file are.
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
        epsilon = levels(table[chosen["epsilon"]], where) if "epsilon" in chosen else None
        needed = keep == "last" or "timestamp" in (columns or {})
        timestamp = times_if_any(table, chosen, where, needed=needed)
        if keep == "last" and timestamp is None:
            raise DataError(
                "keep='last' needs a timestamp column to know which record of a pair is the "
                "latest: map one, or remove the duplicates first"
            )
        try:
            pairs = arrange(ids[0], ids[1], (rating, epsilon, timestamp), text_ids=text_ids)
        except PairTwiceError as twice:
            # Once more from the table: what was made of it has been moved.
            user, item = (Keys.of(column, text=text_ids).column.whole for column in ids)
            if keep is None:
                raise _two_of_one_pair(np.flatnonzero(user == twice.first), item, where) from None
            kept = _latest_of_each_pair(user, item, timestamps(table[chosen["timestamp"]], where))
            return cls.from_frame(table[kept], columns, scale=scale, text_ids=text_ids)
        return cls(*pairs, rating, epsilon, timestamp, scale)

    def __len__(self) -> int:
        return len(self.rating)

    def __repr__(self) -> str:
        return (
            f"Ratings({len(self):,} ratings of {len(self.users):,} users "
            f"on {len(self.items):,} items, scale {self.scale})"
        )

    @cached_property
    def user(self) -> NDArray[np.int32]:
        """The row number of each record's user."""
        return read_only(self.by_user.rows)

    @property
    def by_user(self) -> CSR:
        """The ratings as a sparse matrix with a row for each user."""
        return CSR(self.item, self.rating, self.ptr)

    @cached_property
    def by_item(self) -> CSR:
        """The ratings as a sparse matrix with a row for each item."""
        return self.by_user.transposed(len(self.items))

    @property
    def per_item(self) -> PerItem:
        """How often each item was rated, and the sum of its ratings: secret, for the owner."""
        counts = np.bincount(self.item, minlength=len(self.items))
        sums = np.bincount(self.item, weights=self.rating, minlength=len(self.items))
        return PerItem(self.items, counts, sums.astype(np.float64))

    def in_item_order(self, column: NDArray[T_any]) -> NDArray[T_any]:
        """A number for every record, moved from the table's order to that of `by_item`."""
        return sort_column(self.item, len(self.items), column, thread_count(None))

    def subset(self, mask: NDArray[np.bool_]) -> Ratings:
        """The records where mask is true; users and items keep their row numbers."""
        if mask.dtype != np.bool_ or mask.shape != self.item.shape:
            raise DataError("a subset needs true or false for each record of the table")
        kept = np.flatnonzero(mask)
        return self._taken(kept, np.searchsorted(kept, self.ptr))

    def _taken(self, records: Integers, ptr: Integers) -> Ratings:
        """These records, given where each person's start."""
        return replace(
            self,
            ptr=ptr,
            item=self.item[records],
            rating=self.rating[records],
            epsilon=None if self.epsilon is None else self.epsilon[records],
            timestamp=None if self.timestamp is None else self.timestamp[records],
        )

    def of_some_people(self, count: int, seed: int = 0) -> Ratings:
        """All ratings of so many people, drawn at random."""
        if require_count("users", count) > len(self.users):
            raise DataError(f"cannot draw {count} people: there are only {len(self.users)}")
        chosen = np.zeros(len(self.users), dtype=bool)
        chosen[np.random.default_rng(seed).choice(len(self.users), count, replace=False)] = True
        return self.subset(chosen[self.user])

    @property
    def has_levels(self) -> bool:
        """Whether the table has an epsilon column: a privacy level for every rating."""
        return self.epsilon is not None

    @property
    def rules(self) -> EventRules | None:
        """By which rows of events became records; None for ratings."""
        return None

    @property
    def events(self) -> bool:
        """Whether these are events, whose secret is that they happened; false for ratings."""
        return self.rules is not None

    def over(self, catalogue: Ids) -> OverCatalogue:
        """The same table as a source whose items are those of a public catalogue.

        Records of other items are still there: their levels may count for their owners.
        """
        return OverCatalogue(self, catalogue)

    def with_items(self, catalogue: Ids) -> Ratings:
        """The same records over a public catalogue; those of other items are dropped silently."""
        if catalogue is self.items:
            return self
        place = catalogue.rows(self.items.values)
        item = place[self.item]
        inside = item >= 0
        kept = self if inside.all() else self.subset(inside)
        moved = replace(kept, items=catalogue, item=item[inside])
        if rows_ascend(moved.ptr, moved.item, thread_count(None)):
            return moved
        # Texts of integers come in another order than the integers of a catalogue.
        return moved._taken(np.lexsort((moved.item, moved.user)), moved.ptr)

    def map_parts(self, prepare: Callable[[Ratings], T]) -> OnePart[T]:
        """Prepare the whole table at once: in memory there is one part. See `RatingsSource`."""
        return OnePart(prepare(self))

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


def arrange(
    user: pl.Series,
    item: pl.Series,
    columns: Sequence[NDArray[Any] | None],
    *,
    text_ids: bool,
) -> tuple[Ids, Ids, Integers, NDArray[np.int32]]:
    """Users, items, pointers and item numbers of records; their other columns move along in place.

    `PairTwiceError` for a pair that occurs twice, after which the columns are in no order.
    """
    people = Keys.of(user, text=text_ids)
    items, numbers = Ids.factorise(item, text=text_ids)
    others = [column for column in columns if column is not None]
    known, ptr = _in_order(people.column, numbers, len(items), others)
    return people.named(known), items, ptr, numbers


def _in_order(
    people: Column, item: NDArray[np.int32], items: int, columns: Sequence[NDArray[Any]]
) -> tuple[Integers, Integers]:
    """Put records in the order of people, then items; an error if somebody rated an item twice.

    Items and the other columns are moved in place. Returns the keys of the people who rated, and
    where the records of each begin.
    """
    if people.ascends:
        known, ptr = people.runs()
        if rows_ascend(ptr, item, thread_count(None)):
            return known, ptr
    counts = sort_pairs(people, item, items, columns)
    present = np.flatnonzero(counts)
    ptr = np.concatenate([[0], np.cumsum(counts[present], dtype=np.int64)])
    return present + people.base, ptr


def _two_of_one_pair(
    rows: NDArray[np.int64], item: NDArray[np.integer[Any]], where: Where
) -> DataError:
    """What to say where one person's rows of a table name an item twice."""
    order = rows[np.argsort(item[rows], kind="stable")]
    first = int(np.argmax(np.diff(item[order]) == 0))
    return DataError(
        f"two ratings of one pair: row {order[first] + 1} and again "
        f"{where(int(order[first + 1]))}; remove one, or keep the latest with "
        "keep='last' (--keep last), which needs a timestamp column"
    )


def _latest_of_each_pair(
    user: NDArray[np.integer[Any]], item: NDArray[np.integer[Any]], timestamp: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Which rows of a table to keep, in the order of people and items."""
    order = np.lexsort((timestamp, item, user))
    u, i = user[order], item[order]
    last = np.append((u[1:] != u[:-1]) | (i[1:] != i[:-1]), True)
    return np.asarray(order[last])
