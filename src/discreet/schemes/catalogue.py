"""Which items a scheme learns about: a public catalogue, else those that the ratings name."""

from __future__ import annotations

from typing import NoReturn

from discreet.data.edges import require_inside
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.data.source import RatingsSource
from discreet.errors import DataError
from discreet.schemes import SCHEMES, find_scheme


def refuse_events() -> NoReturn:
    """What to say of events to a scheme that learns from ratings."""
    fitting = [name for name in SCHEMES if find_scheme(name).about.events]
    raise DataError(
        "this scheme learns from ratings, and an event has none: events go with --scheme "
        f"{' or '.join(fitting)}"
    )


def over_catalogue(ratings: Ratings, items: Items | None) -> Ratings:
    """The ratings over the public catalogue, if there is one, else over the items they name."""
    if not isinstance(items, Items | None):
        raise DataError(
            f"items must be an Items table: got {type(items).__name__}; make one with "
            "Items.from_frame(frame) or read_items(path)"
        )
    return ratings if items is None else ratings.with_items(items.ids)


def to_train_on(ratings: Ratings, items: Items | None, *, events: bool = False) -> Ratings:
    """The same, or an error for the owner if no rating at all is of an item in the catalogue.

    Where `events` are not welcome either, an error for a table of them.
    """
    data = over_catalogue(ratings, items)
    if data.events and not events:
        refuse_events()
    require_inside(ratings, items)
    return data


def public_items(data: RatingsSource, items: Items | None) -> Items:
    """The catalogue that a release lists: the public one, else the items of the table."""
    return Items.from_frame(data.items.values.to_frame("item")) if items is None else items
