"""A member as the pages see them: own ratings, what is hidden, the usual level; and their cards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from discreet.database import own_ratings, tastes
from discreet.database.own_ratings import OwnRating
from discreet.service import plain_language, shelves
from discreet.service.disclosure import Choice, Disclosure
from discreet.service.images import cover_address
from discreet.service.plain_language import Ground
from discreet.service.public_cache import Pick
from discreet.service.search import Card
from discreet.service.state import Service
from discreet.service.words import words_of


@dataclass(frozen=True)
class Shown:
    """A card as it is shown to one person."""

    card: Card
    address: str
    """The item's page, sealed for this person."""
    cover: str
    own: OwnRating | None
    score: float | None
    level: str
    """The name of the rating's level; of the one that a rating would get, if there is none yet."""
    tone: int
    """The level's place among those on offer, for its colour."""
    hidden: bool
    """Whether it does not interest them."""


@dataclass(frozen=True)
class ShownShelf:
    """A shelf as it is shown."""

    shelf: shelves.Shelf
    cards: list[Shown]


@dataclass(frozen=True)
class Option:
    """A level as it is offered for one rating."""

    name: str
    choice: Choice
    means: str
    checked: bool
    tone: int


@dataclass(frozen=True)
class Member:
    """One person, as of one moment."""

    service: Service
    person: str
    own: list[OwnRating]
    hidden: list[str]
    level: float
    """The level that a rating gets of which no other is said."""

    @classmethod
    def of(cls, service: Service, person: str) -> Member:
        """Read what is theirs."""
        with service.database.reading() as connection:
            level = service.giving.usual_levels(connection, [person])[person]
            own, hidden = own_ratings.of(connection, person), tastes.hidden(connection, person)
        return cls(service, person, own, hidden, level)

    @cached_property
    def rated(self) -> dict[str, OwnRating]:
        """Own ratings by item."""
        return {own_rating.item: own_rating for own_rating in self.own}

    @cached_property
    def names(self) -> dict[float, str]:
        """Of the levels on offer."""
        return {level.epsilon: level.name for level in self.service.levels()}

    def level_name(self, epsilon: float) -> str:
        """In words, also of a level that was chosen over the API."""
        return self.names.get(epsilon, f"epsilon {plain_language.digits(epsilon)}")

    def tone(self, epsilon: float) -> int:
        """The place of a level among those on offer, the most private first."""
        return sum(level < epsilon for level in self.service.declared.levels)

    def shown(self, card: Card, score: float | None = None) -> Shown:
        """A card with all that stands on it."""
        own = self.rated.get(card.id)
        epsilon = self.level if own is None else own.epsilon
        sealed = self.service.seal.close("item", self.person, card.id)
        return Shown(
            card,
            f"/item/{sealed}",
            cover_address(self.service.seal, card, self.person, self.service.images),
            own,
            score,
            self.level_name(epsilon),
            self.tone(epsilon),
            card.id in self.hidden,
        )

    def listed(self, picks: list[Pick]) -> list[Shown]:
        """The cards of a list."""
        cards = self.service.public.catalogue.cards
        return [self.shown(cards[pick.item], pick.score) for pick in picks if pick.item in cards]

    def home(self) -> list[ShownShelf] | None:
        """All shelves; None before the first release."""
        model = self.service.public.model
        if model is None:
            return None
        cards = self.service.public.catalogue.cards
        found = shelves.home_shelves(model, cards, self.own, self.hidden)
        return [ShownShelf(shelf, self.listed(shelf.picks)) for shelf in found]

    def for_you(self) -> ShownShelf | None:
        """The first shelf alone: what follows a rating at once."""
        model = self.service.public.model
        if model is None:
            return None
        cards = self.service.public.catalogue.cards
        shelf = shelves.for_you(model, cards, self.own, self.hidden)
        return ShownShelf(shelf, self.listed(shelf.picks))

    def disclosure(self, card: Card) -> Disclosure:
        """What has left about an item, and what still can."""
        [found] = self.service.about(self.person, [card.id], self.rated)
        return found

    def options(self, found: Disclosure) -> list[Option]:
        """The levels that a rating can have, and what each would mean for it."""
        level = self.level if found.epsilon is None else found.epsilon
        ground: Ground = self.service.ground
        words = words_of(self.service.declared)
        choices = [c for c in found.choices if c.level in self.names or c.level == level]
        if found.chosen is not None and found.chosen not in choices:
            choices.append(found.chosen)  # chosen over the API
        return [
            Option(
                self.level_name(choice.level),
                choice,
                plain_language.would_mean(choice, found, ground, words),
                choice.level == level,
                self.tone(choice.level),
            )
            for choice in choices
        ]
