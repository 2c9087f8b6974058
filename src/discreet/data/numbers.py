"""Numbers of items: gaps filled, long tails shortened, identifiers told apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import Array

ENOUGH_TO_TELL = 100
"""In a table with at least so many whole numbers, all different, they name the items."""
LONG_TAIL = 2.0
"""Numbers of a larger skewness are taken by logarithm: that of an exponential distribution."""
FAR_OFF = 5.0
"""A number so many times the width of the middle nine tenths outside of these is a gap, such as the
year 0."""
LARGEST = 1e100
"""A larger number is a gap: squares of numbers must be finite."""


class Measured(NamedTuple):
    """A column of numbers without gaps, and what was done to it in words."""

    values: Array
    why: str


def known_numbers(column: pl.Series) -> NDArray[np.float64]:
    """The column as numbers; a gap is NaN.

    >>> known_numbers(pl.Series([1.5, None, float("inf")])).tolist()
    [1.5, nan, nan]
    """
    values = column.cast(pl.Float64).fill_null(np.nan).to_numpy(writable=True)
    values[~(np.abs(values) <= LARGEST)] = np.nan
    return values


def names_items(values: NDArray[np.float64]) -> bool:
    """Whether numbers look like identifiers: whole, all different, and enough of them to tell.

    >>> names_items(np.arange(100.0)), names_items(np.arange(100.0) % 99), names_items(np.arange(9))
    (True, False, False)
    """
    known = values[np.isfinite(values)]
    whole = bool((known == np.floor(known)).all())
    return len(known) >= ENOUGH_TO_TELL and whole and len(np.unique(known)) == len(known)


def measure(values: NDArray[np.float64]) -> Measured:
    """Fill gaps with the mean; shorten a long tail; take values far off for gaps.

    >>> measure(np.array([1999.0, np.nan, 2001.0])).values.tolist()
    [1999.0, 2000.0, 2001.0]
    """
    known = values[np.isfinite(values)]
    why = f"from {_told(known.min())} to {_told(known.max())}"
    kept = values
    if known.min() >= 0 and _skewness(known) > LONG_TAIL:
        # From the median on, so that a price in cents and one in euros come out alike.
        kept = np.log(values + np.median(known[known > 0]))
        why += ", by logarithm: a few are far above the others"
    else:
        lower, upper = np.quantile(known, (0.05, 0.95))
        reach = FAR_OFF * (upper - lower)
        far = (values < lower - reach) | (values > upper + reach)  # false for NaN
        if reach > 0 and far.any():
            kept = np.where(far, np.nan, values)
            why += f"; a gap where far off, such as {_told(values[far][0])}"
    gaps = ~np.isfinite(kept)
    if gaps.any():
        kept = np.where(gaps, kept[~gaps].mean(), kept)
        why += f"; {told_count(int(gaps.sum()), 'gap')} filled with the mean"
    return Measured(kept, why)


def decimal_years(dates: pl.Series) -> pl.Series:
    """Dates as years: the middle of 1999 is 1999.5.

    >>> from datetime import date
    >>> decimal_years(pl.Series([date(1999, 1, 1), None])).to_list()
    [1999.0, None]
    """
    # A leap day more or less is far below what anybody's taste depends on.
    return dates.dt.year() + (dates.dt.ordinal_day() - 1) / 365.25


def told_count(count: int, thing: str) -> str:
    """So many things in words.

    >>> told_count(1, "gap"), told_count(1200, "gap")
    ('1 gap', '1,200 gaps')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _skewness(values: NDArray[np.float64]) -> float:
    """The third moment of the standardised values."""
    scaled = values / max(float(np.abs(values).max()), 1e-300)
    deviation = scaled.std()
    return float((((scaled - scaled.mean()) / deviation) ** 3).mean()) if deviation > 0 else 0.0


def _told(value: float) -> str:
    """A number in few digits."""
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.6g}"
