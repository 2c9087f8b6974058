"""One tap: rate or choose, change the level, take back, not interested, undo.

Every tap is a form that works by itself; our script sends the same form and gets back only the
parts that changed.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from discreet.service.pages import undoing
from discreet.service.pages.item import panel_values
from discreet.service.pages.member import Member
from discreet.service.pages.rendering import render
from discreet.service.pages.tapping import Action, Tap
from discreet.service.pages.undoing import Undo
from discreet.service.pages.visitors import SignedIn, Visitor
from discreet.service.search import Card
from discreet.service.state import Service, service_of
from discreet.service.words import words_of

router = APIRouter()
PLACES = {"home": "/home", "browse": "/browse", "mine": "/mine", "hidden": "/mine/hidden"}
"""Where a form without a script goes back to; "item" is the item's own page."""
ItemField = Annotated[str, Form(max_length=500)]
PlaceField = Annotated[str, Form(max_length=10)]


@router.post("/rate")
def rate(
    request: Request,
    visitor: Visitor,
    person: SignedIn,
    item: ItemField,
    rating: Annotated[float | None, Form(allow_inf_nan=False)] = None,
    weight: Annotated[float | None, Form(ge=0, allow_inf_nan=False)] = None,
    epsilon: Annotated[float | None, Form(allow_inf_nan=False)] = None,
    action: Annotated[Action, Form()] = "save",
    place: PlaceField = "item",
) -> Response:
    """Give, change or take back a rating or a choice, or give it another level."""
    service = service_of(request)
    words = words_of(service.declared)
    if action == "delete" and item in service.public.catalogue.removed:
        service.take_back(person, item)  # it has no page any more: there is nowhere else to go
        return RedirectResponse("/privacy", 303)
    card = service.card(item)
    change = Tap(action, rating, weight, epsilon).write(service, person, item)
    if change.after is None:
        said = f"Your {words.one} of {card.title} is deleted."
    else:
        level = Member.of(service, person).level_name(change.after.epsilon).lower()
        value = "" if service.declared.events else f", {change.after.rating:g}"
        said = f"Saved: {card.title}{value}, {level}."
    undo = undoing.remember(service, person, item, change, said)
    return _answer(request, visitor, person, card, place, undo)


@router.post("/hide")
def hide(
    request: Request,
    visitor: Visitor,
    person: SignedIn,
    item: ItemField,
    hidden: Annotated[bool, Form()] = True,
    place: PlaceField = "item",
) -> Response:
    """Not interested: out of one's lists, or in again."""
    service = service_of(request)
    card = service.card(item)
    was = item in service.hidden(person)
    service.hide(person, item, hidden=hidden)
    said = f"{card.title} is {'out of' if hidden else 'in'} your lists{'' if hidden else ' again'}."
    undo = undoing.remember_hidden(service, person, item, said, was=was)
    return _answer(request, visitor, person, card, place, undo)


@router.post("/undo")
def undo(
    request: Request,
    visitor: Visitor,
    person: SignedIn,
    sealed: Annotated[str, Form(max_length=4000)],
    place: PlaceField = "item",
) -> Response:
    """Take the latest tap back."""
    service = service_of(request)
    card = service.card(undoing.undo(service, person, sealed))
    return _answer(request, visitor, person, card, place, None)


def _answer(
    request: Request,
    visitor: Visitor,
    person: str,
    card: Card,
    place: str,
    undo: Undo | None,
) -> Response:
    """Back to where the tap was; for our script the parts that changed."""
    service = service_of(request)
    if request.headers.get("x-part") != "yes":
        back = PLACES.get(place)
        if back is None:
            back = f"/item/{service.seal.close('item', person, card.id)}"
        return RedirectResponse(back if undo is None else f"{back}?undo={undo.sealed}", 303)
    return render(
        request, "part.html", visitor=visitor, **_parts(service, person, card, place, undo)
    )


def _parts(
    service: Service, person: str, card: Card, place: str, undo: Undo | None
) -> dict[str, Any]:
    member = Member.of(service, person)
    values: dict[str, Any] = {"place": place, "undo": undo}
    if place == "item":
        return values | panel_values(member, card)
    values["shown"] = member.shown(card)
    values["count"] = len(member.own)
    values["for_you"] = member.for_you() if place == "home" else None
    return values
