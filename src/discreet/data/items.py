"""Items: the public catalogue and what is publicly known of each item, never taken from ratings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from discreet.data.columns import as_polars, named
from discreet.data.derived import looks_derived
from discreet.data.ids import Ids, id_series
from discreet.data.texts import numbers_of
from discreet.errors import DataError, ParameterError

_PEOPLE = ("user", "person", "customer", "buyer", "member", "reviewer", "account")
_OF_PEOPLE = {"user", "person", "customer", "epsilon"} | {
    f"{word}{joint}id" for word in _PEOPLE for joint in ("", "_")
}


@dataclass(frozen=True, eq=False)
class Items:
    """The public catalogue: the items that can be recommended, and what is known of each.

    What each column is used for is decided in uses.py. All of them are published.

    >>> items = Items.from_frame(pl.DataFrame({"item": [2, 1], "title": ["B", "A"]}))
    >>> items.titles([1, 2, 3])
    ['A', 'B', '3']
    >>> Items.from_frame(pl.DataFrame({"item": [1], "year": [1999], "num_ratings": [7]}))
    Items(1 items with year; left out: num_ratings)
    """

    ids: Ids
    frame: pl.DataFrame
    """One row per item, in the order of `ids`; the column `item` comes first."""
    vouched: tuple[str, ...] = ()
    """Columns of which the owner says that they are public and do not come from ratings."""
    left_out: tuple[str, ...] = ()
    """Columns of the table that look derived from ratings: neither features nor published."""

    @classmethod
    def from_frame(cls, frame: Any, *, public_columns: Iterable[str] = ()) -> Items:
        """Check an item table: a column `item` without gaps or repeats, and at least one row.

        The table is one of Polars, pandas or Arrow. A column without a name is called by its place.

        Every column is published. One that looks derived from ratings by its name, or has none, is
        left out, unless `public_columns` vouches for it: that it is public and does not come from
        ratings.
        """
        if isinstance(public_columns, str):
            raise ParameterError(
                f"public_columns must be a list of columns: got {public_columns!r}"
            )
        frame = named(as_polars(frame))
        vouched = tuple(dict.fromkeys(public_columns))
        for name in vouched:
            if name not in frame.columns:
                raise DataError(
                    f"no column {name!r} to vouch for in the item table: it has "
                    f"{', '.join(map(repr, frame.columns))}"
                )
        _refuse_ratings(frame.columns, vouched)
        suspects = [name for name in _suspects(frame) if name not in vouched]
        table = _in_order(frame.drop(suspects))
        return cls(Ids(table["item"]), table, vouched, tuple(suspects))

    @classmethod
    def as_published(cls, frame: pl.DataFrame, vouched: tuple[str, ...] = ()) -> Items:
        """The item table of a release: what is public already is not judged again."""
        table = _in_order(frame)
        return cls(Ids(table["item"]), table, vouched)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        known = ", ".join(self.frame.columns[1:]) or "ids only"
        missing = f"; left out: {', '.join(self.left_out)}" if self.left_out else ""
        return f"Items({len(self):,} items with {known}{missing})"

    def titles(self, ids: Any) -> list[str]:
        """The title of every id, or the id itself where there is none."""
        wanted = id_series(ids, "item")
        known = self.frame["title"] if "title" in self.frame.columns else None
        names = []
        for id_, row in zip(wanted, self.ids.rows(wanted), strict=True):
            title = known[int(row)] if known is not None and row >= 0 else None
            names.append(str(id_) if title is None else str(title))
        return names


def _suspects(frame: pl.DataFrame) -> list[str]:
    """The columns whose names look derived from ratings; numbers may be written as text."""
    return [
        name
        for name in frame.columns
        if name != "item"
        and looks_derived(name)
        and (looks_derived(name, numbers=False) or numbers_of(frame[name]) is not None)
    ]


def _refuse_ratings(names: list[str], vouched: tuple[str, ...]) -> None:
    """An error for a table of ratings that somebody took for one of items."""
    for name in names:
        rating = name.lower() == "rating" and name not in vouched
        if rating or name.lower() in _OF_PEOPLE:
            remedy = (
                f"if it is public by itself, vouch for it: {how_to_vouch(name)}"
                if rating
                else "give a table with one row for each item and nothing about people"
            )
            raise DataError(
                f"this looks like a ratings table: it has a column {name!r}, and every column of "
                f"an item table is published with the release; {remedy}"
            )


def how_to_vouch(name: str) -> str:
    """The words that vouch for a column, in the library and on the command line."""
    return f"public_columns=[{name!r}] (--public-column {name})"


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """The table by item, the column `item` first, if every item stands in it once."""
    if "item" not in frame.columns:
        raise DataError(
            f"no column 'item' in the item table: it has "
            f"{', '.join(map(repr, frame.columns))}; rename the one that names the item"
        )
    if frame.height == 0:
        raise DataError("the item table is empty: it needs at least one row")
    reserved = [name for name in frame.columns if name.startswith("_")]
    if reserved:
        raise DataError(f"column names that begin with '_' are reserved: rename {reserved[0]!r}")
    item = id_series(frame["item"], "item")
    repeated = item.filter(item.is_duplicated())
    if len(repeated):
        raise DataError(f"item {repeated[0]!r} stands twice in the item table: remove one row")
    return frame.select(item, *(name for name in frame.columns if name != "item")).sort("item")
