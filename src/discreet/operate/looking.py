"""Look at a table before it is imported: read and checked as an import does, and nothing written.

What is found is for the operator alone: it counts ratings.
"""

from __future__ import annotations

from typing import Any

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import catalogue
from discreet.database.connection import Database
from discreet.database.declaration import Declaration
from discreet.operate.imports import checked

FIRST = 5
"""Rows that are shown."""
_SHOWN = ("item", "title", "year", "genres", "image")


def look_at_items(database: Database, items: Items) -> dict[str, Any]:
    """How many there are, how many of them are new, and the first as they were understood."""
    with database.reading() as connection:
        known = catalogue.read(connection)
    ids = items.ids.values.cast(str)
    there = 0 if known is None else int(ids.is_in(known.ids.values.cast(str).implode()).sum())
    shown = [name for name in _SHOWN if name in items.frame.columns]
    return {
        "rows": len(ids),
        "new": len(ids) - there,
        "columns": items.frame.columns,
        "left_out": list(items.left_out),
        "first": items.frame.select(shown).head(FIRST).to_dicts(),
    }


def look_at_ratings(database: Database, declared: Declaration, ratings: Ratings) -> dict[str, Any]:
    """How many there are, of how many people and items, and the first with titles and levels."""
    frame = checked(database, declared, ratings).frame
    with database.reading() as connection:
        known = catalogue.read(connection)
    first = frame.head(FIRST).to_dicts()
    if known is not None:
        titles = known.titles([one["item"] for one in first])
        first = [one | {"title": title} for one, title in zip(first, titles, strict=True)]
    return {
        "rows": frame.height,
        "people": len(ratings.users),
        "items": len(ratings.items),
        "levels_given": ratings.epsilon is not None,
        "usual_level": declared.usual_level,
        "first": first,
    }
