"""Undo: what the latest tap changed, sealed, so that one more tap takes it back."""

from __future__ import annotations

import json
from dataclasses import dataclass

from discreet.database.own_ratings import OwnRating
from discreet.service.pages.tapping import put
from discreet.service.problems import Problem
from discreet.service.state import Service


@dataclass(frozen=True)
class Undo:
    """How an item stood before, and what was done since, in words."""

    said: str
    sealed: str


def remember(service: Service, person: str, item: str, before: OwnRating | None, said: str) -> Undo:
    """A rating was given, changed or taken back."""
    rating, epsilon = (None, None) if before is None else (before.rating, before.epsilon)
    return _sealed(service, person, [item, said, "rated", rating, epsilon])


def remember_hidden(service: Service, person: str, item: str, said: str, *, was: bool) -> Undo:
    """An item was left out of one's lists, or let in again."""
    return _sealed(service, person, [item, said, "hidden", was, None])


def undoable(service: Service, person: str, sealed: str) -> Undo | None:
    """What a page that follows a change offers to undo; None if there is nothing."""
    found = service.seal.open("undo", sealed, person) if sealed else None
    return None if found is None else Undo(str(json.loads(found)[1]), sealed)


def undo(service: Service, person: str, sealed: str) -> str:
    """Bring an item back to how it stood; the item."""
    found = service.seal.open("undo", sealed, person)
    if found is None:
        raise Problem(422, "nothing_to_undo", "there is nothing to undo")
    item, _, what, value, epsilon = json.loads(found)
    if what == "hidden":
        service.hide(person, item, hidden=bool(value))
    elif value is None:
        service.take_back(person, item)
    else:
        put(service, person, str(item), float(value), float(epsilon))
    return str(item)


def _sealed(service: Service, person: str, what: list[object]) -> Undo:
    return Undo(str(what[1]), service.seal.close("undo", person, json.dumps(what)))
