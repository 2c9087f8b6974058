"""Columns: what a ratings table must hold, checked once, with the place of every bad value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import column_parts
from discreet.data.names import called, how_to_map, is_number, told
from discreet.data.scale import RatingScale
from discreet.errors import DataError, require_choice
from discreet.kernels.numbering import narrowed
from discreet.kernels.threads import blockwise, thread_count

COLUMNS = ("user", "item", "rating", "epsilon", "timestamp")
REQUIRED = COLUMNS[:3]
DECIMAL_COMMA = r"^\s*([-+]?\d*),(\d{1,2})\s*$"
"""A number as much of the world writes it: its whole part, and what stands behind the comma."""
ANOTHER_SCALE = "declare another scale (scale=(lo, hi), --scale lo:hi) or mend the row"
"""What can be done about a rating that is not within the scale, where that can be chosen."""


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
        refuse_doubles([str(name) for name in frame.columns])
        # Column by column through NumPy: pandas' own Arrow export would need PyArrow.
        return pl.DataFrame({str(name): _pandas_column(frame[name]) for name in frame.columns})
    if hasattr(frame, "__arrow_c_stream__"):
        return pl.DataFrame(frame)
    raise DataError(
        "a table must be a Polars, pandas or Arrow table: "
        f"got {type(frame).__name__}; read files with discreet.read_ratings"
    )


def named(frame: pl.DataFrame, names: Sequence[str] | None = None) -> pl.DataFrame:
    """The table with names for columns that have none, such as an index that pandas wrote.

    `names` are those of its file, where a reader has made some up.

    >>> named(pl.DataFrame({"": [0], "item": [7]})).columns
    ['column 1', 'item']
    """
    given = frame.columns if names is None or len(names) != frame.width else names
    numbered = enumerate(zip(frame.columns, given, strict=True), 1)
    ours = {now: f"column {k}" for k, (now, name) in numbered if not name.strip()}
    refuse_doubles([ours.get(name, name) for name in frame.columns])
    return frame.rename(ours)


def refuse_doubles(names: Sequence[str]) -> None:
    """An error for a table with two columns of one name: either might be meant."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"two columns are called {name!r}: rename or remove one")
        seen.add(name)


def _pandas_column(column: Any) -> pl.Series:
    values = column.to_numpy()
    if values.dtype == object:
        listed = [None if v is None or v != v else v for v in values]  # NaN is not itself
        return pl.Series(listed, strict=False)
    return pl.Series(values, nan_to_null=True)  # pandas writes a missing number as NaN


def choose_columns(
    names: Sequence[str],
    columns: Mapping[str, str],
    ours: Sequence[str] = COLUMNS,
    required: Sequence[str] = REQUIRED,
    what: str = "the ratings table",
) -> dict[str, str]:
    """How the table calls each of our columns: as mapped, as we do, or as is usual.

    Those that it must have, and those that it has.

    >>> choose_columns(["customer", "item_id", "rating"], {})
    {'user': 'customer', 'item': 'item_id', 'rating': 'rating'}
    """
    for mapped in columns:
        require_choice("a mapped column", mapped, tuple(ours))
    taken = set(columns.values())
    free = [name for name in names if name not in taken]
    chosen = {c: columns.get(c) or called(c, free) or (c if c in required else None) for c in ours}
    missing = [c for c, theirs in chosen.items() if theirs is not None and theirs not in names]
    if missing:
        theirs = [chosen[c] for c in missing]
        raise DataError(
            f"no column{'s' * (len(theirs) > 1)} {', '.join(map(repr, theirs))} in {what}: "
            f"it has {told(names)}; {_remedy(missing, names)}"
        )
    return {c: theirs for c, theirs in chosen.items() if theirs is not None}


def _remedy(missing: Sequence[str], names: Sequence[str]) -> str:
    """What to do about columns that are not there; the first row may be taken for the header."""
    if any(map(is_number, names)):
        places = [c for c in (*REQUIRED, "weight") if c in missing]
        return (
            "the first row must name the columns, as in user,item,rating; of a text file without "
            f"such a row say where each stands, PLACE from 1 to {len(names)}: "
            f"{how_to_map(*places, theirs='PLACE')}"
        )
    if {"item", "rating"} == set(missing) and len(names) > len(COLUMNS):
        return (
            "a table needs a row for each rating, not a column for each item: in pandas, "
            "frame.melt('user', var_name='item', value_name='rating').dropna() makes one"
        )
    return f"name yours with {how_to_map(*missing)}"


