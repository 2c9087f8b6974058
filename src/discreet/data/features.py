"""Public item features as numbers, by rules that look at no rating.

A recommender may learn from what is known of items in public: years, genres, series. Families are
groups of items that somebody tends to like or dislike together, such as the parts of a series.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.items import Items, how_to_vouch
from discreet.errors import ParameterError

MOST_FLAGS = 64
"""At most so many values of one column become flags, the most frequent in the catalogue first.

A bound on the size of a release: docs/constants.md."""
LEAST_ITEMS = 5
"""A flag needs at least so many items of the catalogue: measured in docs/constants.md."""
TITLE_FAMILY = "title family"

_ARTICLES = {"the", "a", "an", "der", "die", "das", "le", "la", "les", "el", "los", "il"}
_COUNTERS = {
    "season", "series", "part", "parts", "volume", "vol", "chapter", "episode", "book", "disc",
    "collection", "edition", "special", "complete", "set", "box",
}  # fmt: skip
_NUMERALS = re.compile(
    r"\d+(st|nd|rd|th)?|[ivx]+|one|two|three|four|five|six|first|second|third|fourth"
)


class Features(NamedTuple):
    """What is publicly known of every item, in the three forms that schemes use."""

    numbers: dict[str, Array]
    """Columns to be standardised; a missing value is the column's mean."""
    flags: dict[str, Array]
    """Columns of zeros and ones."""
    families: dict[str, NDArray[np.int32]]
    """For every column of families that of each item; -1 if the item is alone in it."""
    columns: tuple[str, ...] = ()
    """The columns of the item table that any of these were made of."""


def encode(
    items: Items | None, count: int, family_columns: tuple[str, ...] | None = None
) -> Features:
    """Encode an item table; without one, `count` items of which nothing is known.

    Numbers and booleans are taken as they are; a list column becomes a flag per value, and so does
    a text column with few values. `family_columns` names the columns with many values that hold
    families (series, author, brand); by default these are cut out of the titles, if there are any.

    >>> films = Items.from_frame(pl.DataFrame({"item": [1, 2], "title": ["Harbour", "Harbour II"]}))
    >>> encode(films, 2).families[TITLE_FAMILY].tolist()  # both in family number 0
    [0, 0]
    """
    if items is None:
        return Features({}, {}, {})
    assert len(items) == count
    numbers: dict[str, Array] = {}
    flags: dict[str, Array] = {}
    families = _families(items, family_columns)
    # Families that were cut out of the titles have a name of their own.
    used = {"title"} if family_columns is None and families else set(families)
    for name in items.frame.columns[1:]:
        column = items.frame[name]
        of_numbers, of_flags = _numbers(name, column), _flags_of(name, column)
        numbers |= of_numbers
        flags |= of_flags
        if of_numbers or of_flags:
            used.add(name)
    columns = tuple(name for name in items.frame.columns if name in used)
    return Features(numbers, flags, families, columns)


def _numbers(name: str, column: pl.Series) -> dict[str, Array]:
    """A column of numbers that differ; a missing one is their mean."""
    if not column.dtype.is_numeric():
        return {}
    values = column.cast(pl.Float64).fill_nan(None)
    finite = values.filter(values.is_finite())
    if finite.n_unique() < 2:
        return {}
    mean = float(finite.mean())  # type: ignore[arg-type]
    kept = values.fill_null(mean).to_numpy()
    return {name: np.where(np.isfinite(kept), kept, mean)}


def _flags_of(name: str, column: pl.Series) -> dict[str, Array]:
    """Columns of zeros and ones from booleans, lists of texts, and texts of few values."""
    if column.dtype == pl.Boolean:
        return {name: column.fill_null(False).to_numpy().astype(np.float64)}
    if column.dtype == pl.List(pl.String):
        return _flags(name, column)
    if column.dtype == pl.String and 1 < column.n_unique() <= MOST_FLAGS:
        return _flags(name, column.to_frame().select(pl.concat_list(name))[name])
    return {}


def _flags(name: str, lists: pl.Series) -> dict[str, Array]:
    """One column of zeros and ones for every frequent value of a list column."""
    pairs = pl.DataFrame({"row": np.arange(len(lists)), "value": lists}).explode("value")
    pairs = pairs.drop_nulls().unique()
    counts = pairs.group_by("value").len().filter(pl.col("len") >= LEAST_ITEMS)
    chosen = counts.sort("len", "value", descending=[True, False])["value"].head(MOST_FLAGS)
    flags = {}
    for value in chosen.sort():
        column = np.zeros(len(lists))
        column[pairs.filter(pl.col("value") == value)["row"].to_numpy()] = 1
        flags[f"{name}: {value}"] = column
    return flags


def _families(items: Items, family_columns: tuple[str, ...] | None) -> dict[str, NDArray[np.int32]]:
    known = items.frame.columns
    if isinstance(family_columns, str):
        raise ParameterError(f"families must be a tuple of columns: got {family_columns!r}")
    if family_columns is None:
        if items.frame.schema.get("title") != pl.String:
            return {}
        stems = items.frame["title"].map_elements(title_family, return_dtype=pl.String)
        return {TITLE_FAMILY: _codes(stems)}
    for name in family_columns:
        if name in items.left_out:
            raise ParameterError(
                f"column {name!r} was left out, for it looks derived from ratings: if it is "
                f"public by itself, vouch for it: {how_to_vouch(name)}"
            )
        if name not in known:
            raise ParameterError(
                f"no column {name!r} to group items by: the item table has "
                f"{', '.join(map(repr, known))}"
            )
        if items.frame[name].dtype.is_nested():
            raise ParameterError(
                f"column {name!r} cannot group items: it holds {items.frame[name].dtype}, and an "
                "item belongs to one family"
            )
    return {name: _codes(items.frame[name].cast(pl.String)) for name in family_columns}


def _codes(names: pl.Series) -> NDArray[np.int32]:
    """Group numbers; an item that is alone in its group, or has none, gets -1."""
    frame = pl.DataFrame({"name": names.replace("", None)})
    shared = pl.col("name").is_not_null() & (pl.len().over("name") > 1)
    kept = frame.select(pl.when(shared).then("name"))["name"]
    codes = kept.rank("dense").cast(pl.Int32) - 1
    return np.asarray(codes.fill_null(-1).to_numpy())


def title_family(title: str) -> str:
    """What the titles of one series have in common.

    >>> title_family("The Silver Harbour: Part II (1999)"), title_family("Silver Harbour 2")
    ('silver harbour', 'silver harbour')
    """
    text = re.split(r"[:/(]", title.lower(), maxsplit=1)[0]
    words = re.findall(r"[^\W_]+", text.replace("'", ""))
    kept = [
        word
        for word in words
        if word not in _ARTICLES | _COUNTERS and not _NUMERALS.fullmatch(word)
    ]
    return " ".join(kept)
