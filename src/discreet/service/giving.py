"""Giving: what is checked of a rating or an event, and how those that wait are written at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy.engine import Connection

from discreet.data.event_rules import EventRules
from discreet.database import own_events, own_ratings, tastes
from discreet.database.declaration import Declaration
from discreet.database.own_ratings import Given, Level, OwnRating
from discreet.database.writer import Alike
from discreet.errors import DataError
from discreet.service import disclosure
from discreet.service.disclosure import Disclosure
from discreet.service.problems import Problem
from discreet.service.public_cache import PublicCache
from discreet.service.search import Card

Told = tuple[OwnRating, Disclosure]
"""A rating as it is now, and what has left of it and still can."""


class Asked(NamedTuple):
    """A rating that somebody gives; without an epsilon at their usual level."""

    person: str
    item: str
    rating: float
    epsilon: float | None


@dataclass(frozen=True, eq=False)
class Giving:
    """By the rules that are declared now."""

    public: PublicCache
    card: Callable[[str], Card]
    """An item of the catalogue, or a problem."""

    @property
    def declared(self) -> Declaration:
        """As it is declared now."""
        return self.public.declared

    @property
    def rules(self) -> EventRules:
        """By which events become records; a problem where people rate."""
        rules = self.declared.rules
        if rules is None:
            raise Problem(409, "ratings", "this service holds ratings, not events: send a rating")
        return rules

    def to_rate(
        self, person: str, item: str, rating: float, epsilon: float | None
    ) -> Alike[Asked, OwnRating]:
        """What gives or changes a rating, for the writer; a problem if it may not be given."""
        if self.declared.events:
            self.card(item)
            raise Problem(409, "events", "this service holds events, not ratings: send an event")
        self.card(item)
        low, high = self.declared.scale
        if not low <= rating <= high:
            raise Problem(422, "outside_scale", f"a rating is from {low:g} to {high:g}")
        self.check_level(epsilon)
        return Alike(self._give, Asked(person, item, rating, epsilon))

    def to_change_level(
        self, person: str, item: str, epsilon: float | None
    ) -> Callable[[Connection], OwnRating | None]:
        """What gives a record another level, for the writer; a problem if it may not have it."""
        self.card(item)
        if epsilon is None:
            raise Problem(422, "no_level", "choose a level first")
        self.check_level(epsilon)
        return lambda connection: own_ratings.change_level(connection, person, item, epsilon)

    def to_rate_and_tell(
        self, person: str, item: str, rating: float, epsilon: float | None
    ) -> Alike[Asked, Told]:
        """The same, and what that means."""
        return Alike(self._give_and_tell, self.to_rate(person, item, rating, epsilon).wanted)

    def to_add_event(
        self, person: str, item: str, weight: float | None, epsilon: float | None
    ) -> Callable[[Connection], OwnRating]:
        """What adds an event, for the writer; a problem if it may not be added."""
        self.card(item)
        rules = self.rules
        self.check_level(epsilon)
        try:
            rules.value(weight)
        except DataError as error:
            raise Problem(422, "no_weight", str(error)) from None

        def put(connection: Connection) -> OwnRating:
            usual = self.usual_levels(connection, [person])[person]
            return own_events.put(connection, rules, person, item, weight, epsilon, usual=usual)

        return put

    def usual_levels(self, connection: Connection, persons: Sequence[str]) -> dict[str, float]:
        """The level of each person's ratings of which they do not say another."""
        chosen, declared = tastes.usual_levels_of(connection, persons), self.declared
        most = declared.levels[-1]  # what was chosen may no longer be on offer
        return {who: min(chosen.get(who) or declared.usual_level, most) for who in persons}

    def told(self, connection: Connection, rated: Sequence[tuple[str, OwnRating]]) -> list[Told]:
        """Each with what has left of it and what still can, as this connection sees it."""
        found = disclosure.of_each(connection, self.declared, rated)
        return [(own, one) for (_, own), one in zip(rated, found, strict=True)]

    def _give(self, connection: Connection, asked: Sequence[Asked]) -> list[OwnRating]:
        unsaid = list(dict.fromkeys(one.person for one in asked if one.epsilon is None))
        usual = self.usual_levels(connection, unsaid) if unsaid else {}
        # A change of the rating alone leaves its level as it was chosen.
        given = [
            Given(one.person, one.item, one.rating, usual[one.person], Level.KEPT)
            if one.epsilon is None
            else Given(one.person, one.item, one.rating, one.epsilon, Level.NEW)
            for one in asked
        ]
        return own_ratings.put_many(connection, given)

    def _give_and_tell(self, connection: Connection, asked: Sequence[Asked]) -> list[Told]:
        given = self._give(connection, asked)
        pairs = [(one.person, own) for one, own in zip(asked, given, strict=True)]
        return self.told(connection, pairs)

    def check_level(self, epsilon: float | None) -> None:
        """A problem where nobody may give this level; None is one's usual one."""
        least, most = self.declared.smallest_counted, self.declared.levels[-1]
        if epsilon is not None and not least <= epsilon <= most:
            raise Problem(
                422,
                "level_not_offered",
                f"epsilon is from {least:.1g} to {most:g}: a smaller one would never be counted",
            )
