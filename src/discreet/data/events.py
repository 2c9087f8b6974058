"""Events: the checked table of who chose what, as ratings are kept, with values from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import Array, Floats, Integers
from discreet.data.columns import Where, as_polars, levels, numbers, timestamps
from discreet.data.event_rules import EventRules, Quantity
from discreet.data.ids import Keys, id_column
from discreet.data.ratings import Ratings, arrange
from discreet.data.scale import RatingScale
from discreet.errors import DataError
from discreet.kernels.pairs import PairTwiceError

SCALE = RatingScale(0, 1)
"""Of the values of events: public, and the same for all of them."""


@dataclass(frozen=True, eq=False, repr=False)
class Events(Ratings):
    """A table of events: who bought, played or clicked what; build it by `from_frame`.

    What is secret of an event is that it happened. Its value, from 0 to 1, is where a rating would
    be: 1, or what its quantity counts by a declared rule.

    >>> who = {"user": ["ann", "ann", "bob"], "item": [7, 7, 9]}
    >>> plays = pl.DataFrame({**who, "hours": [2, 3, 40]})
    >>> Events.from_frame(plays)
    Events(2 events of 2 users on 2 items)
    >>> Events.from_frame(plays, quantity=Quantity(10), repeats="sum").rating
    array([0.5, 1. ], dtype=float32)
    """

    rules: EventRules = EventRules()
    """By which rows became records: public."""

    @classmethod
    def from_frame(  # type: ignore[override]  # events are declared by other words than ratings
        cls,
        frame: Any,
        columns: Mapping[str, str] | None = None,
        *,
        quantity: Quantity | None = None,
        repeats: str = "any",
        text_ids: bool = False,
    ) -> Events:
        """Check a Polars, pandas or Arrow table and take it over.

        `columns` maps our names (user, item, weight, epsilon, timestamp) to the table's; usual
        names such as user_id or hours are known. Every event counts 1, or by its weight what
        `quantity` says. Several events of a pair are one record: the largest ("any"), the latest
        ("last"), or the sum of their weights ("sum"). Its level is the smallest of theirs.
        """
        rules = EventRules(quantity, repeats)
        table = as_polars(frame)
        chosen = rules.choose_columns(table.columns, columns or {})
        if table.height == 0:
            raise DataError("the table of events is empty: it needs at least one row")
        ids = [id_column(table[chosen[c]], c) for c in ("user", "item")]
        where = Where(ids[0], ids[1], text_ids)
        given = _Given.of(table, chosen, rules, where)
        try:
            pairs = arrange(ids[0], ids[1], given, text_ids=text_ids)
        except PairTwiceError:
            # Once more from the table: what was made of it has been moved.
            user, item = (Keys.of(column, text=text_ids).column.whole for column in ids)
            given = _Given.of(table, chosen, rules, where)
            kept, given = _one_of_each_pair(user, item, given, rules, where)
            pairs = arrange(ids[0][kept], ids[1][kept], given, text_ids=text_ids)
        values = np.ones(len(pairs[-1]), dtype=np.float32)
        if quantity is not None and given.weight is not None:
            values = quantity.values(given.weight).astype(np.float32)  # which holds every step
        return cls(*pairs, values, given.epsilon, given.timestamp, SCALE, rules)

    def __repr__(self) -> str:
        return (
            f"Events({len(self):,} events of {len(self.users):,} users "
            f"on {len(self.items):,} items)"
        )

    def to_frame(self) -> pl.DataFrame:
        """The table back, with external ids; the value of an event is its weight."""
        return super().to_frame().rename({"rating": "weight"})


def read_table(
    frame: Any,
    *,
    scale: RatingScale | tuple[float, float] = (1, 5),
    keep: str | None = None,
    rules: EventRules | None = None,
) -> Ratings:
    """A frame with our names of columns as ratings, or by these rules as events."""
    if rules is None:
        return Ratings.from_frame(frame, scale=scale, keep=keep)
    return Events.from_frame(frame, quantity=rules.quantity, repeats=rules.repeats)


def of_values(frame: Any, rules: EventRules) -> Events:
    """Events whose values these rules have made already, a record a row: user, item, rating and,
    where there is one, epsilon."""
    made = Events.from_frame(as_polars(frame), {"weight": "rating"}, quantity=Quantity(1))
    return replace(made, rules=rules)


class _Given(NamedTuple):
    """What a table says of its events beside who and what."""

    weight: Floats | None
    epsilon: Floats | None
    timestamp: NDArray[np.int64] | None

    @classmethod
    def of(
        cls, table: pl.DataFrame, chosen: Mapping[str, str], rules: EventRules, where: Where
    ) -> _Given:
        """Checked, every event in the order of the table."""
        weight = epsilon = timestamp = None
        if rules.quantity is not None:
            counted = pl.repeat(1.0, table.height, eager=True)
            named = table[chosen["weight"]] if "weight" in chosen else counted
            weight = _weights(named, rules.quantity, where)
        if "epsilon" in chosen:
            epsilon = levels(table[chosen["epsilon"]], where)
        if "timestamp" in chosen:
            timestamp = timestamps(table[chosen["timestamp"]], where)
        return cls(weight, epsilon, timestamp)


def _weights(column: pl.Series, quantity: Quantity, where: Where) -> Floats:
    """The quantity of every event, finite and at least zero, or what stands for a missing one."""
    missing = column.is_null()
    if column.dtype.is_float():
        missing |= column.is_nan()
    if missing.any():
        if quantity.missing is None:
            row = int(missing.arg_true()[0])
            raise DataError(
                f"weight is missing {where(row)}: fill it in, drop the row, or declare what stands "
                "for it with Quantity(missing=...) (--quantity SHAPE:CAP:MISSING)"
            )
        column = column.set(missing, None).fill_null(quantity.missing)
    values = numbers(column, "weight", where).cast(pl.Float64).to_numpy(writable=True)
    good = np.isfinite(values) & (values >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(f"weight must be finite and >= 0: got {values[row]:g} {where(row)}")
    return values


def _one_of_each_pair(
    user: Integers, item: Integers, given: _Given, rules: EventRules, where: Where
) -> tuple[Integers, _Given]:
    """A row of the table for every pair, and what the pair's one record is by the rules.

    Nothing here depends on the order of rows, nor on other pairs: of equally late events the larger
    counts, and weights are added up in ascending order.
    """
    weight, epsilon, timestamp = given
    keys: list[Array] = [] if weight is None else [weight]
    keys += [timestamp] if timestamp is not None and rules.repeats == "last" else []
    order = np.lexsort((*keys, item, user))
    u, i = user[order], item[order]
    first = np.insert((u[1:] != u[:-1]) | (i[1:] != i[:-1]), 0, True)
    starts, last = np.flatnonzero(first), np.flatnonzero(np.append(first[1:], True))
    kept = order[last]
    if weight is not None and rules.repeats == "sum":
        weight = np.bincount(np.cumsum(first) - 1, weight[order]).astype(np.float64)
    elif weight is not None:
        weight = weight[kept]
    if epsilon is not None:
        epsilon = _smallest_levels(epsilon[order], starts, order, where)
    if timestamp is not None:
        timestamp = np.maximum.reduceat(timestamp[order], starts)
    return kept, _Given(weight, epsilon, timestamp)


def _smallest_levels(epsilon: Floats, starts: Integers, order: Integers, where: Where) -> Floats:
    """The smallest level of every pair; where a pair has levels and blanks, an error: a default
    that is declared later might be smaller, or larger."""
    blank = np.isnan(epsilon)
    blanks = np.add.reduceat(blank.astype(np.int64), starts)
    mixed = (blanks > 0) & (blanks < np.diff(np.append(starts, len(epsilon))))
    if mixed.any():
        start = int(starts[np.argmax(mixed)])
        row = int(order[start + np.argmax(blank[start:])])
        raise DataError(
            f"epsilon is missing {where(row)}, and another event of the pair has one: fill it in"
        )
    return np.asarray(np.minimum.reduceat(epsilon, starts))
