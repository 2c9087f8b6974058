"""What one column of an item table is good for, by its type and values alone.

A rule answers with a `Use`: what the column is used as, why, and the features that it gives.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.families import MOST_IN_FAMILY, number_families
from discreet.data.flags import LEAST_ITEMS, frequent_values, make_flags
from discreet.data.numbers import decimal_years, known_numbers, measure, names_items, told_count
from discreet.data.texts import read_dates, read_lists, read_numbers, without_blanks

NEARLY_UNIQUE = 0.9
"""A column whose name says that it numbers things names the items if this share of its values
differ; else it groups them."""
FEW_VALUES = 15
"""Text with more different values becomes flags only where a family would be too large."""
LEAST_COVERED = 0.5
"""Text becomes flags if frequent values cover this share of the items that have one."""
LEAST_GROUPED = 0.1
"""Text becomes families if this share of the items that have a value share it with a few others."""

_NUMBERING = {
    "id", "isbn", "issn", "ean", "upc", "gtin", "asin", "sku", "barcode", "uuid", "guid", "oclc",
    "lccn", "tconst",
}  # fmt: skip
"""Words in the name of a column that numbers things."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_KINDS: dict[Any, str] = {
    pl.Boolean: "boolean", pl.String: "text", pl.Categorical: "text", pl.Enum: "text",
    pl.List: "list", pl.Array: "list", pl.Date: "date", pl.Datetime: "date", pl.Struct: "record",
    pl.Duration: "duration", pl.Time: "time", pl.Null: "nothing", pl.Binary: "bytes",
}  # fmt: skip


class Role(StrEnum):
    """What a column is used as."""

    ID = "id"
    NUMBER = "number"
    YEARS = "years"
    FLAG = "flag"
    FLAGS = "flags"
    TITLES = "title families"
    FAMILIES = "families"
    LEFT_OUT = "left out"
    UNPUBLISHED = "not published"


@dataclass(frozen=True, eq=False)
class Use:
    """What a column of an item table is used as, why, and the features that it gives."""

    column: str
    kind: str
    """What the column holds, in a word."""
    role: Role
    why: str
    numbers: Mapping[str, Array] = field(default_factory=dict)
    flags: Mapping[str, Array] = field(default_factory=dict)
    families: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)

    @property
    def published(self) -> bool:
        """Whether a release shows the column: all but those that look derived from ratings."""
        return self.role != Role.UNPUBLISHED


def use_column(column: pl.Series, *, vouched: bool = False) -> Use:
    """What a column is good for; one that was vouched for is wanted, and no identifier.

    >>> use_column(pl.Series("price", [3.5, None, 4.5])).why
    'numbers from 3.5 to 4.5; 1 gap filled with the mean'
    >>> use_column(pl.Series("work_id", [7, 9, 8])).role
    <Role.LEFT_OUT: 'left out'>
    """
    dtype = column.dtype
    if column.null_count() == len(column):
        return left_out(column, "no item has a value")
    if dtype == pl.Boolean:
        return _boolean(column)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return _text(column, without_blanks(column.cast(pl.String)), vouched)
    if dtype == pl.String:
        return _text(column, without_blanks(column), vouched)
    if dtype.is_numeric():
        return _numbers(column, known_numbers(column), vouched)
    if dtype == pl.Date or isinstance(dtype, pl.Datetime):
        return _years(column, column)
    if isinstance(dtype, pl.Duration):
        return _measured(column, known_numbers(column.dt.total_seconds() / 86400), "days ")
    if isinstance(dtype, pl.List | pl.Array):
        return _lists(column)
    return left_out(column, f"nothing is made of {kind_of(column)} values")


def kind_of(column: pl.Series) -> str:
    """What a column holds, in a word."""
    if column.dtype.is_numeric():
        return "integer" if column.dtype.is_integer() else "number"
    return _KINDS.get(column.dtype.base_type(), "other")


def left_out(column: pl.Series, why: str) -> Use:
    """No use."""
    return Use(column.name, kind_of(column), Role.LEFT_OUT, why)


def _boolean(column: pl.Series) -> Use:
    return _flag(column, column.fill_null(False).to_numpy().astype(np.float64))


def _flag(column: pl.Series, values: Array) -> Use:
    """A column of zeros and ones; a gap is a zero."""
    true = int(values.sum())
    if true in (0, len(values)):
        return left_out(column, "the same for all items")
    why = f"true of {true:,} of {len(values):,} items"
    return Use(column.name, kind_of(column), Role.FLAG, why, flags={column.name: values})


def _numbers(column: pl.Series, values: NDArray[np.float64], vouched: bool) -> Use:
    known = values[np.isfinite(values)]
    if _numbers_things(column.name) and not vouched:
        codes = pl.Series(column.name, values).fill_nan(None).cast(pl.Int64, strict=False)
        return _names(column, codes.cast(pl.String))
    if set(np.unique(known)) == {0.0, 1.0}:
        return _flag(column, np.nan_to_num(values))
    if not vouched and names_items(values):
        return left_out(column, "whole numbers, all different: they name the items")
    return _measured(column, values)


