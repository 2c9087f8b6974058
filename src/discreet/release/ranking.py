"""Ranking: by what, among which items and how varied a list is; a value, the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.items import Items
from discreet.errors import DataError, ParameterError, require_choice

RANKINGS = {
    "best": "what one would choose and would like",
    "likely": "what one would choose",
    "liked": "what one would rate highest",
}
"""By what a list may be ranked, in words."""
MOST_DIVERSITY = 10.0
"""Far beyond what changes a list any more."""
RECENCY = 0.7
"""By default what is old counts 0.3 of what is new: measured in docs/constants.md."""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """How lists are made of scores: public wishes, or the asking person's own.

    `among` and `without` name items by their ids in a list, by public columns in a mapping
    ({"genres": "Comedy", "year": (1990, 1999)}: a value, a list of values, or a range as a pair of
    numbers, None for no end), or by a Polars expression over the item table. An item must have all
    that is asked by `among`, and nothing of what is ruled out by `without`; one that has no value
    is in no range and has no genre.

    >>> Ranking(by="liked", without={"year": (None, 1980)}).by
    'liked'
    """

    by: str = "best"
    """"best" (would choose x would like), "likely" (would choose) or "liked" (would rate high)."""
    diversity: float = 0.0
    """From 0, items as they rank, upwards: how much it counts against an item that it is like those
    above it; 0.5 costs nothing on films."""
    among: Any = None
    without: Any = None
    exclude_rated: bool = True
    """Whether what one has rated or chosen already is left out."""
    recency: float = RECENCY
    """How much less old choices count than late ones, where their times are known: from 0, all
    alike, to 1, where what is old counts nothing."""

    def check(self) -> None:
        """An error unless every wish makes sense."""
        require_choice("rank_by", self.by, tuple(RANKINGS))
        if not 0 <= self.diversity <= MOST_DIVERSITY:  # NaN is not
            raise ParameterError(
                f"diversity must be between 0 and {MOST_DIVERSITY:g}: got {self.diversity!r}"
            )
        check_recency(self.recency)

    def allowed(self, items: Items) -> NDArray[np.bool_] | None:
        """For every item of the catalogue whether it may be listed; None where all may."""
        if self.among is None and self.without is None:
            return None
        allowed = np.ones(len(items), dtype=bool)
        if self.among is not None:
            allowed &= _named(items, self.among, "among", np.logical_and)
        if self.without is not None:
            allowed &= ~_named(items, self.without, "without", np.logical_or)
        return allowed

    def leaving_out(self, items: Items, more: Sequence[Any]) -> Ranking:
        """The same, and these items are ruled out as well, whatever `without` says."""
        if not more:
            return self
        if self.without is None:
            return replace(self, without=more)
        named = np.flatnonzero(_named(items, self.without, "without", np.logical_or))
        return replace(self, without=[*items.ids.take(named), *more])


_SEPARATOR = re.compile(r"[|,;]")


def check_recency(recency: float) -> None:
    """An error unless it is a share."""
    if not 0 <= recency <= 1:  # NaN is not
        raise ParameterError(f"recency must be between 0 and 1: got {recency!r}")


BEST = Ranking()
"""The default everywhere: would choose x would like."""


def _named(items: Items, which: Any, name: str, together: np.ufunc) -> NDArray[np.bool_]:
    """The items that are meant, as a mask over the catalogue; `together` joins several columns."""
    if isinstance(which, pl.Expr):
        try:
            said = items.frame.select(which.fill_null(value=False).alias("_named"))["_named"]
        except pl.exceptions.PolarsError as error:
            raise ParameterError(f"{name} cannot be asked of the item table: {error}") from None
        if said.dtype != pl.Boolean or len(said) != len(items):
            raise ParameterError(f"{name} must say true or false of every item: got {said.dtype}")
        return said.to_numpy()
    if isinstance(which, Mapping):
        masks = [_by_column(items, column, wanted, name) for column, wanted in which.items()]
        every = np.reshape(masks, (len(masks), len(items))).astype(bool)
        return np.asarray(together.reduce(every, axis=0))
    if isinstance(which, str) or not isinstance(which, Iterable):
        raise ParameterError(
            f"{name} must be a list of items, a mapping of columns or an expression: got {which!r}"
        )
    mask = np.zeros(len(items), dtype=bool)
    rows = items.ids.rows(list(which))
    mask[rows[rows >= 0]] = True
    return mask


def _by_column(items: Items, column: str, wanted: Any, name: str) -> NDArray[np.bool_]:
    """The items whose value in a public column is among the wanted ones, or within a range."""
    if column not in items.frame.columns:
        raise DataError(
            f"{name}: the release knows no column {column!r} of its items, only "
            f"{', '.join(map(repr, items.frame.columns))}"
        )
    values = items.frame[column]
    if isinstance(wanted, tuple):
        return _within(values, wanted, name)
    listed = [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else wanted
    if values.dtype.is_numeric():
        numbers = [_number(value, values.name, name) for value in listed]
        return values.cast(pl.Float64).is_in(numbers).fill_null(value=False).to_numpy()
    texts = {_plain(value) for value in listed}
    return np.array([not texts.isdisjoint(_texts(value)) for value in values.to_list()], dtype=bool)


def _texts(value: Any) -> set[str]:
    """What an item has in a column: all of a list; all of a list in one string, and the string."""
    if value is None:
        return set()
    if isinstance(value, list):
        return {_plain(part) for part in value}
    whole = _plain(value)
    return {whole, *(part.strip() for part in _SEPARATOR.split(whole))}


def _plain(value: Any) -> str:
    return str(value).strip().lower()


def _number(value: Any, column: str, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name}: {column!r} is a column of numbers, so a number must be asked of it: "
            f"got {value!r}"
        ) from None


def _within(values: pl.Series, ends: tuple[Any, ...], name: str) -> NDArray[np.bool_]:
    """The items whose number lies in a range, ends included."""
    if len(ends) != 2 or not values.dtype.is_numeric():
        raise ParameterError(
            f"{name}: a range is a pair of numbers, for a column of numbers: got {ends!r} for "
            f"{values.name!r}; write several values as a list"
        )
    lo, hi = ends
    low = -np.inf if lo is None else _number(lo, values.name, name)
    high = np.inf if hi is None else _number(hi, values.name, name)
    return values.cast(pl.Float64).is_between(low, high).fill_null(value=False).to_numpy()
