"""What a tap writes: a rating, or one event more; and how a record becomes what it was."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.database.own_ratings import OwnRating
from discreet.service.problems import Problem, still_there
from discreet.service.state import Service


@dataclass(frozen=True)
class Tap:
    """What came with a tap."""

    rating: float | None
    weight: float | None
    """Of an event, where quantities were declared."""
    epsilon: float | None

    def save(self, service: Service, person: str, item: str) -> OwnRating:
        """Give or change a rating, or add an event by the declared rules."""
        if service.declared.events:
            add = service.giving.to_add_event(person, item, self.weight, self.epsilon)
            with still_there():
                return service.writer.write(add)
        if self.rating is None:
            raise Problem(422, "no_rating", "choose a rating first")
        return service.rate(person, item, self.rating, self.epsilon)


def put(service: Service, person: str, item: str, value: float, epsilon: float | None) -> OwnRating:
    """Make a record this one: another level, or how it was before."""
    with still_there():
        return service.writer.write(service.giving.to_set(person, item, value, epsilon))
