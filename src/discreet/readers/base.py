"""What a format is: how one kind of file is recognised, read whole, and scanned piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import polars as pl

from discreet.data.columns import COLUMNS, REQUIRED
from discreet.data.names import called
from discreet.data.scale import RatingScale

DEFAULT_SCALE = RatingScale(1, 5)
"""The scale of ratings in a format that has none of its own: one to five stars."""


@dataclass(frozen=True)
class Dialect:
    """What the caller says of a file because the file itself cannot say it.

    `columns` maps our names of columns to the file's; `separator` stands between the fields of a
    text file; `encoding` is how its characters are written as bytes; `ours` are our names of the
    columns that it may have.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    separator: str | None = None
    encoding: str = "utf-8"
    ours: tuple[str, ...] = COLUMNS

    def names(self, header: Sequence[str]) -> dict[str, str]:
        """Our names of the columns by those that a file has.

        >>> Dialect({"item": "sku"}).names(["Customer", "sku", "shelf"])
        {'Customer': 'user', 'sku': 'item'}
        """
        free = [name for name in header if name not in self.columns.values()]
        found = {c: self.columns.get(c) or called(c, free, self.flag("columns")) for c in self.ours}
        return {theirs: c for c, theirs in found.items() if theirs is not None and theirs in header}

    def flag(self, name: str) -> str:
        """The option of the command line that says this of a table.

        >>> Dialect().flag("columns"), Dialect(ours=("item", "title")).flag("separator")
        ('--columns', '--item-separator')
        """
        return f"--{'' if 'user' in self.ours else 'item-'}{name}"

    @property
    def required(self) -> tuple[str, ...]:
        """Our names of the columns that it must have."""
        return tuple(name for name in REQUIRED if name in self.ours)


class RatingsTable(NamedTuple):
    """A ratings table as it was read, its columns still under the names that the file gives."""

    frame: pl.DataFrame
    scale: RatingScale = DEFAULT_SCALE
    """The smallest and the largest rating that the format allows."""
    text_ids: bool = False
    """Whether its ids are text, also where digits were read as integers."""


def recognises_nothing(path: Path) -> bool:
    """The recogniser of a format whose files are told by the ending of their names alone."""
    del path
    return False


@dataclass(frozen=True)
class Format:
    """One kind of file. A line in `formats.FORMATS` makes it readable everywhere.

    `read_ratings` and `read_items` read a whole file into memory. `scan` only describes how to read
    it, so that the stream engine can go through files larger than memory; a format that must be
    read whole has none. A format under a name of its own, not under an ending such as ".csv", says
    of any path whether it `recognises_ratings` or `recognises_items` there.
    """

    read_ratings: Callable[[Path, Dialect], RatingsTable]
    read_items: Callable[[Path, Dialect], pl.DataFrame]
    scan: Callable[[Path, Dialect], pl.LazyFrame] | None = None
    recognises_ratings: Callable[[Path], bool] = recognises_nothing
    recognises_items: Callable[[Path], bool] = recognises_nothing
    rating_files: tuple[str, ...] = ()
    """Names of the files that it looks for in a folder or archive."""


def table_format(
    read: Callable[[Path, Dialect], pl.DataFrame],
    scan: Callable[[Path, Dialect], pl.LazyFrame] | None = None,
) -> Format:
    """The format of tables that name their columns: ratings and items are read alike.

    >>> avro = table_format(lambda path, dialect: pl.read_avro(path))
    >>> avro.scan is None
    True
    """

    def read_ratings(path: Path, dialect: Dialect) -> RatingsTable:
        return RatingsTable(read(path, dialect))

    return Format(read_ratings, read, scan)
