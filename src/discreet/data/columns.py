"""Columns: what a ratings table must hold, checked once, with the place of every bad value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import column_parts
from discreet.data.scale import RatingScale
from discreet.errors import DataError, require_choice
from discreet.kernels.numbering import narrowed
from discreet.kernels.threads import blockwise, thread_count

COLUMNS = ("user", "item", "rating", "epsilon", "timestamp")
REQUIRED = COLUMNS[:3]


class Where(NamedTuple):
    """Tells the owner of a table where in it a bad value stands.

    >>> Where(pl.Series(["ann", "bob"]), pl.Series([7, 9]))(1)
    "at row 2 (user 'bob', item 9)"
    """

    users: pl.Series
    items: pl.Series
    text: bool = False
    """Whether integers stand for their texts."""

    def __call__(self, row: int) -> str:
        """The place of a row in words; the first row has number one."""
        user, item = (str(s[row]) if self.text else s[row] for s in (self.users, self.items))
        return f"at row {row + 1} (user {user!r}, item {item!r})"

    def of(self, chosen: NDArray[np.bool_]) -> Where:
        """The same for the rows where `chosen` is true, which then are counted anew."""
        rows = pl.Series(chosen)
        return self._replace(users=self.users.filter(rows), items=self.items.filter(rows))


def as_polars(frame: Any) -> pl.DataFrame:
    """A Polars frame from a Polars, pandas or Arrow table."""
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if type(frame).__module__.startswith("pandas"):
        # Column by column through NumPy: pandas' own Arrow export would need PyArrow.
        return pl.DataFrame({str(name): _pandas_column(frame[name]) for name in frame.columns})
    if hasattr(frame, "__arrow_c_stream__"):
        return pl.DataFrame(frame)
    raise DataError(
        "a table must be a Polars, pandas or Arrow table: "
        f"got {type(frame).__name__}; read files with discreet.read_ratings"
    )


def _pandas_column(column: Any) -> pl.Series:
    values = column.to_numpy()
    if values.dtype == object:
        listed = [None if v is None or v != v else v for v in values]  # NaN is not itself
        return pl.Series(listed, strict=False)
    return pl.Series(values, nan_to_null=True)  # pandas writes a missing number as NaN


def choose_columns(names: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
    """How the table calls each of our columns: those that it must have, and those that it has.

    >>> choose_columns(["customer", "item", "rating"], {"user": "customer"})
    {'user': 'customer', 'item': 'item', 'rating': 'rating'}
    """
    for ours in columns:
        require_choice("a mapped column", ours, COLUMNS)
    chosen = {c: columns.get(c, c) for c in COLUMNS if c in columns or c in names}
    for c in REQUIRED:
        chosen.setdefault(c, c)
    missing = [theirs for theirs in chosen.values() if theirs not in names]
    if missing:
        raise DataError(
            f"no column {missing[0]!r} in the ratings table: it has "
            f"{', '.join(map(repr, names))}; name yours with columns={{'user': ...}} "
            "(--columns user=... on the command line), and check the delimiter"
        )
    return chosen


def numbers(column: pl.Series, what: str, where: Where) -> pl.Series:
    """A column as numbers, without a gap: 32-bit floats as they are, all else as 64-bit floats."""
    if column.null_count():
        row = int(column.is_null().arg_true()[0])
        raise DataError(f"{what} is missing {where(row)}: fill it in or drop the row")
    if column.dtype == pl.String or not column.dtype.is_numeric():
        try:
            parsed = column.cast(pl.Float64, strict=False)
        except pl.exceptions.InvalidOperationError:
            raise DataError(f"{what} must be a number: the column holds {column.dtype}") from None
        if parsed.null_count():
            row = int(parsed.is_null().arg_true()[0])
            raise DataError(f"{what} must be a number: got {column[row]!r} {where(row)}")
        column = parsed
    return column if column.dtype == pl.Float32 else column.cast(pl.Float64)


def ratings(column: pl.Series, scale: RatingScale, where: Where) -> NDArray[np.floating[Any]]:
    """The rating column, every value within the scale; in 32 bits where these hold all of them."""
    given = numbers(column, "rating", where)
    compact, within, exact = narrowed(column_parts(given), scale.lo, scale.hi, thread_count(None))
    if within and exact:
        return compact
    values = given.cast(pl.Float64).to_numpy(writable=True)  # not the caller's memory
    if not within:
        row = int(np.argmin((values >= scale.lo) & (values <= scale.hi)))  # false for NaN as well
        raise DataError(
            f"rating must be within the scale {scale}: got {values[row]:g} {where(row)}; "
            "declare another scale (scale=(lo, hi), --scale lo:hi) or mend the row"
        )
    return values


def levels(column: pl.Series, where: Where) -> NDArray[np.float64]:
    """The epsilon column: every rating's privacy level, finite and above zero.

    A missing one stays NaN: the specification fills in its default, or refuses.
    """
    if column.null_count() == 0:
        present = numbers(column, "epsilon", where).cast(pl.Float64)
        values, given = present.to_numpy(writable=True), None
    else:
        given = column.is_not_null().to_numpy()
        values = np.full(len(column), np.nan)
        present = numbers(column.filter(column.is_not_null()), "epsilon", where.of(given))
        values[given] = present.to_numpy()
    good = blockwise(lambda some: np.isfinite(some) & (some > 0), np.bool_, values)
    if given is not None:
        good |= ~given
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(f"epsilon must be finite and > 0: got {values[row]:g} {where(row)}")
    return values


def timestamps(column: pl.Series, where: Where) -> NDArray[np.int64]:
    """The time column in seconds since 1970, from numbers, dates or ISO text."""
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        column = column.dt.epoch("s")
    if column.dtype == pl.String:
        column = _parsed_times(column.alias("time"), where)
    seconds = column.cast(pl.Int64, strict=False) if column.dtype.is_integer() else None
    if seconds is not None and not seconds.null_count():
        return seconds.to_numpy(writable=True)  # not the caller's memory
    values = numbers(column, "timestamp", where).to_numpy()
    good = np.abs(values) < 2**53  # false for NaN as well
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(f"timestamp must be finite: got {values[row]:g} {where(row)}")
    return values.astype(np.int64)


def _parsed_times(column: pl.Series, where: Where) -> pl.Series:
    """Text as seconds: whole numbers, or ISO dates with or without a time."""
    seconds = column.cast(pl.Int64, strict=False)
    if seconds.null_count() == column.null_count():
        return seconds
    # A date without a time reads as midnight, so one column may mix both.
    formats = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d")
    times = column.to_frame().select(
        pl.coalesce(
            pl.col("time").str.strptime(pl.Datetime("us"), f, strict=False, exact=True)
            for f in formats
        )
    )["time"]
    unread = times.is_null() & column.is_not_null()
    if not unread.any():
        return times.dt.epoch("s")
    row = int(unread.arg_true()[0])
    raise DataError(
        f"timestamp must be seconds or an ISO date: got {column[row]!r} {where(row)}; "
        "convert the column, or drop it from the table"
    )