def as_number(given: pl.Series | pl.Expr, dtype: pl.DataType | None = None) -> Any:
    """A column of text with decimal points where it has decimal commas; any other as it is.

    Three digits behind a comma may be thousands: they stay, and are refused. `dtype` is that of an
    expression.

    >>> as_number(pl.Series(["3,5", "4.5", "1,000"])).to_list()
    ['3.5', '4.5', '1,000']
    """
    kind = given.dtype if isinstance(given, pl.Series) else dtype
    return given.str.replace(DECIMAL_COMMA, "$1.$2") if kind == pl.String else given


def numbers(column: pl.Series, what: str, where: Where) -> pl.Series:
    """A column as numbers, without a gap: 32-bit floats as they are, all else as 64-bit floats."""
    if column.null_count():
        row = int(column.is_null().arg_true()[0])
        raise DataError(f"{what} is missing {where(row)}: fill it in or drop the row")
    if column.dtype == pl.String or not column.dtype.is_numeric():
        try:
            if column.dtype.is_nested():
                raise pl.exceptions.InvalidOperationError("a value for each row")
            parsed = as_number(column).cast(pl.Float64, strict=False)
        except pl.exceptions.InvalidOperationError:
            raise DataError(
                f"{what} must be a number: the column holds {column.dtype}; name another one with "
                f"{how_to_map(what)}"
            ) from None
        if parsed.null_count():
            row = int(parsed.is_null().arg_true()[0])
            repeated = str(column[row]).strip() == column.name  # where tables were put together
            remedy = "drop it: it repeats the header" if repeated else "write a plain number"
            raise DataError(f"{what} must be a number: got {column[row]!r} {where(row)}; {remedy}")
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
        remedy = ANOTHER_SCALE if np.isfinite(values[row]) else "mend the row or drop it"
        raise DataError(
            f"rating must be within the scale {scale}: got {values[row]:g} {where(row)}; {remedy}"
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
        raise DataError(
            f"epsilon must be finite and > 0: got {values[row]:g} {where(row)}; mend it, or leave "
            "it blank and declare a level for such ratings (default=..., --default-level)"
        )
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


def times_if_any(
    table: pl.DataFrame, chosen: Mapping[str, str], where: Where, *, needed: bool
) -> NDArray[np.int64] | None:
    """The times of a table, if it has some.

    A column that only its usual name makes one of times, such as "date", is passed over if it
    holds anything else and nobody needs it.
    """
    name = chosen.get("timestamp")
    if name is None:
        return None
    try:
        return timestamps(table[name], where)
    except DataError:
        if needed or name == "timestamp":
            raise
        return None


def _parsed_times(column: pl.Series, where: Where) -> pl.Series:
    """Text as seconds: whole numbers, or ISO dates with or without a time."""
    seconds = column.cast(pl.Int64, strict=False)
    if seconds.null_count() == column.null_count():
        return seconds
    # A date without a time reads as midnight, so one column may mix both.
    text = pl.col("time").str.strip_chars().str.replace(" ", "T", literal=True)
    kind = pl.Datetime("us")
    zoned = text.str.strptime(pl.Datetime("us", "UTC"), "%+", strict=False, exact=True)
    plain = [
        text.str.strptime(kind, f, strict=False, exact=True)
        for f in ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d")
    ]
    times = column.to_frame().select(
        pl.coalesce(*plain, zoned.dt.replace_time_zone(None)).alias("time")
    )["time"]
    unread = times.is_null() & column.is_not_null()
    if not unread.any():
        return times.dt.epoch("s")
    row = int(unread.arg_true()[0])
    raise DataError(
        f"timestamp must be seconds or an ISO date: got {column[row]!r} {where(row)}; "
        "write all in one form, or drop the column from the table"
    )
