"""Items: the public catalogue and what is publicly known of each item, never taken from ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from discreet.errors import DataError
from discreet.ids import Ids, id_series

_OF_RATINGS = {"user", "person", "rating", "epsilon"}


@dataclass(frozen=True, eq=False)
class Items:
    """A public item table: ids in canonical order and any of title, year, genres, numbers.

    >>> items = Items.from_frame(pl.DataFrame({"item": [2, 1], "title": ["B", "A"]}))
    >>> items.titles([1, 2, 3])
    ['A', 'B', '3']
    """

    ids: Ids
    frame: pl.DataFrame
    """One row per item, in the order of `ids`; the column `item` comes first."""

    @classmethod
    def from_frame(cls, frame: pl.DataFrame) -> Items:
        """Check an item table: a column `item` without gaps or repeats, and at least one row."""
        if "item" not in frame.columns:
            raise DataError(
                f"no column 'item' in the item table: it has "
                f"{', '.join(map(repr, frame.columns))}; rename the one that names the item"
            )
        personal = _OF_RATINGS.intersection(name.lower() for name in frame.columns)
        if personal:
            raise DataError(
                f"this looks like a ratings table: it has a column {min(personal)!r}, and every "
                "column of an item table is published with the release"
            )
        if frame.height == 0:
            raise DataError("the item table is empty: it needs at least one row")
        reserved = [name for name in frame.columns if name.startswith("_")]
        if reserved:
            raise DataError(
                f"column names that begin with '_' are reserved: rename {reserved[0]!r}"
            )
        item = id_series(frame["item"], "item")
        repeated = item.filter(item.is_duplicated())
        if len(repeated):
            raise DataError(f"item {repeated[0]!r} stands twice in the item table: remove one row")
        others = [name for name in frame.columns if name != "item"]
        ordered = frame.select(item, *others).sort("item")
        return cls(Ids(ordered["item"]), ordered)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Items({len(self):,} items with {', '.join(self.frame.columns[1:]) or 'ids only'})"

    def titles(self, ids: Any) -> list[str]:
        """The title of every id, or the id itself where there is none."""
        wanted = id_series(ids, "item")
        known = self.frame["title"] if "title" in self.frame.columns else None
        names = []
        for id_, row in zip(wanted, self.ids.rows(wanted), strict=True):
            title = known[int(row)] if known is not None and row >= 0 else None
            names.append(str(id_) if title is None else str(title))
        return names
