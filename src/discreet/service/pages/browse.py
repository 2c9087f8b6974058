"""Everything there is: search, filters, sorting; and one's own ratings.

No URL holds a search's words, a genre or a year, because proxies log URLs: what somebody looks for
is posted, and so is the page of a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from discreet.service.limits import LONGEST_SEARCH
from discreet.service.pages.member import Member, Shown
from discreet.service.pages.rendering import render
from discreet.service.pages.undoing import undoable
from discreet.service.pages.visitors import Settled, SignedIn, Visitor
from discreet.service.public_cache import Catalogue
from discreet.service.search import Card
from discreet.service.state import Service, service_of

router = APIRouter()
PAGE = 24
ALL, MINE, HIDDEN = "", "mine", "hidden"
"""Among what one looks: everything, one's own, what does not interest one."""
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
    years: str = ""
    """One year, or a decade with an s behind it."""
    sort: str = "popular"
    page: int = 1
    among: str = ALL

    @property
    def wished(self) -> bool:
        """Whether there is any wish."""
        return bool(self.query or self.genre or self.years)

    @property
    def mine(self) -> bool:
        """Among one's own."""
        return self.among == MINE

    @property
    def hidden(self) -> bool:
        """Among what does not interest one."""
        return self.among == HIDDEN

    def cards(self, member: Member) -> list[Card]:
        """All that fits; of one's own, and of what one hid, the latest first."""
        found = [card for card in member.service.public.search(self.query) if self._fits(card)]
        if self.among == ALL:
            return self._sorted(member, found)
        by_id = {card.id: card for card in found}
        listed = member.hidden if self.hidden else [own.item for own in member.own]
        found = [by_id[item] for item in listed if item in by_id]
        return found if self.sort == "popular" else self._sorted(member, found)

    def _fits(self, card: Card) -> bool:
        if self.genre and self.genre not in card.genres:
            return False
        if not self.years:
            return True
        decade = self.years.endswith("s")
        year = card.year if card.year is None or not decade else card.year // 10 * 10
        return year == int(self.years.removesuffix("s"))

    def _sorted(self, member: Member, found: list[Card]) -> list[Card]:
        if self.sort == "mine":
            return _best_first(member, found, last=[] if self.hidden else member.hidden)
        key = SORTS.get(self.sort, SORTS["popular"])[1]
        return found if key is None else sorted(found, key=key)


def _best_first(member: Member, found: list[Card], last: list[str]) -> list[Card]:
    """By one's own list of all of them; what it has not comes last, as it was."""
    model = member.service.public.model
    if model is None or not found:
        return found
    among = {card.id: card for card in found}
    listed = model.release.recommend(
        [own.item for own in member.own],
        [own.rating for own in member.own],
        len(model.ids),
        among=list(among) if len(found) < len(model.ids) else None,
        without=last or None,
        exclude_rated=False,
        times=[own.changed_at for own in member.own],
    )
    first = [among.pop(item) for item in listed["item"].to_list() if item in among]
    return [*first, *among.values()]


@dataclass(frozen=True)
class Filters:
    """What there is to choose from: public."""

    genres: list[tuple[str, int]]
    decades: list[tuple[int, list[int]]]
    """With the years of each."""

    @classmethod
    def of(cls, catalogue: Catalogue) -> Filters:
        """The genres, decades and years of a catalogue."""
        cards = catalogue.cards.values()
        genres = Counter(genre for card in cards for genre in card.genres)
        years = sorted({card.year for card in cards if card.year is not None}, reverse=True)
        decades = [(ten, list(within)) for ten, within in groupby(years, lambda y: y // 10 * 10)]
        return cls(sorted(genres.items()), decades)


def _show(
    request: Request, visitor: Visitor, person: str, search: Search, undo: str = ""
) -> Response:
    service: Service = service_of(request)
    member = Member.of(service, person)
    sorts = {key: name for key, (name, _) in SORTS.items()}
    if service.public.model is None:  # nobody knows yet what is chosen most, or best for whom
        del sorts["mine"]
        if search.among == ALL:
            sorts["popular"] = sorts.pop("title")
    found, page = search.cards(member), search.page
    cards: list[Shown] = [member.shown(c) for c in found[(page - 1) * PAGE : page * PAGE]]
    values: dict[str, Any] = {
        "search": search,
        "total": len(found),
        "more": len(found) > page * PAGE,
        "cards": cards,
        "place": search.among or "browse",
        "hiding": len(member.hidden),
    }
    if request.headers.get("x-part") == "yes":
        return render(request, "found.html", visitor=visitor, **values)
    return render(
        request,
        "browse.html",
        visitor=visitor,
        filters=Filters.of(service.public.catalogue),
        sorts=sorts,
        undo=undoable(service, person, undo),
        **service.notices(),
        **values,
    )


@router.get("/browse")
def browse_page(request: Request, visitor: Visitor, person: Settled, undo: str = "") -> Response:
    """Everything there is."""
    return _show(request, visitor, person, Search(), undo)


@router.get("/mine")
def mine_page(request: Request, visitor: Visitor, person: Settled, undo: str = "") -> Response:
    """One's own ratings, the latest first."""
    return _show(request, visitor, person, Search(among=MINE), undo)


@router.get("/mine/hidden")
def hidden_page(request: Request, visitor: Visitor, person: Settled, undo: str = "") -> Response:
    """What does not interest one, to be shown again."""
    return _show(request, visitor, person, Search(among=HIDDEN), undo)


@router.post("/browse")
def search_page(
    request: Request,
    visitor: Visitor,
    person: SignedIn,
    q: Annotated[str, Form(max_length=LONGEST_SEARCH)] = "",
    genre: Annotated[str, Form(max_length=200)] = "",
    years: Annotated[str, Form(pattern=r"^([0-9]{1,4}s?)?$")] = "",
    sort: Annotated[str, Form(max_length=10)] = "popular",
    page: Annotated[int, Form(ge=1, le=10**6)] = 1,
    among: Annotated[Literal["", "mine", "hidden"], Form()] = "",
) -> Response:
    """What was looked for; with JavaScript the part that changed comes back."""
    return _show(request, visitor, person, Search(q, genre, years, sort, page, among))
