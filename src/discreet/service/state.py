"""What all requests share, and the few things that both the API and the page do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from fastapi import Request
from sqlalchemy.engine import Connection
from sqlalchemy.sql.expression import Executable

from discreet.database import erasures, own_ratings, people, tastes
from discreet.database.connection import Database, utc_time
from discreet.database.declaration import Declaration
from discreet.database.glance import Row
from discreet.database.own_ratings import OwnRating
from discreet.database.people import Bearer, Role
from discreet.database.reader import Reader
from discreet.database.tastes import Taste
from discreet.database.writer import Writer
from discreet.errors import DataError
from discreet.release.ranking import BEST, Ranking
from discreet.service import disclosure, plain_language
from discreet.service.access import Authenticator
from discreet.service.disclosure import Disclosure, Record
from discreet.service.giving import Giving
from discreet.service.monitoring import Metrics
from discreet.service.overview import LedgerOverview
from discreet.service.plain_language import Ground
from discreet.service.problems import Problem, asking, still_there
from discreet.service.programs import Programs
from discreet.service.public_cache import Model, Pick, PublicCache
from discreet.service.sealing import Seal
from discreet.service.search import Card
from discreet.service.waiting import Arrivals, InTurn, leave_the_loop

if TYPE_CHECKING:
    from discreet.service.openid import Provider


@dataclass(frozen=True, eq=False)
class Service:
    """One recommender."""

    database: Database
    writer: Writer
    public: PublicCache
    authenticator: Authenticator
    programs: Programs
    metrics: Metrics
    seal: Seal
    """Of addresses that would name an item."""
    open_to_all: bool = True
    """Whether anybody may join, or only those to whom the operator gives a token."""
    images: Path | None = None
    """A folder with the operator's pictures of items."""
    provider: Provider | None = None
    """Where people sign in, if not by token alone."""
    giving: Giving = field(init=False)
    reader: Reader = field(init=False)
    arrivals: Arrivals = field(init=False)
    in_turn: InTurn = field(init=False)
    ledger_overview: LedgerOverview = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "giving", Giving(self.public, self.card))
        object.__setattr__(self, "reader", Reader(self.database))
        object.__setattr__(self, "arrivals", Arrivals())
        object.__setattr__(self, "in_turn", InTurn())
        object.__setattr__(self, "ledger_overview", LedgerOverview())

    @property
    def declared(self) -> Declaration:
        """As it is declared now."""
        return self.public.declared

    def card(self, item: str) -> Card:
        """An item of the catalogue, or a problem."""
        card = self.public.catalogue.cards.get(item)
        if card is None:
            leave_the_loop()
            self.public.look_now()
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
            leave_the_loop()
            self.public.look_now()  # the first may just have come
            model = self.public.model
        if model is None:
            planned = self.declared.publish_every_hours > 0
            when = f" at {utc_time(self.next_release_at())}" if planned else " when it is published"
            raise Problem(404, "no_release", f"there is no release yet: the first one comes{when}")
        return model

    def next_release_at(self) -> int:
        """When the declared schedule wants the next release."""
        model = self.public.model
        return self.declared.due_after(None if model is None else model.entry.begun_at)

    def rate(self, person: str, item: str, rating: float, epsilon: float | None) -> OwnRating:
        """Give or change a rating."""
        with still_there():
            return self.writer.write(self.giving.to_rate(person, item, rating, epsilon))

    def usual_level(self, person: str) -> float:
        """The level of a person's ratings of which they do not say another."""
        with self.database.reading() as connection:
            return self.giving.usual_levels(connection, [person])[person]

    def choose_level(self, person: str, level: float) -> None:
        """Choose, once for all ratings to come, one of the levels on offer."""
        if level not in self.declared.levels:
            offered = ", ".join(f"{one:g}" for one in self.declared.levels)
            raise Problem(422, "level_not_offered", f"choose one of the levels: {offered}")
        with still_there():
            self.writer.write_apart(lambda at: tastes.choose_level(at, person, level))

    def hide(self, person: str, item: str, *, hidden: bool = True) -> None:
        """Leave an item out of a person's lists, or let it in again."""
        self.card(item)
        change = tastes.hide if hidden else tastes.show_again
        with still_there():
            self.writer.write_apart(lambda at: change(at, person, item))

    def hidden(self, person: str) -> list[str]:
        """What does not interest a person."""
        with self.database.reading() as connection:
            return tastes.hidden(connection, person)

    def take_back(self, person: str, item: str) -> None:
        """Delete a rating."""
        if not self.writer.write(lambda connection: own_ratings.remove(connection, person, item)):
            raise Problem(404, "not_rated", "you have not rated this")

    def own(self, person: str) -> list[OwnRating]:
        """A person's own ratings."""
        with self.database.reading() as connection:
            return own_ratings.of(connection, person)

    async def found(self, question: Executable, key: str) -> list[Row]:
        """What a server finds of one key, asked together with who else asks it at the moment."""
        return await self.arrivals.of(self.reader.submit(question, key))

    def recommend(
        self,
        model: Model,
        taste: Taste,
        n: int,
        ranking: Ranking = BEST,
        *,
        with_error: bool = False,
    ) -> list[Pick]:
        """From a person's own ratings and this release, from which all lists come that are shown
        together."""
        gone = [item for item in self.public.catalogue.removed if item in model.rows]
        with asking():
            ranking = ranking.leaving_out(model.release.items, [*taste.hidden, *gone])
            return model.recommend(taste.own, n, ranking, with_error=with_error)

    @property
    def ground(self) -> Ground:
        """What levels promise: nothing once a release was seeded."""
        model = self.public.model
        if model is not None and not model.protects:
            return Ground.SEEDED
        return Ground.RESTORED if self.public.restored else Ground.SOUND

    def notices(self) -> dict[str, Any]:
        """What pages have to say above all else."""
        seeded = self.ground == Ground.SEEDED
        return {
            "seeded": plain_language.SEEDED if seeded else None,
            "restored": plain_language.RESTORED if self.public.restored else None,
        }

    def levels(self) -> list[plain_language.Level]:
        """The levels on offer, in words that are true."""
        return plain_language.offered_levels(self.declared, self.ground)

    def about(
        self, person: str, items: Iterable[str], rated: Mapping[str, OwnRating]
    ) -> list[Disclosure]:
        """What has left about these items, rated or not, and what still can."""
        listed = pl.Series("item", items, dtype=pl.String)
        removed = self.public.catalogue.removed
        with self.database.reading() as connection:
            return disclosure.about(connection, self.declared, person, listed, rated, removed)

    def record(self, person: str) -> Record:
        """All that has left about a person, deleted ratings included."""
        known = self.public.catalogue
        with self.database.reading() as connection:
            own = own_ratings.of(connection, person)
            return disclosure.record(
                connection, self.declared, person, own, known.ids, known.removed
            )

    def join(self) -> tuple[str, str]:
        """A new person, and their token."""
        if not self.open_to_all:
            raise Problem(403, "closed", "ask the operator for a token: joining is closed")

        def welcome(connection: Connection) -> tuple[str, str]:
            person = people.new_person(connection)
            return person, people.issue(connection, Role.PERSON, person)

        return self.writer.write_apart(welcome)

    def admit(self, person: str) -> str:
        """Somebody whom the company's own sign-in names by its own id; created if they are new."""
        if people.made_here(person):
            raise Problem(403, "not_yours", "this id is one that people get who join here")
        with self.database.reading() as connection:
            if people.exists(connection, person):
                return person
        if not self.open_to_all:
            raise Problem(403, "closed", "ask the operator to let you in: joining is closed")
        try:
            return self.writer.write_apart(lambda at: people.new_person(at, person))
        except DataError:
            raise Problem(403, "erased", "nobody can be here by this id any more") from None

    def new_token(self, person: str) -> str:
        """A new token for a person, in place of all others."""
        with still_there():
            return self.writer.write_apart(lambda at: people.renew(at, person))

    def begin_session(self, token: str) -> str:
        """A browser's session for who holds this token; a problem if it has just ended."""
        with still_there():
            session = self.writer.write_apart(lambda at: people.begin_session(at, token))
        if session is None:
            raise Problem(401, "unknown_token", "nobody has this token any more")
        return session

    def begin_session_for(self, who: Bearer) -> str:
        """A browser's session for somebody whom the company's own sign-in has named."""
        with still_there():
            return self.writer.write_apart(lambda at: people.begin_session_for(at, who))

    def end_session(self, session: str) -> None:
        """Sign a browser out."""
        self.writer.write_apart(lambda at: people.revoke(at, session))

    def erase(self, person: str) -> None:
        """Remove all that is stored about a person but the ledger's keyed hashes."""
        erasures.erase(self.writer, person)


def service_of(request: Request) -> Service:
    """The service that answers this request."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
