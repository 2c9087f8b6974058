"""Everything there is: search, filters, sorting; and one's own ratings.

No URL holds a search's words, a genre or a year, because proxies log URLs: what somebody looks for
is posted, and so is the page of a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from discreet.release.ranking import Ranking
from discreet.service.limits import LONGEST_SEARCH, MOST_RECOMMENDATIONS
from discreet.service.pages.member import Member, Shown, points
from discreet.service.pages.rendering import render
from discreet.service.pages.undoing import undoable
from discreet.service.pages.visitors import SignedIn, Visitor
from discreet.service.public_cache import Catalogue
from discreet.service.search import Card
from discreet.service.state import Service, service_of

router = APIRouter()
PAGE = 24
SORTS: dict[str, tuple[str, Callable[[Card], Any] | None]] = {
    "popular": ("Most chosen", None),
    "mine": ("Best for me", None),
    "new": ("Newest", lambda card: (-(card.year or 0), card.words)),
    "old": ("Oldest", lambda card: (card.year or 10**6, card.words)),
    "title": ("A to Z", lambda card: card.words),
}
"""By what a list may be sorted: a name, and a key where the cards alone decide."""


@dataclass(frozen=True)
class Search:
    """What somebody looks for."""

    query: str = ""
    genre: str = ""
    decade: int = 0
    sort: str = "popular"
    page: int = 1
    mine: bool = False

    @property
    def wished(self) -> bool:
        """Whether there is any wish."""
        return bool(self.query or self.genre or self.decade)

    def cards(self, member: Member) -> list[Card]:
        """All that fits; of one's own the latest first."""
        found = [card for card in member.service.public.search(self.query) if self._fits(card)]
        if self.mine:
            by_id = {card.id: card for card in found}
            found = [by_id[own.item] for own in member.own if own.item in by_id]
            return found if self.sort == "popular" else self._sorted(member, found)
        return self._sorted(member, found)

    def _fits(self, card: Card) -> bool:
        decade = card.year is not None and card.year // 10 * 10 == self.decade
        return (not self.genre or self.genre in card.genres) and (not self.decade or decade)

    def _sorted(self, member: Member, found: list[Card]) -> list[Card]:
        if self.sort == "mine":
            return _best_first(member, found)
        key = SORTS.get(self.sort, SORTS["popular"])[1]
        return found if key is None else sorted(found, key=key)


def _best_first(member: Member, found: list[Card]) -> list[Card]:
    """By one's own list, as far as it goes; then the rest as it was."""
    model = member.service.public.model
    if model is None:
        return found
    among = [card.id for card in found]
    ranking = Ranking(among=among, without=member.hidden or None, exclude_rated=False)
    own = [one[:2] for one in member.own]
    picks = model.recommend(own, MOST_RECOMMENDATIONS, ranking)
    place = {pick.item: k for k, pick in enumerate(picks)}
    return sorted(found, key=lambda card: place.get(card.id, len(place)))


@dataclass(frozen=True)
class Filters:
    """What there is to choose from: public."""

    genres: list[tuple[str, int]]
    decades: list[int]

    @classmethod
    def of(cls, catalogue: Catalogue) -> Filters:
        """The genres and decades of a catalogue."""
        cards = catalogue.cards.values()
        genres = Counter(genre for card in cards for genre in card.genres)
        decades = {card.year // 10 * 10 for card in cards if card.year is not None}
        return cls(sorted(genres.items()), sorted(decades, reverse=True))


def _show(
    request: Request, visitor: Visitor, person: str, search: Search, undo: str = ""
) -> Response:
    service: Service = service_of(request)
    member = Member.of(service, person)
    found, page = search.cards(member), search.page
    cards: list[Shown] = [member.shown(c) for c in found[(page - 1) * PAGE : page * PAGE]]
    values: dict[str, Any] = {
        "search": search,
        "total": len(found),
        "more": len(found) > page * PAGE,
        "cards": cards,
        "points": points(service),
        "place": "mine" if search.mine else "browse",
    }
    if request.headers.get("x-part") == "yes":
        return render(request, "found.html", visitor=visitor, **values)
    return render(
        request,
        "browse.html",
        visitor=visitor,
        filters=Filters.of(service.public.catalogue),
        sorts={key: name for key, (name, _) in SORTS.items()},
        undo=undoable(service, person, undo),
        **service.notices(),
        **values,
    )


@router.get("/browse")
def browse_page(request: Request, visitor: Visitor, person: SignedIn, undo: str = "") -> Response:
    """Everything there is."""
    return _show(request, visitor, person, Search(), undo)


@router.get("/mine")
def mine_page(request: Request, visitor: Visitor, person: SignedIn, undo: str = "") -> Response:
    """One's own ratings, the latest first."""
    return _show(request, visitor, person, Search(mine=True), undo)


@router.post("/browse")
def search_page(
    request: Request,
    visitor: Visitor,
    person: SignedIn,
    q: Annotated[str, Form(max_length=LONGEST_SEARCH)] = "",
    genre: Annotated[str, Form(max_length=200)] = "",
    decade: Annotated[int, Form(ge=0, le=10**4)] = 0,
    sort: Annotated[str, Form(max_length=10)] = "popular",
    page: Annotated[int, Form(ge=1, le=10**6)] = 1,
    mine: Annotated[bool, Form()] = False,
) -> Response:
    """What was looked for; with JavaScript the part that changed comes back."""
    return _show(request, visitor, person, Search(q, genre, decade, sort, page, mine))
