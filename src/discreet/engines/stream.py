"""Tables larger than memory, on one machine: split by people onto disk once, then part by part."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.data.columns import COLUMNS, as_number, choose_columns
from discreet.data.edges import PerItem
from discreet.data.event_rules import COLUMNS as EVENT_COLUMNS
from discreet.data.event_rules import EventRules
from discreet.data.events import SCALE, read_table
from discreet.data.ids import Ids
from discreet.data.names import how_to_map
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.errors import DataError, DataMissingError, OutputError
from discreet.progress import Progress, silent
from discreet.readers.base import Dialect
from discreet.readers.explain import explained
from discreet.readers.formats import scan_ratings, scanned_endings

ROWS = 5_000_000
"""So many ratings are in memory at a time: about 0.3 GB in the mechanism's arrays."""
T = TypeVar("T")
_READ_WHOLE = "read whole, without --engine stream, it gets a message that names the row"


@dataclass(frozen=True, eq=False)
class Stream:
    """Ratings on disk, in parts: nobody has ratings in two of them."""

    items: Ids
    scale: RatingScale
    parts: tuple[tuple[Path, ...], ...]
    has_levels: bool
    """Whether the table has an epsilon column."""
    per_item: PerItem = field(repr=False)
    """How often each item of the table was rated, whatever the catalogue: secret."""
    keep: str | None = None
    rules: EventRules | None = None
    """Of events: by which rows become records."""

    @property
    def events(self) -> bool:
        """Whether these are events."""
        return self.rules is not None

    def over(self, catalogue: Ids) -> Stream:
        """The same, to be counted over a public catalogue."""
        return replace(self, items=catalogue)

    def map_parts(self, prepare: Callable[[Ratings], T]) -> StreamParts[T]:
        """Every part is read and prepared anew each time it is asked for."""
        return StreamParts(self, prepare)

    def load(self, part: int) -> Ratings:
        """One part, checked like any table, with all records of its people."""
        frame = pl.concat([pl.read_parquet(file) for file in self.parts[part]])
        try:
            return read_table(frame, scale=self.scale, keep=self.keep, rules=self.rules)
        except DataError as error:
            raise DataError(f"{error} (rows are counted within one part of the table)") from None


@dataclass(frozen=True, eq=False)
class StreamParts(Generic[T]):
    """What is prepared from every part in turn."""

    stream: Stream
    prepare: Callable[[Ratings], T]

    def sum(self, contribution: Callable[[T], Integers], shape: tuple[int, ...]) -> Integers:
        """The sum over parts, one in memory at a time."""
        total = np.zeros(shape, dtype=np.int64)
        for part in range(len(self.stream.parts)):
            total += contribution(self.prepare(self.stream.load(part)))
        return total


@contextmanager
def open_stream(
    source: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    scale: RatingScale | tuple[float, float] = (1, 5),
    keep: str | None = None,
    rules: EventRules | None = None,
    separator: str | None = None,
    rows: int = ROWS,
    folder: str | Path | None = None,
    progress: Progress = silent,
) -> Iterator[Stream]:
    """Split a table by people: a Parquet file, a folder of them, or any file that can be scanned.

    The parts go when it closes. They are as secret as the ratings: in a folder that only its owner
    can read, in `folder` or where temporary files are kept. They take about as much room as the
    table. Which files can be scanned, `readers/formats.py` says. With `rules` it is a table of
    events.
    """
    scan, chosen = _scan(Path(source), columns or {}, separator, rules)
    try:
        place = tempfile.TemporaryDirectory(prefix="discreet-", dir=folder)
    except OSError as error:
        raise OutputError(f"cannot keep parts in {folder}: {error}") from None
    with place as name:
        table = scan.select(pl.col(theirs).alias(ours) for ours, theirs in chosen.items())
        _refuse_nested(source, table.collect_schema())
        try:
            count = int(table.select(pl.len()).collect(engine="streaming").item())
            if count == 0:
                raise DataError(f"{source}: the table is empty: it needs at least one row")
            kinds = table.collect_schema()
            values = [as_number(pl.col(c), kinds[c]) for c in ("rating", "weight") if c in chosen]
            value = (values or [pl.lit(1.0)])[0].cast(pl.Float64, strict=False)
            by_item = table.group_by("item").agg(pl.len().alias("count"), value.sum().alias("sum"))
            per_item = PerItem.of(by_item.collect(engine="streaming"))
            files = _split(table, count, rows, Path(name), progress)
        except pl.exceptions.PolarsError as error:
            raise DataError(
                f"{source}: cannot be read as a table: {_first_line(error)}; {_READ_WHOLE}"
            ) from None
        scale = RatingScale.of(scale) if rules is None else SCALE
        yield Stream(per_item.ids, scale, files, "epsilon" in chosen, per_item, keep, rules)


def _scan(
    source: Path, columns: Mapping[str, str], separator: str | None, rules: EventRules | None
) -> tuple[pl.LazyFrame, dict[str, str]]:
    if not source.exists():
        raise DataMissingError(f"no file or folder {source}: check the path")
    dialect = Dialect(columns, separator, ours=COLUMNS if rules is None else EVENT_COLUMNS)
    choose = choose_columns if rules is None else rules.choose_columns
    names: list[str] = []
    try:
        scan = scan_ratings(source, dialect)
        names = scan.collect_schema().names()
        scan.limit(1).collect()
        return scan, choose(names, columns)
    except (pl.exceptions.PolarsError, OSError) as error:
        refusal = DataError(
            "the stream engine reads Parquet (a file or a folder) and "
            f"{', '.join(scanned_endings())}; this is not a readable one: {_first_line(error)}; "
            f"{_READ_WHOLE}"
        )
        raise explained(refusal, source, names) from None
    except DataError as error:
        raise explained(error, source, names) from None


def _refuse_nested(source: str | Path, schema: Mapping[str, Any]) -> None:
    """An error for values that are lists or records; Polars would end the process at them."""
    for name in ("rating", "weight"):
        if name in schema and schema[name].is_nested():
            raise DataError(
                f"{source}: {name} must be a number: the column holds {schema[name]}; name another "
                f"one with {how_to_map(name)}"
            )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _split(
    table: pl.LazyFrame, count: int, rows: int, folder: Path, progress: Progress
) -> tuple[tuple[Path, ...], ...]:
    """One pass over the table; every slice leaves a file in each part that it has people of."""
    parts = -(-count // rows)
    files: list[list[Path]] = [[] for _ in range(parts)]
    slices = range(0, count, rows)
    for number, first in enumerate(slices):
        progress("split by people", number, len(slices))
        frame: Any = table.slice(first, rows).collect(engine="streaming")
        owner = frame["user"].cast(pl.String).hash(seed=0) % parts
        for part in owner.unique().to_list():
            path = folder / f"{part}-{number}.parquet"
            frame.filter(owner == part).write_parquet(path)
            files[part].append(path)
    progress("split by people", len(slices), len(slices))
    return tuple(tuple(some) for some in files if some)
