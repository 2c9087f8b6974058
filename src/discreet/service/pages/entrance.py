"""The entrance: what this is, joining, signing in, the public model, the API's page."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from discreet.database import ledger
from discreet.release.ranking import Ranking
from discreet.service.access import LONGEST_TOKEN, address, authenticator_of, from_our_own_page
from discreet.service.images import ANYBODY, cover_address
from discreet.service.pages.account import level_values, promise_values
from discreet.service.pages.rendering import render
from discreet.service.pages.visitors import (
    Visitor,
    begin_session,
    end_session,
    home,
    new_visitor,
)
from discreet.service.problems import Problem
from discreet.service.proofs import proof_page
from discreet.service.search import Card
from discreet.service.shelves import SAID
from discreet.service.state import Service, service_of

router = APIRouter()
_WINDOW = 12
"""Covers that a visitor sees."""


def _require_own_page(request: Request) -> None:
    if not from_our_own_page(request):
        raise Problem(403, "foreign_page", "this request did not come from our own page")


@router.get("/")
def welcome(request: Request, visitor: Visitor) -> Response:
    """What this is."""
    if visitor is not None:
        return RedirectResponse(home(visitor.role), 303)
    service = service_of(request)
    return render(
        request,
        "welcome.html",
        model=service.public.model,
        covers=_shop_window(service),
        popular=SAID[service.declared.events].popular,
        **promise_values(service),
        open_to_all=service.open_to_all,
        **service.notices(),
    )


def _shop_window(service: Service) -> list[tuple[Card, str]]:
    """What many love, by the public model alone, with covers."""
    model, cards = service.public.model, service.public.catalogue.cards
    picks = [] if model is None else model.recommend([], _WINDOW, Ranking(diversity=1.0))
    found = [cards[pick.item] for pick in picks if pick.item in cards]
    return [(card, cover_address(service.seal, card, ANYBODY, service.images)) for card in found]


@router.post("/join")
def join(request: Request, visitor: Visitor) -> Response:
    """A new person: the token is shown on the answer, and never again."""
    _require_own_page(request)
    if visitor is not None:  # the page was loaded again
        return RedirectResponse(home(visitor.role), 303)
    authenticator, service = authenticator_of(request), service_of(request)
    authenticator.limit(authenticator.joining, address(request))
    person, token = service.join()
    answer = render(
        request,
        "token.html",
        visitor=new_visitor(person),
        token=token,
        joined=True,
        **level_values(service, service.declared.usual_level),
    )
    begin_session(request, answer, token)
    return answer


@router.get("/signin")
def signin_page(request: Request, visitor: Visitor) -> Response:
    """Where to put the token."""
    company = service_of(request).provider is not None
    return render(request, "signin.html", visitor=visitor, failed=False, company=company)


@router.post("/signin")
def signin(request: Request, token: Annotated[str, Form(max_length=LONGEST_TOKEN)]) -> Response:
    """Sign in."""
    _require_own_page(request)
    found = authenticator_of(request).sign_in(request, token.strip())
    if found is None:
        company = service_of(request).provider is not None
        return render(request, "signin.html", status=401, failed=True, company=company)
    answer = RedirectResponse(home(found.role), 303)
    begin_session(request, answer, token.strip())
    return answer


@router.post("/signout")
def signout(request: Request, visitor: Visitor) -> Response:
    """Sign out."""
    return end_session(request, signed_in=visitor is not None)


@router.get("/model")
def model(request: Request, visitor: Visitor) -> Response:
    """The public model and what it promises."""
    service = service_of(request)
    with service.database.reading() as connection:
        releases = ledger.entries(connection)
    return render(
        request,
        "model.html",
        visitor=visitor,
        model=service.public.model,
        releases=releases[::-1],
        **promise_values(service),
        **service.notices(),
    )


@router.get("/proof")
def proof(request: Request, visitor: Visitor) -> Response:
    """The theorem that the certificate names, and its proof."""
    theorem = service_of(request).model().release.certificate.theorem
    text = proof_page(theorem)
    return render(request, "proof.html", visitor=visitor, theorem=theorem, text=text)


@router.get("/api")
def api_page(request: Request, visitor: Visitor) -> Response:
    """The API, as its OpenAPI document describes it."""
    return render(request, "api.html", visitor=visitor, openapi=request.app.openapi())
