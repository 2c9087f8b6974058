"""Sources: data sets as worker processes find them, by name or path, and know them again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from discreet.data.event_rules import EventRules
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.readers.datasets import load_events, load_items, load_ratings


@dataclass(frozen=True)
class Reading:
    """How a table is read: what `load_ratings` is told, or `load_events` where there are rules."""

    columns: tuple[tuple[str, str], ...] = ()
    scale: tuple[float, float] | None = None
    keep: str | None = None
    separator: str | None = None
    encoding: str = "utf-8"
    events: EventRules | None = None

    def load(self, source: str) -> Ratings:
        """The table itself."""
        columns, rules = dict(self.columns), self.events
        if rules is None:
            return load_ratings(
                source,
                columns,
                scale=self.scale,
                keep=self.keep,
                separator=self.separator,
                encoding=self.encoding,
            )
        return load_events(
            source,
            columns,
            quantity=rules.quantity,
            repeats=rules.repeats,
            separator=self.separator,
            encoding=self.encoding,
        )


@dataclass(frozen=True)
class ItemReading:
    """How an item table is read: what `load_items` is told."""

    columns: tuple[tuple[str, str], ...] = ()
    public_columns: tuple[str, ...] = ()
    """Columns that its owner vouches for."""
    separator: str | None = None
    encoding: str = "utf-8"

    def load(self, source: str) -> Items:
        """The table itself."""
        return load_items(
            source,
            dict(self.columns),
            public_columns=self.public_columns,
            separator=self.separator,
            encoding=self.encoding,
        )


@dataclass(frozen=True)
class Source:
    """A data set as worker processes find it: by name or path.

    `fingerprint` is a digest of its ratings and items, so that results are found again when the
    file has moved, and not when it has changed.
    """

    name: str
    ratings: str
    items: str | None = None
    fingerprint: str = ""
    reading: Reading = Reading()
    item_reading: ItemReading = ItemReading()
    times: str = ""
    """A digest of the times of records, on which some splits depend."""

    def load(self) -> Ratings:
        """The ratings, kept in memory by each process."""
        return _ratings(self.ratings, self.reading)

    def load_items(self) -> Items | None:
        """The item table, if there is one; likewise."""
        return None if self.items is None else _items(self.items, self.item_reading)

    def stamped(self) -> Source:
        """The same with its fingerprint."""
        data = self.load()
        digest = hashlib.sha256()
        for part in (data.user, data.item, data.rating):
            digest.update(np.ascontiguousarray(part).tobytes())
        if data.epsilon is not None:
            digest.update(data.epsilon.tobytes())
        digest.update("\0".join(map(str, data.items.values)).encode())
        items = self.load_items()
        if items is not None:
            digest.update(items.frame.write_json().encode())
        if data.events:
            digest.update(b"events")
        times = b"" if data.timestamp is None else data.timestamp.tobytes()
        return replace(
            self,
            fingerprint=digest.hexdigest()[:24],
            times=hashlib.sha256(times).hexdigest()[:24],
        )


@lru_cache(maxsize=2)
def _ratings(source: str, reading: Reading) -> Ratings:
    return reading.load(source)


@lru_cache(maxsize=2)
def _items(source: str, reading: ItemReading) -> Items:
    return reading.load(source)
