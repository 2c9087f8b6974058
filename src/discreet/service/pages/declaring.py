"""What an operator can change later, on pages: items taken down, and what is declared anew."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from discreet.database import catalogue
from discreet.database.people import Bearer
from discreet.service.api import operator as api
from discreet.service.api.operator_shapes import ChangeIn, TakedownIn
from discreet.service.limits import LONGEST_SEARCH
from discreet.service.pages.rendering import render
from discreet.service.pages.visitors import Operator
from discreet.service.problems import Problem
from discreet.service.state import Service, service_of

router = APIRouter(prefix="/operator")
_FOUND = 20
"""Items that a search shows: who looks for one to take it down knows what it is called."""
ItemField = Annotated[str, Form(min_length=1, max_length=catalogue.LONGEST_ID)]


@router.get("/catalogue")
def catalogue_page(request: Request, visitor: Operator) -> Response:
    """Which items are down, and where to find one."""
    return _catalogue(request, visitor)


@router.post("/catalogue")
def find_item(
    request: Request,
    visitor: Operator,
    words: Annotated[str, Form(max_length=LONGEST_SEARCH)] = "",
) -> Response:
    """Look for an item by its title, or by its id."""
    return _catalogue(request, visitor, words=words)


@router.post("/takedown")
def take_down(
    request: Request, visitor: Operator, item: ItemField, back: Annotated[bool, Form()] = False
) -> Response:
    """Take an item down, or put it back, and say what that means."""
    title = _titles(service_of(request), [item])[0]
    done = api.take_down(request, visitor, TakedownIn(item=item, back=back))
    service_of(request).public.look_now()
    state = "back" if back else "down"
    said = f"{title} is {state}." if done.changed else f"{title} was {state} already."
    return _catalogue(request, visitor, said=f"{said} {done.means}")


def _catalogue(request: Request, visitor: Bearer, *, words: str = "", said: str = "") -> Response:
    service = service_of(request)
    known = service.public.catalogue
    found = service.public.search(words)[:_FOUND] if words.strip() else []
    if words in known.cards:
        found = [known.cards[words], *(card for card in found if card.id != words)]
    down = sorted(known.removed)
    return render(
        request,
        "catalogue.html",
        visitor=visitor,
        words=words,
        found=found,
        said=said,
        down=list(zip(down, _titles(service, down), strict=True)),
        means=api.TAKEN_DOWN,
    )


def _titles(service: Service, items: list[str]) -> list[str]:
    """What items are called, also those that are down."""
    with service.database.reading() as connection:
        return catalogue.titles(connection, items)


@router.get("/declaration")
def declaration_page(request: Request, visitor: Operator) -> Response:
    """What is declared, what was declared anew, and what can be."""
    return render(request, "declaration.html", visitor=visitor, refused="")


@router.post("/declaration")
def declare_anew(
    request: Request,
    visitor: Operator,
    levels: Annotated[str | None, Form(max_length=500)] = None,
    default_level: Annotated[float | None, Form()] = None,
    publish_every: Annotated[float | None, Form()] = None,
    publications: Annotated[int | None, Form()] = None,
    things: Annotated[str | None, Form(max_length=40)] = None,
    independent: Annotated[bool, Form()] = False,
) -> Response:
    """Declare what differs from what was declared."""
    declared = service_of(request).declared
    given: dict[str, Any] = {
        "default_epsilon": (default_level, declared.usual_level),
        "publish_every_hours": (publish_every, declared.publish_every_hours),
        "publications": (publications, declared.publications),
        "things": (things, declared.things),
    }
    try:
        given["levels"] = (None if levels is None else _numbers(levels), list(declared.levels))
        wanted = {n: now for n, (now, before) in given.items() if now not in (None, before)}
        if wanted.keys() - {"things"} and not independent:
            raise Problem(422, "no_word", "say that it does not depend on what people gave")
        if wanted:
            api.change_declaration(request, visitor, _change(wanted))
            service_of(request).public.look_now()
    except Problem as problem:
        said = str(problem.detail)
        refused = said[:1].upper() + said[1:]
        return render(request, "declaration.html", visitor=visitor, status=422, refused=refused)
    return RedirectResponse("/operator/declaration", 303)


def _change(wanted: dict[str, Any]) -> ChangeIn:
    try:
        return ChangeIn(**wanted)
    except ValidationError as error:
        first = error.errors()[0]
        raise Problem(422, "invalid", f"{first['loc'][0]}: {first['msg']}") from None


def _numbers(text: str) -> list[float]:
    """Levels as they were typed."""
    try:
        return sorted({float(part) for part in text.replace(";", ",").split(",") if part.strip()})
    except ValueError:
        raise Problem(
            422, "no_numbers", f"levels are numbers with commas between: got {text!r}"
        ) from None
