"""Families: groups of items that somebody tends to like or dislike together."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

TITLE_FAMILY = "title family"
"""The name of the families that are cut out of titles."""
MOST_IN_FAMILY = 15
"""A column's larger groups are no families, unless the owner named the column: docs/constants.md.
"""

_ARTICLES = {"the", "a", "an", "der", "die", "das", "le", "la", "les", "el", "los", "il"}
_COUNTERS = {
    "season", "series", "part", "parts", "volume", "vol", "chapter", "episode", "book", "disc",
    "collection", "edition", "special", "complete", "set", "box",
}  # fmt: skip
_NUMERALS = re.compile(
    r"\d+(st|nd|rd|th)?|[ivx]+|one|two|three|four|five|six|first|second|third|fourth"
)


def number_families(names: pl.Series, most: int | None = None) -> NDArray[np.int32]:
    """The family of every item by number; -1 where it has none, is alone, or has over `most`.

    >>> number_families(pl.Series(["King", "Stine", "King", None, ""])).tolist()
    [0, -1, 0, -1, -1]
    """
    frame = pl.DataFrame({"name": names.replace("", None)})
    size = pl.len().over("name")
    shared = pl.col("name").is_not_null() & (size > 1)
    if most is not None:
        shared &= size <= most
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
