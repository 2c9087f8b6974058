"""A person's pages: rate, recommendations, what leaves, export, erase.

No URL of a page names an item or holds a search's words, because proxies log URLs: what somebody
looks for is posted, and so is the page of a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from discreet.database.own_ratings import OwnRating
from discreet.service import plain_language
from discreet.service.access import session_cookie
from discreet.service.disclosure import Choice, Disclosure, State
from discreet.service.limits import LONGEST_SEARCH
from discreet.service.pages.rendering import render
from discreet.service.pages.visitors import SignedIn, Visitor, begin_session
from discreet.service.problems import Problem
from discreet.service.public_cache import Card
from discreet.service.state import Service, service_of

router = APIRouter()
PAGE = 12
MOST_POINTS = 10


@dataclass(frozen=True)
class Option:
    """A level as a card offers it for one rating."""

    name: str
    choice: Choice
    means: str
    checked: bool


@dataclass(frozen=True)
class Row:
    """A card with one's rating of it, where that stands, and the levels to choose from."""

    card: Card
    own: OwnRating | None
    found: Disclosure
    options: list[Option]


@dataclass(frozen=True)
class Search:
    """What somebody looks for."""

    query: str = ""
    page: int = 1
    mine: bool = False

    def cards(self, service: Service, own: list[OwnRating]) -> list[Card]:
        """All that fits; of one's own the latest first."""
        found = service.public.search(self.query)
        if not self.mine:
            return found
        by_id = {card.id: card for card in found}
        return [by_id[own_rating.item] for own_rating in own if own_rating.item in by_id]


def _points(service: Service) -> list[float]:
    """The ratings to choose from, if they are few and whole."""
    low, high = service.declared.scale
    if low == int(low) and high == int(high) and high - low <= MOST_POINTS:
        return [float(value) for value in range(int(low), int(high) + 1)]
    return []


def _rows(service: Service, person: str, cards: list[Card], own: list[OwnRating]) -> list[Row]:
    rated = {own_rating.item: own_rating for own_rating in own}
    found = service.about(person, [card.id for card in cards], rated)
    names = {level.epsilon: level.name for level in service.levels()}
    ground = service.ground
    return [
        Row(card, rated.get(card.id), one, _options(service, one, names, ground))
        for card, one in zip(cards, found, strict=True)
    ]


def _options(
    service: Service, found: Disclosure, names: dict[float, str], ground: plain_language.Ground
) -> list[Option]:
    level = service.declared.usual_level if found.epsilon is None else found.epsilon
    choices = [choice for choice in found.choices if choice.level in names or choice.level == level]
    if found.chosen is not None and found.chosen not in choices:
        choices.append(found.chosen)  # chosen over the API
    return [
        Option(
            names.get(choice.level, f"epsilon {plain_language.digits(choice.level)}"),
            choice,
            plain_language.would_mean(choice, found, ground),
            choice.level == level,
        )
        for choice in choices
    ]


def _picks(service: Service, own: list[OwnRating]) -> list[tuple[Card | None, float]] | None:
    model = service.public.model
    if model is None:
        return None
    cards = service.public.catalogue.cards
    return [
        (cards.get(pick.item), pick.score) for pick in model.recommend([o[:2] for o in own], 10)
    ]


def _show(request: Request, visitor: Visitor, person: str, search: Search) -> Response:
    service = service_of(request)
    own = service.own(person)
    found, page = search.cards(service, own), search.page
    rows = _rows(service, person, found[(page - 1) * PAGE : page * PAGE], own)
    values: dict[str, Any] = {
        "search": search,
        "total": len(found),
        "more": len(found) > page * PAGE,
        "rows": rows,
        "points": _points(service),
    }
    if request.headers.get("x-part") == "yes":
        return render(request, "found.html", visitor=visitor, **values)
    return render(
        request,
        "rate.html",
        visitor=visitor,
        picks=_picks(service, own),
        count=len(own),
        levels=service.levels(),
        **service.notices(),
        **values,
    )


@router.get("/rate")
def rate_page(request: Request, visitor: Visitor, person: SignedIn) -> Response:
    """Everything there is to rate; recommendations beside it."""
    return _show(request, visitor, person, Search())


@router.get("/rate/mine")
def mine_page(request: Request, visitor: Visitor, person: SignedIn) -> Response:
    """One's own ratings, the latest first."""
    return _show(request, visitor, person, Search(mine=True))


@router.post("/rate/search")
def search_page(
    request: Request,
    visitor: Visitor,
    person: SignedIn,
    q: Annotated[str, Form(max_length=LONGEST_SEARCH)] = "",
    page: Annotated[int, Form(ge=1, le=10**6)] = 1,
    mine: Annotated[bool, Form()] = False,
) -> Response:
    """What was looked for; with JavaScript the part that changed comes back."""
    return _show(request, visitor, person, Search(q, page, mine))


@router.post("/rate")
def rate(
    request: Request,
    visitor: Visitor,
    person: SignedIn,
    item: Annotated[str, Form(max_length=500)],
    rating: Annotated[float | None, Form(allow_inf_nan=False)] = None,
    epsilon: Annotated[float | None, Form(allow_inf_nan=False)] = None,
    action: Annotated[str, Form(max_length=10)] = "save",
) -> Response:
    """Give, change or delete a rating; with JavaScript the parts that changed come back."""
    service = service_of(request)
    if action == "delete":
        service.card(item)
        service.take_back(person, item)
    elif rating is None:
        raise Problem(422, "no_rating", "choose a rating first")
    else:
        service.rate(person, item, rating, epsilon)
    if request.headers.get("x-part") != "yes":
        return RedirectResponse("/rate/mine", 303)  # where the latest is seen first
    own = service.own(person)
    [row] = _rows(service, person, [service.card(item)], own)
    return render(
        request,
        "part.html",
        visitor=visitor,
        row=row,
        picks=_picks(service, own),
        count=len(own),
        points=_points(service),
    )


@router.get("/privacy")
def privacy_page(request: Request, visitor: Visitor, person: SignedIn) -> Response:
    """What leaves this server about me."""
    service = service_of(request)
    record = service.record(person)
    return render(
        request,
        "privacy.html",
        visitor=visitor,
        person=person,
        record=record,
        titles={found.item: service.title(found.item) for found in record.ratings},
        rated={own_rating.item: own_rating for own_rating in record.own},
        disclosures=sorted(record.ratings, key=_order),
        model=service.public.model,
        names={level.epsilon: level.name for level in service.levels()},
        about_all=plain_language.about_all(record.spent),
        **service.notices(),
    )


def _order(found: Disclosure) -> tuple[int, float]:
    return list(State).index(found.state), -found.spent.epsilon


@router.post("/token")
def new_token(request: Request, visitor: Visitor, person: SignedIn) -> Response:
    """A new token in place of all others; this browser stays signed in."""
    token = service_of(request).new_token(person)
    answer = render(request, "token.html", visitor=visitor, token=token, joined=False)
    begin_session(request, answer, token)
    return answer


@router.post("/erase")
def erase(
    request: Request, person: SignedIn, confirm: Annotated[str, Form(max_length=10)] = ""
) -> Response:
    """Erase oneself, if the box was ticked."""
    if confirm != "yes":
        raise Problem(422, "not_confirmed", "tick the box if you want everything to be erased")
    service_of(request).erase(person)
    answer = render(request, "erased.html")
    answer.delete_cookie(session_cookie(request))
    return answer
