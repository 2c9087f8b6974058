"""Checks where a ratings table meets an item table, and what their owner is told of them.

All of it is computed from the ratings without noise. It is secret, and for their owner alone:
errors and words when tables are read, never part of a release, and nothing is decided by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import Id, Ids, id_series
from discreet.data.items import Items, how_to_vouch
from discreet.data.texts import numbers_of
from discreet.errors import DataError

MANY = 0.05
"""From this share of ratings outside the catalogue on, a mistake is more likely than old items.

A judgement, and it decides about words alone: docs/constants.md."""
ALIKE = 0.95
"""On MovieLens 1M the counts in the earlier half of the ratings have a rank correlation of 0.985
with all counts, those in a tenth of the ratings 0.981; a film's year has at most 0.24 with counts
or means (MovieLens, Netflix, Book-Crossing)."""
FEWEST = 20
"""Below so many items chance could order them alike; with so many it does once in 10^10 tables."""
_EXAMPLES = 3


class PerItem(NamedTuple):
    """How often every item of a table was rated, and the sum of its ratings: secret."""

    ids: Ids
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]

    @classmethod
    def of(cls, frame: pl.DataFrame) -> PerItem:
        """From the columns item, count and sum, in any order of rows."""
        ordered = frame.with_columns(id_series(frame["item"], "item")).sort("item")
        counts = ordered["count"].cast(pl.Int64).to_numpy()
        return cls(Ids(ordered["item"]), counts, ordered["sum"].cast(pl.Float64).to_numpy())


class Table(Protocol):
    """What these checks need of a ratings table, be it in memory, on disk or in a cluster."""

    @property
    def items(self) -> Ids:
        """The items that it names."""
        ...

    @property
    def per_item(self) -> PerItem:
        """How often each was rated, and the sum of its ratings."""
        ...

    @property
    def events(self) -> bool:
        """Whether it is a table of events."""
        ...


class Match(NamedTuple):
    """How many ratings are of items in the catalogue, and how many are not: secret.

    >>> print(Match(inside=98, outside=2))
    2 of 100 ratings are of items outside the catalogue: nothing is learned from them.
    """

    inside: int
    outside: int
    strangers: tuple[Id, ...] = ()
    """Some of the table's items that are not in the catalogue."""
    known: tuple[Id, ...] = ()
    """Some of the catalogue's."""
    differences: tuple[str, ...] = ()
    """In what most of the table's other items differ from some of the catalogue's."""
    what: str = "ratings"

    @property
    def many(self) -> bool:
        """Whether so many are outside that it looks like a mistake."""
        return self.outside > MANY * (self.inside + self.outside)

    def __str__(self) -> str:
        total = self.inside + self.outside
        told = f"{self.outside:,} of {total:,} {self.what} are of items outside the catalogue"
        if not self.many:
            return f"{told}: nothing is learned from them."
        return f"{told} ({self.outside / total:.0%}): nothing is learned from them. {self.examples}"

    @property
    def examples(self) -> str:
        """Some ids of either table, and in what their spelling differs."""
        told = (
            f"In the {self.what} but not in the catalogue: {', '.join(map(repr, self.strangers))}; "
            f"in the catalogue: {', '.join(map(repr, self.known))}."
        )
        if not self.differences:
            return told
        return f"{told} They differ by {' or by '.join(self.differences)}: mend one of the tables."


def check_tables(ratings: Table, items: Items) -> Match:
    """How a ratings table goes with an item table; an error where it must not go on.

    That is where no rating is of an item in the catalogue, and where a column that nobody vouched
    for orders the items as their ratings do.
    """
    per_item = ratings.per_item
    found = _some_inside(match(per_item, items, events=ratings.events))
    refuse_derived(per_item, items)
    return found


def refuse_derived(per_item: PerItem, items: Items) -> None:
    """An error for a column that nobody vouched for and that orders the items as ratings do."""
    if not len(per_item.counts):
        return
    for column, what in _derived(per_item, items):
        raise DataError(
            f"column {column!r} of the item table orders the items almost as {what} of their "
            "ratings does: it looks derived from ratings, and it would be published. Leave it "
            f"out, or, if it is public by itself, vouch for it: {how_to_vouch(column)}"
        )


def require_inside(ratings: Table, items: Items | None) -> None:
    """An error if there are ratings, and all of them are of items outside the catalogue."""
    if items is None or (items.ids.rows(ratings.items.values) >= 0).all():
        return
    _some_inside(match(ratings.per_item, items, events=ratings.events))


def _some_inside(found: Match) -> Match:
    if found.outside and not found.inside:
        one = found.what.removesuffix("s")
        raise DataError(f"no {one} is of an item in the item table. {found.examples}")
    return found


def match(per_item: PerItem, items: Items, *, events: bool = False) -> Match:
    """How many ratings, or events, are inside the catalogue and outside, with examples of ids."""
    strange = (items.ids.rows(per_item.ids.values) < 0) & (per_item.counts > 0)
    outside = int(per_item.counts[strange].sum())
    inside = int(per_item.counts.sum()) - outside
    what = "events" if events else "ratings"
    if not outside:
        return Match(inside, 0, what=what)
    strangers = per_item.ids.values.filter(pl.Series(strange))
    return Match(
        inside,
        outside,
        tuple(strangers.head(_EXAMPLES)),
        tuple(items.ids.values.head(_EXAMPLES)),
        tuple(_differences(strangers.cast(pl.String), items.ids.values.cast(pl.String))),
        what,
    )


_WITHOUT: dict[str, Callable[[pl.Series], pl.Series]] = {
    "leading zeros": lambda ids: ids.str.strip_chars_start("0"),
    "upper and lower case": lambda ids: ids.str.to_lowercase(),
    "blanks": lambda ids: ids.str.replace_all(r"\s", ""),
    "a decimal point": lambda ids: ids.str.replace(r"\.0+$", ""),
}
"""Differences in writing, and how ids are read without them."""


def _differences(strangers: pl.Series, known: pl.Series) -> Iterator[str]:
    """The differences without which most of the strangers would be known."""
    for name, without in _WITHOUT.items():
        if without(strangers).is_in(without(known).implode()).mean() > 0.5:  # type: ignore[operator]
            yield name


def _derived(per_item: PerItem, items: Items) -> Iterator[tuple[str, str]]:
    """Columns of numbers that nobody vouched for, and what of the ratings they look made of."""
    place = per_item.ids.rows(items.ids.values)
    counts = np.where(place >= 0, per_item.counts[place], 0)
    sums = np.where(place >= 0, per_item.sums[place], 0.0)
    of_ratings = {"the number": counts, "the mean": sums / np.maximum(counts, 1)}
    for name in items.frame.columns[1:]:
        numbers = None if name in items.vouched else numbers_of(items.frame[name])
        if numbers is None:
            continue
        values = numbers.fill_null(np.nan).to_numpy()
        rated = np.isfinite(values) & (counts > 0)
        for what, secret in of_ratings.items():
            if _rank_correlation(values[rated], secret[rated]) >= ALIKE:
                yield name, what


def _rank_correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Spearman's, without its sign; 0 where there are too few items, or all are the same."""
    if len(one) < FEWEST or np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    ranks = [pl.Series(values).rank("average").to_numpy() for values in (one, other)]
    return abs(float(np.corrcoef(ranks)[0, 1]))
