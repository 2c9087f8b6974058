"""A person's pages: rate, recommendations, what leaves, export, erase."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from discreet.database.opinions import Opinion
from discreet.service.access import session_cookie
from discreet.service.disclosure import Disclosure, State
from discreet.service.limits import LONGEST_SEARCH
from discreet.service.pages.rendering import render
from discreet.service.pages.visitors import SignedIn, Visitor, begin_session
from discreet.service.problems import Problem
from discreet.service.shelves import Card
from discreet.service.state import Service, service_of
from discreet.service.words import offered_levels, percent, surest

router = APIRouter()
PAGE = 12
MOST_STARS = 10

Search = Annotated[str, Query(max_length=LONGEST_SEARCH)]


def _choices(service: Service) -> list[float]:
    """The ratings to choose from, if they are few and whole."""
    low, high = service.declared.scale
    if low == int(low) and high == int(high) and high - low <= MOST_STARS:
        return [float(value) for value in range(int(low), int(high) + 1)]
    return []


def _rows(service: Service, person: str, cards: list[Card], own: list[Opinion]) -> list[Any]:
    """Cards with one's rating of each, and where it stands."""
    rated = {opinion.item: opinion for opinion in own}
    shown = [rated[card.id] for card in cards if card.id in rated]
    states = {found.item: found for found in service.disclosures(person, shown)}
    return [(card, rated.get(card.id), states.get(card.id)) for card in cards]


def _picks(service: Service, own: list[Opinion]) -> list[tuple[Card | None, float]] | None:
    model = service.shelves.model
    if model is None:
        return None
    cards = service.shelves.catalogue.cards
    return [
        (cards.get(pick.item), pick.score) for pick in model.recommend([o[:2] for o in own], 10)
    ]


@router.get("/rate")
def rate_page(
    request: Request, visitor: Visitor, person: SignedIn, q: Search = "",
    page: Annotated[int, Query(ge=1, le=10**6)] = 1, mine: bool = False,
) -> Response:  # fmt: skip
    """Search and rate; recommendations beside it."""
    service = service_of(request)
    own = service.own(person)
    found = service.shelves.search(q)
    if mine:
        rated = {opinion.item for opinion in own}
        found = [card for card in found if card.id in rated]
    cards = found[(page - 1) * PAGE : page * PAGE]
    return render(
        request, "rate.html", visitor=visitor, query=q, page=page, mine=mine, total=len(found),
        more=len(found) > page * PAGE, rows=_rows(service, person, cards, own),
        picks=_picks(service, own), count=len(own), choices=_choices(service),
        levels=offered_levels(service.declared),
    )  # fmt: skip


@router.post("/rate")
def rate(
    request: Request,
    visitor: Visitor,
    person: SignedIn,
    item: Annotated[str, Form(max_length=500)],
    rating: Annotated[float | None, Form(allow_inf_nan=False)] = None,
    epsilon: Annotated[float | None, Form(allow_inf_nan=False)] = None,
    action: Annotated[str, Form(max_length=10)] = "save",
    back: Annotated[str, Form(max_length=300)] = "/rate",
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
        return RedirectResponse(back if back.startswith("/rate") else "/rate", 303)
    own = service.own(person)
    [row] = _rows(service, person, [service.card(item)], own)
    return render(
        request, "part.html", visitor=visitor, row=row, picks=_picks(service, own), count=len(own),
        choices=_choices(service), levels=offered_levels(service.declared), back="/rate",
    )  # fmt: skip


@router.get("/privacy")
def privacy_page(request: Request, visitor: Visitor, person: SignedIn) -> Response:
    """What leaves this server about me."""
    service = service_of(request)
    own = service.own(person)
    found = service.disclosures(person, own, deleted=True)
    return render(
        request, "privacy.html", visitor=visitor, person=person, own=own,
        titles={d.item: service.title(d.item) for d in found},
        rated={opinion.item: opinion for opinion in own},
        disclosures=sorted(found, key=_order), left=[d for d in found if d.release is not None],
        model=service.shelves.model,
        names={level.epsilon: level.name for level in offered_levels(service.declared)},
        together=percent(surest(sum(d.spent for d in found if d.release is not None))),
    )  # fmt: skip


def _order(found: Disclosure) -> tuple[int, float]:
    return list(State).index(found.state), -found.spent


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
