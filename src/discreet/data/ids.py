"""External ids: any integers or strings outside, row numbers in one canonical order inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import DataError, UnknownIdError
from discreet.kernels.numbering import Column, dense, look_up, written_usually
from discreet.kernels.sorting import read_only
from discreet.kernels.threads import thread_count

Id = int | str


def id_series(values: Any, what: str) -> pl.Series:
    """Ids as an Int64 or String series; anything else is an error that names the first bad one."""
    series = id_column(values, what)
    return series if series.dtype == pl.String else series.cast(pl.Int64)


def id_column(values: Any, what: str) -> pl.Series:
    """A column of ids in the type that it has: integers of at most 64 bits, or strings."""
    if isinstance(values, str | int):
        raise DataError(f"{what} ids must come in a list: got {values!r}; write [{values!r}]")
    try:
        series = values if isinstance(values, pl.Series) else pl.Series(what, values, strict=True)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{what} ids must be all integers or all strings: {error!r}") from None
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    if series.dtype.is_float() and _all_whole(series):
        series = series.cast(pl.Int64)  # pandas turns integers with gaps into floats
    if series.dtype in (pl.UInt64, pl.Int128, pl.UInt128):
        narrow = series.cast(pl.Int64, strict=False)
        if narrow.null_count() > series.null_count():
            raise DataError(f"{what} ids must fit into 64 bits with a sign: make them strings")
        series = narrow
    elif series.dtype == pl.Null and len(series) == 0:
        series = series.cast(pl.String)
    elif series.dtype != pl.String and not series.dtype.is_integer():
        raise DataError(
            f"{what} ids must be integers or strings: the column holds {series.dtype}; "
            "convert it, or name another column"
        )
    if series.null_count():
        row = int(series.is_null().arg_true()[0]) + 1
        raise DataError(f"{what} id is missing at row {row}: fill it in or drop the row")
    return series.alias(what)


def column_parts(column: pl.Series) -> list[NDArray[Any]]:
    """The numbers of a column as they lie in memory, not to be written to."""
    return [read_only(part.to_numpy()) for part in column.get_chunks()]


def _all_whole(series: pl.Series) -> bool:
    values = series.drop_nulls().to_numpy()
    # Beyond 2^53 a float no longer tells neighbouring integers apart.
    return bool((np.abs(values) < 2**53).all() and (values == np.floor(values)).all())


@dataclass(frozen=True)
class Ids:
    """Distinct ids in ascending order; an id's position is its internal row number.

    >>> Ids.of(["b", "a", "b"], "item").rows(["a", "c"]).tolist()
    [0, -1]
    """

    values: pl.Series

    @classmethod
    def of(cls, values: Any, what: str) -> Ids:
        """The distinct ids among values."""
        return cls(id_series(values, what).unique().sort())

    @classmethod
    def factorise(cls, values: pl.Series, *, text: bool = False) -> tuple[Ids, NDArray[np.int32]]:
        """The distinct ids of a series that `id_column` made, and the row number of each value.

        With `text`, integers stand for the texts that write them. The row numbers are the
        caller's own, to be written to.
        """
        threads = thread_count(None)
        numbers = _written_integers(values) if values.dtype == pl.String else values
        if numbers is None:
            ids = cls(values.unique().sort())
            return ids, np.require(ids.rows(values), requirements="W")
        known, rows = Column(column_parts(numbers), threads).numbered()
        if values.dtype != pl.String and not text:
            return cls(pl.Series(values.name, known, dtype=pl.Int64)), rows
        # Texts of integers go through the integers, much faster, and end up as the same texts.
        texts = pl.Series(values.name, known).cast(pl.String)
        place = texts.arg_sort()
        rank = np.empty(len(known), dtype=np.int32)
        rank[place.to_numpy()] = np.arange(len(known), dtype=np.int32)
        return cls(texts.gather(place)), look_up(rows, 0, rank, threads)

    @property
    def what(self) -> str:
        """What is named: "user" or "item"."""
        return self.values.name

    @property
    def are_integers(self) -> bool:
        """Whether the ids are integers; strings otherwise."""
        return self.values.dtype == pl.Int64

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ids)
            and self.values.dtype == other.values.dtype
            and self.values.equals(other.values)
        )

    def __hash__(self) -> int:
        return hash((self.what, len(self.values)))

    def take(self, rows: Any) -> pl.Series:
        """The ids at these row numbers."""
        return self.values[np.asarray(rows, dtype=np.int64)]  # `gather` would be a query

    def rows(self, ids: Any, *, strict: bool = False) -> NDArray[np.int32]:
        """Row numbers of ids, -1 for an unknown one (an error that names it, if strict).

        Ids are the same if their texts are: 42 and "42" name one item, whatever the other rows of
        a table hold; "042" is another.
        """
        wanted = id_series(ids, self.what)
        if wanted.dtype == self.values.dtype == pl.Int64:
            found = self._integer_rows(wanted)
        else:
            found = _string_rows(self.values.cast(pl.String), wanted.cast(pl.String))
        if strict and len(found) and found.min() < 0:
            self._unknown(wanted[int(np.argmin(found))])
        return found

    def _integer_rows(self, wanted: pl.Series) -> NDArray[np.int32]:
        known, ids = self.values.to_numpy(), wanted.to_numpy()
        if len(known) == 0 or len(ids) == 0:
            return np.full(len(ids), -1, dtype=np.int32)
        base, top = int(known[0]), int(known[-1])
        if dense(base, top, len(known) + len(ids)):
            # One look-up table is several times faster than a binary search.
            table = np.full(top - base + 1, -1, dtype=np.int32)
            table[known - base] = np.arange(len(known), dtype=np.int32)
            return look_up(ids, base, table, thread_count(None))
        place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.where(known[place] == ids, place, -1).astype(np.int32)

    def _unknown(self, value: Any) -> None:
        raise UnknownIdError(
            f"unknown {self.what} {value!r}: it is not among the {self.what}s of the table"
        )


class Keys(NamedTuple):
    """A column of ids as sortable integers: comparing two keys compares the two ids.

    Integer ids that are dense enough are their own keys; all others are numbered first.
    """

    column: Column
    what: str
    ids: Ids | None
    """Which ids the integers number; None if they are the ids."""

    @classmethod
    def of(cls, values: pl.Series, *, text: bool = False) -> Keys:
        """Keys of a series that `id_column` made; with `text`, integers stand for texts."""
        threads = thread_count(None)
        if values.dtype != pl.String and not text:
            column = Column(column_parts(values), threads)
            if column.dense:
                return cls(column, values.name, None)
        ids, rows = Ids.factorise(values, text=text)
        return cls(Column([rows], threads), values.name, ids)

    def named(self, known: NDArray[Any]) -> Ids:
        """The ids of the distinct keys in ascending order."""
        if self.ids is not None:
            return self.ids
        return Ids(pl.Series(self.what, known, dtype=pl.Int64))


def _written_integers(texts: pl.Series) -> pl.Series | None:
    """The integers that all texts write in the one usual way ("7", not "07" or "+7"), or None."""
    if len(texts) == 0 or texts.head(100).cast(pl.Int64, strict=False).null_count():
        return None
    numbers = texts.cast(pl.Int64, strict=False)
    if numbers.null_count():
        return None
    # A text that reads as a number and is as long as the number's own text is that text.
    values, lengths = numbers.to_numpy(), texts.str.len_bytes().to_numpy()
    return numbers if written_usually(values, lengths, thread_count(None)) else None


def _string_rows(known: pl.Series, wanted: pl.Series) -> NDArray[np.int32]:
    if len(known) == 0:
        return np.full(len(wanted), -1, dtype=np.int32)
    codes = wanted.cast(pl.Enum(known), strict=False).to_physical()
    return np.asarray(codes.cast(pl.Int32).fill_null(-1).to_numpy())
