"""Shelves in words: what a member's home shows, and why each stands there.

Lists and reasons are the library's own (docs/lists.md), so that a notebook shows the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from discreet.database.own_ratings import OwnRating
from discreet.release.ranking import Ranking
from discreet.release.shelves import BEGIN as BEGIN
from discreet.release.shelves import EACH as EACH
from discreet.release.shelves import GENRE, is_liked, shelves
from discreet.service.public_cache import Model, Pick, picks_of
from discreet.service.search import Card


@dataclass(frozen=True)
class Shelf:
    """A list with a name and the reason why it is shown."""

    key: str
    title: str
    about: str
    picks: list[Pick]
    genre: str = ""
    """Where the whole list is of one genre."""


class Said(NamedTuple):
    """What shelves say of ratings, or of events."""

    one: str
    do: str
    liked: str
    mark: str
    begin: str
    popular: str
    many: str
    gems: str


SAID = {
    False: Said(
        one="rating",
        do="rate",
        liked="liked",
        mark="Rate",
        begin="Tap the stars of what you know. The lists below follow at once.",
        popular="Loved by many",
        many="Often chosen, and liked by those who did.",
        gems="Less known, and you would rate them highest, we guess.",
    ),
    True: Said(
        one="choice",
        do="choose",
        liked="chose",
        mark="Mark",
        begin="Tap what you have chosen before. The lists below follow at once.",
        popular="Chosen by many",
        many="What most people choose.",
        gems="Less known, and you would choose them first, we guess.",
    ),
}
"""By whether there are events."""


def home_shelves(
    model: Model, cards: Mapping[str, Card], own: Sequence[OwnRating], hidden: Sequence[str]
) -> list[Shelf]:
    """All shelves of a member's home, the most personal first."""
    items, ratings = [one.item for one in own], [one.rating for one in own]
    times = [one.changed_at for one in own]
    without = [*hidden, *_gone(model, cards)]
    found = shelves(model.release, items, ratings, without, times)  # cards have the titles
    return [_in_words(name, made, model, cards, own) for name, made in found.items()]


def for_you(
    model: Model, cards: Mapping[str, Card], own: Sequence[OwnRating], hidden: Sequence[str]
) -> Shelf:
    """What one would choose and would like, by itself."""
    ranking = Ranking(without=[*hidden, *_gone(model, cards)])
    picks = model.recommend([one.for_lists for one in own], EACH, ranking)
    return Shelf("for-you", "For you", _about_for_you(own, SAID[model.release.events]), picks)


def _in_words(
    name: str,
    made: pl.DataFrame,
    model: Model,
    cards: Mapping[str, Card],
    own: Sequence[OwnRating],
) -> Shelf:
    picks, genre, said = picks_of(made["item"], made["score"]), "", SAID[model.release.events]
    if name == "begin":
        title, about = f"{said.mark} {BEGIN} to begin", _about_begin(own, said)
    elif name == "for-you":
        title, about = "For you", _about_for_you(own, said)
    elif name == "because":
        source = next(one for one in own if one.item == made["because"][0])
        title = f"Because you {said.liked} {cards[source.item].title}"
        gave = "Those" if model.release.events else f"You gave it {source.rating:g}, and those"
        about = f"{gave} who choose it choose these, too."
    elif name == "many":
        title, about = said.popular, said.many
    elif name == "gems":
        title, about = "Hidden gems", said.gems
    else:
        genre = name.removeprefix(GENRE)
        title, about = f"More of {genre}", _about_genre(genre, model, cards, own)
    return Shelf(name, title, about, picks, genre)


def _about_for_you(own: Sequence[OwnRating], said: Said) -> str:
    if not own:
        return f"Until you {said.do} something, everybody sees the same list."
    return (
        f"From your {len(own)} {said.one}{'' if len(own) == 1 else 's'} and the public model, "
        "computed just now, for your eyes only."
    )


def _about_begin(own: Sequence[OwnRating], said: Said) -> str:
    return f"{BEGIN - len(own)} more, and the lists below become yours." if own else said.begin


def _about_genre(
    genre: str, model: Model, cards: Mapping[str, Card], own: Sequence[OwnRating]
) -> str:
    liked = [cards.get(one.item) for one in own if is_liked(model.release, one.rating)]
    of_it = sum(card is not None and genre in card.genres for card in liked)
    said = SAID[model.release.events]
    return f"{genre}: {of_it} of the {len(liked)} that you {said.liked}." if of_it else ""


def _gone(model: Model, cards: Mapping[str, Card]) -> list[str]:
    """What the release knows and the catalogue does not, any more."""
    return [item for item in model.ids if item not in cards]
