"""My privacy: what has left and what can, the usual level, export, a new token, erasure."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from discreet.database.people import Bearer
from discreet.service import charts, plain_language
from discreet.service.access import authenticator_of
from discreet.service.disclosure import Disclosure, State
from discreet.service.limits import HEAVY
from discreet.service.pages.rendering import render
from discreet.service.pages.visitors import (
    SignedIn,
    Visitor,
    begin_session,
    forget_session,
    require_fresh,
)
from discreet.service.problems import Problem
from discreet.service.state import Service, service_of
from discreet.service.words import words_of

router = APIRouter()


@router.get("/privacy")
async def privacy_page(request: Request, visitor: Visitor, person: SignedIn) -> Response:
    """What leaves this server about me."""
    assert visitor is not None
    charge = authenticator_of(request).charge
    await run_in_threadpool(charge, request, visitor, HEAVY - 1)  # one was counted
    return await service_of(request).in_turn(lambda: _privacy(request, visitor, person))


def _privacy(request: Request, visitor: Bearer, person: str) -> Response:
    service = service_of(request)
    record = service.record(person)
    return render(
        request,
        "privacy.html",
        visitor=visitor,
        person=person,
        record=record,
        titles={found.item: service.title(found.item) for found in record.ratings},
        addresses={
            found.item: f"/item/{service.seal.close('item', person, found.item)}"
            for found in record.ratings
            if found.item in service.public.catalogue.cards
        },
        tones={
            found.item: sum(one < (found.epsilon or 0) for one in service.declared.levels)
            for found in record.ratings
        },
        rated={own_rating.item: own_rating for own_rating in record.own},
        disclosures=sorted(record.ratings, key=_order),
        model=service.public.model,
        names={level.epsilon: level.name for level in service.levels()},
        about_all=plain_language.about_all(record.spent, words_of(service.declared)),
        **level_values(service, service.usual_level(person)),
        **service.notices(),
    )


def level_values(service: Service, level: float) -> dict[str, Any]:
    """What a page needs to let somebody choose the level of all ratings to come."""
    return {
        "levels": service.levels(),
        "level": level,
        "tone": sum(one < level for one in service.declared.levels),
        **promise_values(service),
    }


def promise_values(service: Service) -> dict[str, Any]:
    """What all levels promise, in a figure and in words."""
    return {
        "certainty": charts.certainty(service.levels(), service.declared.delta),
        "promised": service.ground != plain_language.Ground.SEEDED,
        "guessing": plain_language.guessing(service.declared, service.ground),
        "adding": plain_language.adding_up(service.declared, service.ground),
    }


def _order(found: Disclosure) -> tuple[int, float]:
    return list(State).index(found.state), -found.spent.epsilon


@router.get("/level")
def level_page(request: Request, visitor: Visitor, person: SignedIn) -> Response:
    """The level of all that follows, asked of everybody new before anything else."""
    service = service_of(request)
    values = level_values(service, service.usual_level(person))
    return render(request, "first.html", visitor=visitor, **values, **service.notices())


@router.post("/level")
def choose_level(
    request: Request,
    person: SignedIn,
    level: Annotated[float, Form(allow_inf_nan=False)],
    place: Annotated[str, Form(max_length=10)] = "home",
) -> Response:
    """The level of all ratings to come, of which no other is said."""
    service_of(request).choose_level(person, level)
    return RedirectResponse("/privacy" if place == "privacy" else "/home", 303)


@router.post("/token")
def new_token(request: Request, visitor: Visitor, person: SignedIn) -> Response:
    """A new token in place of all others; this browser stays signed in."""
    require_fresh(visitor)
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
    forget_session(request, answer)
    return answer
