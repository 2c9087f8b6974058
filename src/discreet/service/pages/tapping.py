"""What a tap writes: a rating, one event more, another level, or nothing in place of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from sqlalchemy.engine import Connection

from discreet.database import own_ratings
from discreet.database.own_ratings import OwnRating
from discreet.service.problems import Problem, still_there
from discreet.service.state import Service
from discreet.service.words import words_of

Action = Literal["save", "level", "delete"]


class Change(NamedTuple):
    """A record before a tap and after it; None where there is none."""

    before: OwnRating | None
    after: OwnRating | None


@dataclass(frozen=True)
class Tap:
    """What came with a tap."""

    action: Action
    """To "save" is the usual one; "level" and "delete" are of what was given before."""
    rating: float | None
    weight: float | None
    """Of an event, where quantities were declared."""
    epsilon: float | None

    def write(self, service: Service, person: str, item: str) -> Change:
        """Do it, seeing in the same moment what was there: of that an undo is made."""
        do = self._work(service, person, item)

        def work(connection: Connection) -> Change:
            before = own_ratings.one(connection, person, item, held=True)
            return Change(before, do(connection))

        with still_there():
            change = service.writer.write(work)
        if change.before is None and self.action != "save":
            words = words_of(service.declared)
            raise Problem(404, "not_rated", f"you have not {words.done} this")
        return change

    def _work(
        self, service: Service, person: str, item: str
    ) -> Callable[[Connection], OwnRating | None]:
        if self.action == "delete":
            return lambda connection: _removed(connection, person, item)
        if self.action == "level":
            return service.giving.to_change_level(person, item, self.epsilon)
        if service.declared.events:
            return service.giving.to_add_event(person, item, self.weight, self.epsilon)
        if self.rating is None:
            raise Problem(422, "no_rating", "choose a rating first")
        return service.giving.to_rate(person, item, self.rating, self.epsilon)


def _removed(connection: Connection, person: str, item: str) -> None:
    own_ratings.remove(connection, person, item)