def _measured(
    column: pl.Series,
    values: NDArray[np.float64],
    words: str = "numbers ",
    role: Role = Role.NUMBER,
) -> Use:
    known = values[np.isfinite(values)]
    if len(np.unique(known)) < 2:
        return left_out(column, "the same for all items that have a value")
    measured = measure(values)
    return Use(
        column.name,
        kind_of(column),
        role,
        words + measured.why,
        numbers={column.name: measured.values},
    )


def _years(column: pl.Series, dates: pl.Series) -> Use:
    return _measured(column, known_numbers(decimal_years(dates)), "dates ", Role.YEARS)


def _lists(column: pl.Series) -> Use:
    """A list of texts or of plain values, which then stand for their texts."""
    lists = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
    inner = lists.dtype.inner  # type: ignore[attr-defined]
    if inner.is_nested() or inner in (pl.Object, pl.Binary, pl.Null):
        return left_out(column, "nothing is made of lists of records or lists")
    return _flags(column, lists.cast(pl.List(pl.String)))


def _flags(column: pl.Series, lists: pl.Series, words: str = "") -> Use:
    flags, example = make_flags(column.name, lists)
    if not flags:
        return left_out(column, words + f"no value that {LEAST_ITEMS} items have, but not all")
    why = f"{words}{told_count(len(flags), 'value')}, such as {example}"
    return Use(column.name, kind_of(column), Role.FLAGS, why, flags=flags)


def _text(column: pl.Series, texts: pl.Series, vouched: bool) -> Use:
    """Numbers, dates or lists, if the texts are such; else words, of which few or many differ."""
    if texts.null_count() == len(texts):
        return left_out(column, "no item has a value")
    if _numbers_things(column.name) and not vouched:
        return _names(column, texts)
    numbers = read_numbers(texts)
    if numbers is not None:
        return _numbers(column, known_numbers(numbers), vouched)
    dates = read_dates(texts)
    if dates is not None:
        return _years(column, dates)
    if texts.str.contains("^https?://").all():
        return left_out(column, "addresses")
    lists = read_lists(texts)
    if lists is not None:
        place = (
            "lists in brackets: " if lists.delimiter is None else f"split at '{lists.delimiter}': "
        )
        return _flags(column, lists.values, place)
    return _words(column, texts)


def _names(column: pl.Series, codes: pl.Series) -> Use:
    """Numbers of things: of the items themselves, or of what several items share."""
    known = codes.drop_nulls()
    if known.n_unique() >= NEARLY_UNIQUE * len(known):
        return left_out(column, "by its name and values, it names the items")
    return _words(column, codes)


def _words(column: pl.Series, texts: pl.Series) -> Use:
    """Flags, if frequent values cover most items; families, if many items share one with a few."""
    known = texts.drop_nulls()
    if known.n_unique() == 1 and len(known) == len(texts):
        return left_out(column, "the same for all items")
    frequent = frequent_values(known, len(texts))
    if known.n_unique() > FEW_VALUES:
        frequent = frequent.filter(pl.col("items") > MOST_IN_FAMILY)
    if int(frequent["items"].sum()) >= LEAST_COVERED * len(known):
        return _flags(column, texts.to_frame("value").select(pl.concat_list("value"))["value"])
    groups = known.value_counts(name="items")
    few = (pl.col("items") > 1) & (pl.col("items") <= MOST_IN_FAMILY)
    grouped = int(groups.filter(few)["items"].sum())
    crowded = int(groups.filter(pl.col("items") > MOST_IN_FAMILY)["items"].sum())
    if grouped < LEAST_GROUPED * len(known) and crowded < LEAST_GROUPED * len(known):
        return left_out(column, "nearly all different: it names or describes the items")
    if grouped < max(crowded, LEAST_GROUPED * len(known)):
        return left_out(
            column, f"most items share it with over {MOST_IN_FAMILY}, too many for a family"
        )
    return Use(
        column.name,
        kind_of(column),
        Role.FAMILIES,
        describe_families(texts, MOST_IN_FAMILY),
        families={column.name: number_families(texts, MOST_IN_FAMILY)},
    )


def describe_families(names: pl.Series, most: int | None = None) -> str:
    """How many families there are, with the largest as an example."""
    groups = names.drop_nulls().value_counts(name="items").rename({names.name: "name"})
    shared = groups.filter(pl.col("items") > 1)
    if most is not None:
        shared = shared.filter(pl.col("items") <= most)
    if shared.height == 0:
        return "no two items share one"
    name, items = shared.sort("items", "name", descending=[True, False]).row(0)
    groups_told = told_count(shared.height, "value")
    return f"{groups_told} shared by {shared['items'].sum():,} items, such as {name!r} ({items})"


def _numbers_things(name: str) -> bool:
    return not _NUMBERING.isdisjoint(word.lower() for word in _WORDS.findall(name))
