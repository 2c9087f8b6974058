"""Shelves: what a member's home shows, from the release and their own ratings alone.

Lists and reasons are the library's own (docs/lists.md), so that a notebook shows the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from discreet.database.own_ratings import OwnRating
from discreet.release.ranking import Ranking
from discreet.service.public_cache import Model, Pick
from discreet.service.search import Card

EACH = 10
"""Items on a shelf."""
BEGIN = 5
"""Ratings from which on lists are one's own."""
LEAST = 4
"""A shelf with fewer items is not worth its place."""
_LIKED = 0.7
"""Of the scale: from 4 of 5 on a rating says that one liked it."""
_SIMILAR = 40
_GEMS = (0.25, 0.6)
"""Hidden gems are chosen more often than a quarter of all items, and less than four tenths."""
_GENRES = 2


@dataclass(frozen=True)
class Shelf:
    """A list with a name and the reason why it is shown."""

    key: str
    title: str
    about: str
    picks: list[Pick]
    genre: str = ""
    """Where the whole list is of one genre."""


@dataclass
class Shelves:
    """Shelves in the making: what stands on one is on no other."""

    model: Model
    cards: Mapping[str, Card]
    own: Sequence[OwnRating]
    taken: list[str] = field(default_factory=list)
    """Not interesting, or shown already."""
    made: list[Shelf] = field(default_factory=list)

    @property
    def liked(self) -> list[OwnRating]:
        """What the person liked, the latest first."""
        scale = self.model.release.scale
        least = scale.lo + _LIKED * scale.span
        return [rating for rating in self.own if rating.rating >= least]

    def picks(self, ranking: Ranking, *, newcomer: bool = False, n: int = EACH) -> list[Pick]:
        """What ranks first for this person, or for a newcomer, and can be shown."""
        rated = [one.item for one in self.own] if newcomer else []
        mine = [] if newcomer else [one[:2] for one in self.own]
        without = [*self.taken, *rated]
        wanted = Ranking(
            by=ranking.by, diversity=ranking.diversity, among=ranking.among, without=without
        )
        return self.model.recommend(mine, n, wanted)

    def add(self, shelf: Shelf, least: int = LEAST) -> None:
        """Show a shelf, if there is enough on it."""
        if len(shelf.picks) >= least:
            self.made.append(shelf)
            self.taken += [pick.item for pick in shelf.picks]


def home_shelves(
    model: Model, cards: Mapping[str, Card], own: Sequence[OwnRating], hidden: Sequence[str]
) -> list[Shelf]:
    """All shelves of a member's home, the most personal first."""
    shelves = Shelves(model, cards, own, [*hidden, *_gone(model, cards)])
    if len(own) < BEGIN:
        _add_begin(shelves)
    shelves.add(for_you(model, cards, own, hidden=shelves.taken), least=1)
    _add_because(shelves)
    many = shelves.picks(Ranking(), newcomer=True)
    shelves.add(Shelf("many", "Loved by many", "Often chosen, and liked by those who did.", many))
    gems = shelves.picks(Ranking(by="liked", among=_gems(model)))
    shelves.add(
        Shelf(
            "gems",
            "Hidden gems",
            "Not the best known: of these you would give most, we guess.",
            gems,
        )
    )
    for genre, liked in favourite_genres(shelves):
        more = shelves.picks(Ranking(among=_of_genre(shelves, genre)))
        about = f"{genre}: {liked} of the {len(shelves.liked)} that you liked." if liked else ""
        shelves.add(Shelf(f"genre-{genre}", f"More of {genre}", about, more, genre))
    return shelves.made


def for_you(
    model: Model, cards: Mapping[str, Card], own: Sequence[OwnRating], hidden: Sequence[str]
) -> Shelf:
    """What one would choose and would like."""
    picks = Shelves(model, cards, own, [*hidden, *_gone(model, cards)]).picks(Ranking())
    about = (
        f"From your {len(own)} rating{'' if len(own) == 1 else 's'} and the public model, computed "
        "just now, for your eyes only."
        if own
        else "Until you rate something, everybody sees the same list."
    )
    return Shelf("for-you", "For you", about, picks)


def _gone(model: Model, cards: Mapping[str, Card]) -> list[str]:
    """What the release knows and the catalogue does not, any more."""
    return [item for item in model.ids if item not in cards]


def _add_begin(shelves: Shelves) -> None:
    """Well-known items of many kinds, of which a newcomer has an opinion."""
    picks = shelves.picks(Ranking(by="likely", diversity=2.0), newcomer=True)
    missing = BEGIN - len(shelves.own)
    about = (
        f"{missing} more, and the lists below become yours."
        if shelves.own
        else ("Tap the stars of what you know. The lists below follow at once.")
    )
    shelves.add(Shelf("begin", f"Rate {BEGIN} to begin", about, picks), least=1)


def _add_because(shelves: Shelves) -> None:
    """Beside what one liked, and which speaks most for what one is recommended."""
    source = _most_telling(shelves)
    if source is None:
        return
    title = shelves.cards[source.item].title
    near = shelves.model.release.similar_items(source.item, _SIMILAR)["item"].to_list()
    picks = shelves.picks(Ranking(among=near))
    about = f"You gave it {source.rating:g}, and those who choose it choose these, too."
    shelves.add(Shelf("because", f"Because you liked {title}", about, picks))


def _most_telling(shelves: Shelves) -> OwnRating | None:
    """Of what one liked, what speaks most for the first of one's list; else the latest."""
    known = {
        one.item: one
        for one in shelves.liked
        if one.item in shelves.model.rows and one.item in shelves.cards
    }
    first = next((s.picks[0].item for s in shelves.made if s.key == "for-you"), None)
    if not known or first is None:
        return None
    mine = [one for one in shelves.own if one.item in shelves.model.rows]
    ids, ratings = [one.item for one in mine], [one.rating for one in mine]
    because = shelves.model.release.explain(ids, ratings, first).because
    told = [known[item] for item in because["item"] if item in known]
    return told[0] if told else next(iter(known.values()))


def favourite_genres(shelves: Shelves) -> list[tuple[str, int]]:
    """Of which one liked more than the catalogue has, and how many; a newcomer's: the commonest."""
    everywhere = Counter(genre for card in shelves.cards.values() for genre in card.genres)
    liked = [shelves.cards[one.item] for one in shelves.liked if one.item in shelves.cards]
    mine = Counter(genre for card in liked for genre in card.genres)
    if not mine:
        return [(genre, 0) for genre, _ in everywhere.most_common(_GENRES)]
    total = max(1, len(shelves.cards))
    lift = {g: n / len(liked) - everywhere[g] / total for g, n in mine.items()}
    best = sorted(lift, key=lambda genre: (-lift[genre], genre))[:_GENRES]
    return [(genre, mine[genre]) for genre in best]


def _of_genre(shelves: Shelves, genre: str) -> list[str]:
    return [card.id for card in shelves.cards.values() if genre in card.genres]


@lru_cache(maxsize=2)
def _gems(model: Model) -> tuple[str, ...]:
    """Neither the best known nor those of which hardly anything is known."""
    counts = model.popularity()
    low, high = np.quantile(counts, _GEMS)
    return tuple(model.ids[row] for row in np.flatnonzero((counts >= low) & (counts <= high)))
