"""Flags: columns of zeros and ones, one for every frequent value that items can have."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.arrays import Array
from discreet.data.families import MOST_IN_FAMILY

MOST_FLAGS = 64
"""At most so many values of one column become flags, the most frequent in the catalogue first.

A bound on the size of a release: docs/constants.md."""
LEAST_ITEMS = 5
"""A flag needs at least so many items of the catalogue: measured in docs/constants.md."""
LEAST_SHARE = 0.01
"""Where a column has more values than flags, one needs this share of the items:
measured in docs/constants.md."""


def frequent_values(values: pl.Series, items: int) -> pl.DataFrame:
    """The values that may become flags, each with the number of its items, most frequent first.

    `values` holds every value of every item once.
    """
    counts = values.drop_nulls().value_counts(name="items").rename({values.name: "value"})
    least = LEAST_ITEMS
    if counts.height > MOST_FLAGS:  # what fewer items share may be a family
        least = max(MOST_IN_FAMILY + 1, int(np.ceil(LEAST_SHARE * items)))
    frequent = counts.filter(pl.col("items") >= least)
    return frequent.sort("items", "value", descending=[True, False]).head(MOST_FLAGS)


def make_flags(name: str, lists: pl.Series) -> tuple[dict[str, Array], str]:
    """One column of zeros and ones for every frequent value, and the most frequent with its items.

    A value that all items have tells nothing, and becomes no flag.

    >>> flags, example = make_flags("genres", pl.Series([["Drama"]] * 5 + [["War"]]))
    >>> {name: column.tolist() for name, column in flags.items()}, example
    ({'genres: Drama': [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]}, "'Drama' (5 items)")
    """
    pairs = pl.DataFrame({"row": np.arange(len(lists)), "value": lists}).explode("value")
    pairs = pairs.drop_nulls().unique()
    chosen = frequent_values(pairs["value"], len(lists)).filter(pl.col("items") < len(lists))
    flags = {}
    for value in chosen["value"].sort():
        column = np.zeros(len(lists))
        column[pairs.filter(pl.col("value") == value)["row"].to_numpy()] = 1
        flags[f"{name}: {value}"] = column
    if not flags:
        return {}, ""
    return flags, f"{chosen['value'][0]!r} ({chosen['items'][0]:,} items)"
