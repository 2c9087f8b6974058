"""Undo: what the latest tap changed, sealed, so that one more tap takes it back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from discreet.database import own_ratings
from discreet.database.own_ratings import OwnRating
from discreet.service.pages.tapping import Change
from discreet.service.problems import Problem, still_there
from discreet.service.state import Service


@dataclass(frozen=True)
class Undo:
    """How an item stood before, and what was done since, in words."""

    said: str
    sealed: str


def remember(service: Service, person: str, item: str, change: Change, said: str) -> Undo:
    """A rating was given, changed or taken back."""
    after = None if change.after is None else change.after.revision
    return _sealed(service, person, [item, said, "rated", change.before, after])


def remember_hidden(service: Service, person: str, item: str, said: str, *, was: bool) -> Undo:
    """An item was left out of one's lists, or let in again."""
    return _sealed(service, person, [item, said, "hidden", was])


def undoable(service: Service, person: str, sealed: str) -> Undo | None:
    """What a page that follows a change offers to undo; None if there is nothing."""
    found = service.seal.open("undo", sealed, person) if sealed else None
    return None if found is None else Undo(str(json.loads(found)[1]), sealed)


def undo(service: Service, person: str, sealed: str) -> str:
    """Bring an item back to how it stood; the item."""
    found = service.seal.open("undo", sealed, person)
    if found is None:
        raise Problem(422, "nothing_to_undo", "there is nothing to undo")
    item, _, what, before, *after = json.loads(found)
    if what == "hidden":
        service.hide(person, item, hidden=bool(before))
    else:
        service.card(item)  # what was taken down is not given again
        known = None if before is None else OwnRating(*before)
        if known is not None:
            service.giving.check_level(known.epsilon)  # nor at a level that is no longer on offer
        with still_there():
            undone = service.writer.write(_undoing(person, item, known, *after))
        if not undone:
            raise Problem(409, "changed_since", "this has changed since: nothing was undone")
    return str(item)


def _undoing(
    person: str, item: str, before: OwnRating | None, after: int | None
) -> Callable[[Connection], bool]:
    """Of an older tap, what came later stays: a level that was lowered, or a deletion."""
    if before is None:
        return lambda connection: own_ratings.remove(connection, person, item, after)
    return lambda connection: own_ratings.restore(connection, person, before, after)


def _sealed(service: Service, person: str, what: list[object]) -> Undo:
    return Undo(str(what[1]), service.seal.close("undo", person, json.dumps(what)))
