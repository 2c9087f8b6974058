"""What all requests share, and the few things that both the API and the page do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl
from fastapi import Request
from sqlalchemy.exc import IntegrityError

from discreet.database import erasures, generation, own_ratings, people
from discreet.database.connection import Database
from discreet.database.declaration import Declaration
from discreet.database.own_ratings import Level, OwnRating
from discreet.database.people import Role
from discreet.release.ranking import BEST, Ranking
from discreet.service import disclosure, plain_language
from discreet.service.access import Authenticator
from discreet.service.disclosure import Disclosure, Record
from discreet.service.monitoring import Metrics
from discreet.service.plain_language import Ground
from discreet.service.problems import Problem
from discreet.service.programs import Programs
from discreet.service.public_cache import Card, Model, Pick, PublicCache


@dataclass(frozen=True, eq=False)
class Service:
    """One recommender."""

    database: Database
    declared: Declaration
    public: PublicCache
    authenticator: Authenticator
    programs: Programs
    metrics: Metrics
    open_to_all: bool = True
    """Whether anybody may join, or only those to whom the operator gives a token."""

    def card(self, item: str) -> Card:
        """An item of the catalogue, or a problem."""
        card = self.public.catalogue.cards.get(item)
        if card is None:
            self.public.look_again()
            card = self.public.catalogue.cards.get(item)
        if card is None:
            raise Problem(404, "unknown_item", "no such item in the catalogue")
        return card

    def title(self, item: str) -> str:
        """What an item is called; its id if this process has not heard of it yet."""
        card = self.public.catalogue.cards.get(item)
        return item if card is None else card.title

    def model(self) -> Model:
        """The latest release, or a problem."""
        model = self.public.model
        if model is None:
            raise Problem(404, "no_release", "there is no release yet: the first one is to come")
        return model

    def next_release_at(self) -> int:
        """When the declared schedule wants the next release."""
        model = self.public.model
        last = self.declared.declared_at if model is None else model.entry.begun_at
        return last + round(self.declared.publish_every_hours * 3600 * 1000)

    def rate(self, person: str, item: str, rating: float, epsilon: float | None) -> OwnRating:
        """Give or change a rating."""
        self.card(item)
        low, high = self.declared.scale
        if not low <= rating <= high:
            raise Problem(422, "outside_scale", f"a rating is from {low:g} to {high:g}")
        least, most = self.declared.smallest_counted, self.declared.max_level
        if epsilon is not None and not least <= epsilon <= most:
            raise Problem(
                422,
                "level_not_offered",
                f"epsilon is from {least:.1g} to {most:g}: a smaller one would never be counted",
            )
        # A change of the rating alone leaves its level as it was chosen.
        level = Level.KEPT if epsilon is None else Level.NEW
        new = self.declared.usual_level if epsilon is None else epsilon
        with still_there(), self.database.writing() as connection:
            return own_ratings.put(connection, person, item, rating, new, level=level)

    def take_back(self, person: str, item: str) -> None:
        """Delete a rating."""
        with self.database.writing() as connection:
            there = own_ratings.remove(connection, person, item)
        if not there:
            raise Problem(404, "not_rated", "you have not rated this")

    def own(self, person: str) -> list[OwnRating]:
        """A person's own ratings."""
        with self.database.reading() as connection:
            return own_ratings.of(connection, person)

    def recommend(self, person: str, n: int, ranking: Ranking = BEST) -> tuple[Model, list[Pick]]:
        """From a person's own ratings, as they are now, and the latest release."""
        model = self.model()
        with self.database.reading() as connection:
            own = own_ratings.values(connection, person)
        return model, model.recommend(own, n, ranking)

    @property
    def ground(self) -> Ground:
        """What levels promise: nothing once a release was seeded."""
        model = self.public.model
        if model is not None and not model.protects:
            return Ground.SEEDED
        return Ground.RESTORED if self.restored() else Ground.SOUND

    def notices(self) -> dict[str, Any]:
        """What pages have to say above all else."""
        seeded = self.ground == Ground.SEEDED
        return {
            "seeded": plain_language.SEEDED if seeded else None,
            "restored": plain_language.RESTORED if self.restored() else None,
        }

    def levels(self) -> list[plain_language.Level]:
        """The levels on offer, in words that are true."""
        return plain_language.offered_levels(self.declared, self.ground)

    def about(
        self, person: str, items: Iterable[str], rated: Mapping[str, OwnRating]
    ) -> list[Disclosure]:
        """What has left about these items, rated or not, and what still can."""
        listed = pl.Series("item", items, dtype=pl.String)
        with self.database.reading() as connection:
            return disclosure.about(connection, self.declared, person, listed, rated)

    def record(self, person: str) -> Record:
        """All that has left about a person, deleted ratings included."""
        catalogue = self.public.catalogue.ids
        with self.database.reading() as connection:
            own = own_ratings.of(connection, person)
            return disclosure.record(connection, self.declared, person, own, catalogue)

    def restored(self) -> bool:
        """Whether there may be ratings that entered and that the ledger does not know of."""
        with self.database.reading() as connection:
            return generation.was_restored(connection)

    def join(self) -> tuple[str, str]:
        """A new person, and their token."""
        if not self.open_to_all:
            raise Problem(403, "closed", "ask the operator for a token: joining is closed")
        with self.database.writing() as connection:
            person = people.new_person(connection)
            return person, people.issue(connection, Role.PERSON, person)

    def new_token(self, person: str) -> str:
        """A new token for a person, in place of all others."""
        with still_there(), self.database.writing() as connection:
            return people.renew(connection, person)

    def begin_session(self, token: str) -> str:
        """A browser's session for who holds this token; a problem if it has just ended."""
        with still_there(), self.database.writing() as connection:
            session = people.begin_session(connection, token)
        if session is None:
            raise Problem(401, "unknown_token", "nobody has this token any more")
        return session

    def erase(self, person: str) -> None:
        """Remove all that is stored about a person but the ledger's keyed hashes."""
        erasures.erase(self.database, person)


@contextmanager
def still_there() -> Iterator[None]:
    """For what is written about a person who may erase themselves at this very moment."""
    try:
        yield
    except IntegrityError:
        raise Problem(401, "unknown_token", "nobody has this token any more") from None


def service_of(request: Request) -> Service:
    """The service that answers this request."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
