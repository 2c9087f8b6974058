"""Ranking: by what, among which items and how varied a list is; a value, the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """How lists are made of scores: public wishes, or the asking person's own.

    `among` and `without` choose items by their ids in a list, by public columns in a mapping
    ({"genres": "Comedy", "year": (1990, 1999)}: a value, a list of values, or a range as a pair of
    numbers, None for no end), or by a Polars expression over the item table. An item without a
    value is in no range and has no genre.

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

    def check(self) -> None:
        """An error unless every wish makes sense."""
        require_choice("rank_by", self.by, tuple(RANKINGS))
        if not 0 <= self.diversity <= 10:  # NaN is not
            raise ParameterError(f"diversity must be between 0 and 10: got {self.diversity!r}")

    def allowed(self, items: Items) -> NDArray[np.bool_] | None:
        """For every item of the catalogue whether it may be listed; None where all may."""
        if self.among is None and self.without is None:
            return None
        allowed = np.ones(len(items), dtype=bool)
        if self.among is not None:
            allowed &= _chosen(items, self.among, "among")
        if self.without is not None:
            allowed &= ~_chosen(items, self.without, "without")
        return allowed


BEST = Ranking()
"""The default everywhere: would choose x would like."""


def _chosen(items: Items, which: Any, name: str) -> NDArray[np.bool_]:
    """The items that are meant, as a mask over the catalogue."""
    if isinstance(which, pl.Expr):
        try:
            said = items.frame.select(which.fill_null(value=False).alias("_chosen"))["_chosen"]
        except pl.exceptions.PolarsError as error:
            raise ParameterError(f"{name} cannot be asked of the item table: {error}") from None
        if said.dtype != pl.Boolean or len(said) != len(items):
            raise ParameterError(f"{name} must say true or false of every item: got {said.dtype}")
        return said.to_numpy()
    if isinstance(which, Mapping):
        mask = np.ones(len(items), dtype=bool)
        for column, wanted in which.items():
            mask &= _by_column(items, column, wanted, name)
        return mask
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
    listed = list(listed)
    if values.dtype == pl.List:
        texts = {str(value) for value in listed}
        return np.array(
            [x is not None and not texts.isdisjoint(map(str, x)) for x in values.to_list()]
        )
    if values.dtype.is_numeric():
        listed = [float(value) for value in listed]
        return values.cast(pl.Float64).is_in(listed).fill_null(value=False).to_numpy()
    # A list in one string ("Action, Comedy") has every word of it.
    texts = {str(value).strip().lower() for value in listed}
    parts = values.cast(pl.String).fill_null("").str.to_lowercase().str.replace_all(r"[,;]", "|")
    return np.array(
        [not texts.isdisjoint({part.strip() for part in x.split("|")} | {x}) for x in parts]
    )


def _within(values: pl.Series, ends: tuple[Any, ...], name: str) -> NDArray[np.bool_]:
    """The items whose number lies in a range, ends included."""
    if len(ends) != 2 or not values.dtype.is_numeric():
        raise ParameterError(
            f"{name}: a range is a pair of numbers, for a column of numbers: got {ends!r} for "
            f"{values.name!r}"
        )
    lo, hi = ends
    lo, hi = -np.inf if lo is None else float(lo), np.inf if hi is None else float(hi)
    return values.cast(pl.Float64).is_between(lo, hi).fill_null(value=False).to_numpy()
