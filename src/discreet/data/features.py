"""Public item features as numbers, by rules that look at no rating.

A recommender may learn from what is known of items in public: years, genres, series. Families are
groups of items that somebody tends to like or dislike together, such as the parts of a series.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.families import TITLE_FAMILY
from discreet.data.items import Items
from discreet.data.uses import decide_uses


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

    What each column becomes is decided in uses.py, and shown by `discreet inspect ITEMS`.
    `family_columns` names the columns that hold families (series, author, brand); by default they
    are cut out of the titles, if there are any, and found in text with many values.

    >>> import polars as pl
    >>> films = Items.from_frame(pl.DataFrame({"item": [1, 2], "title": ["Harbour", "Harbour II"]}))
    >>> encode(films, 2).families[TITLE_FAMILY].tolist()  # both in family number 0
    [0, 0]
    """
    if items is None:
        return Features({}, {}, {})
    assert len(items) == count
    features = Features({}, {}, {})
    used = []
    for use in decide_uses(items, family_columns):
        features.numbers.update(use.numbers)
        features.flags.update(use.flags)
        features.families.update(use.families)
        if use.numbers or use.flags or use.families:
            used.append(use.column)
    # Residuals are explained family by family: first by the narrowest, a series, or as was asked.
    first = family_columns or (TITLE_FAMILY,)
    families = {name: features.families.pop(name) for name in first if name in features.families}
    return features._replace(families=families | features.families, columns=tuple(used))
