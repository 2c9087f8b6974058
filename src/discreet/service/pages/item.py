"""A page for every item: what it is, what we guess, what is like it, and what leaves if one rates.

Its address is sealed: no proxy or history can tell which item it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.service.pages.member import Member, Shown, points
from discreet.service.pages.rendering import render
from discreet.service.pages.undoing import undoable
from discreet.service.pages.visitors import SignedIn, Visitor
from discreet.service.problems import Problem
from discreet.service.public_cache import Model
from discreet.service.search import Card
from discreet.service.state import Service, service_of

router = APIRouter()
_SIMILAR = 12
_REASONS = 3
_LEAST_SHARE = 0.02
"""Smaller shares are no reason."""


@dataclass(frozen=True)
class Reason:
    """One of one's own ratings that speaks for an item."""

    shown: Shown
    share: float


@dataclass(frozen=True)
class Guess:
    """What the model thinks that one would give, and how far it may be off."""

    score: float
    error: float
    reasons: list[Reason]
    popularity: float


@router.get("/item/{name}")
def item_page(
    request: Request, visitor: Visitor, person: SignedIn, name: str, undo: str = ""
) -> Response:
    """Everything about one item."""
    service = service_of(request)
    member, card = _open(service, person, name)
    return render(
        request,
        "item.html",
        visitor=visitor,
        guess=_guess(member, card),
        similar=_similar(member, card),
        undo=undoable(service, person, undo),
        place="item",
        points=points(service),
        **panel_values(member, card),
        **service.notices(),
    )


@router.get("/item/{name}/level")
def level_part(
    request: Request,
    visitor: Visitor,
    person: SignedIn,
    name: str,
    place: Literal["home", "browse", "mine", "similar"] = "home",
) -> Response:
    """The small control of a card, opened: stars, levels and what they mean here."""
    service = service_of(request)
    member, card = _open(service, person, name)
    values = panel_values(member, card)
    return render(
        request, "level.html", visitor=visitor, place=place, points=points(service), **values
    )


def panel_values(member: Member, card: Card) -> dict[str, Any]:
    """What the panel shows in which one rates an item."""
    found = member.disclosure(card)
    return {
        "shown": member.shown(card),
        "found": found,
        "options": member.options(found),
        "hidden": card.id in member.hidden,
    }


def _open(service: Service, person: str, name: str) -> tuple[Member, Card]:
    item = service.seal.open("item", name, person)
    if item is None:
        raise Problem(404, "unknown_item", "there is no such page")
    return Member.of(service, person), service.card(item)


def _known(member: Member, model: Model) -> tuple[list[str], list[float]]:
    """Own ratings that the release knows of."""
    mine = [one for one in member.own if one.item in model.rows]
    return [one.item for one in mine], [one.rating for one in mine]


def _guess(member: Member, card: Card) -> Guess | None:
    """None before a release that knows the item."""
    model = member.service.public.model
    if model is None or card.id not in model.rows:
        return None
    items, ratings = _known(member, model)
    others = [(i, r) for i, r in zip(items, ratings, strict=True) if i != card.id]
    items, ratings = [i for i, _ in others], [r for _, r in others]
    predicted = model.release.predict(items, ratings, [card.id], with_error=True)
    why = model.release.explain(items, ratings, card.id)
    cards = member.service.public.catalogue.cards
    reasons = [
        Reason(member.shown(cards[item]), share)
        for item, share in why.because.select("item", "share").head(_REASONS).iter_rows()
        if share >= _LEAST_SHARE and item in cards
    ]
    score, error = float(predicted.ratings[0]), float(predicted.standard_errors[0])
    return Guess(score, error, reasons, why.popularity)


def _similar(member: Member, card: Card) -> list[Shown]:
    model = member.service.public.model
    if model is None or card.id not in model.rows:
        return []
    found = model.release.similar_items(card.id, _SIMILAR)["item"]
    cards = member.service.public.catalogue.cards
    return [member.shown(cards[item]) for item in found if item in cards]
