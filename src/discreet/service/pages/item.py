"""A page for every item: what it is, what we guess, what is like it, and what leaves if one rates.

Its address is sealed: no proxy or history can tell which item it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.service import plain_language
from discreet.service.pages.member import Member, Shown
from discreet.service.pages.rendering import render
from discreet.service.pages.undoing import undoable
from discreet.service.pages.visitors import Settled, SignedIn, Visitor
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
    """What the model thinks that one would give, and how far it may be off; of events, how likely
    it is that one chooses it."""

    reasons: list[Reason]
    popularity: float
    score: float = 0.0
    error: float = 0.0
    place: int = 0
    """In one's whole list, the likeliest first; 0 where people rate."""
    listed: int = 0


@router.get("/item/{name}")
def item_page(
    request: Request, visitor: Visitor, person: Settled, name: str, undo: str = ""
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
        **panel_values(member, card),
        **service.notices(),
    )


@router.get("/item/{name}/level")
def level_part(
    request: Request,
    visitor: Visitor,
    person: SignedIn,
    name: str,
    place: Literal["home", "browse", "mine", "hidden", "similar"] = "home",
) -> Response:
    """The small control of a card, opened: stars, levels and what they mean here."""
    service = service_of(request)
    member, card = _open(service, person, name)
    values = panel_values(member, card)
    return render(request, "level.html", visitor=visitor, place=place, **values)


def panel_values(member: Member, card: Card) -> dict[str, Any]:
    """What the panel shows in which one rates an item."""
    found = member.disclosure(card)
    return {
        "shown": member.shown(card),
        "found": found,
        "options": member.options(found),
        "adding": plain_language.adding_up(member.service.declared, member.service.ground),
    }


def _open(service: Service, person: str, name: str) -> tuple[Member, Card]:
    item = service.seal.open("item", name, person)
    if item is None:
        raise Problem(
            404,
            "unknown_item",
            "this address leads to no item: everybody has addresses of their own, so look for the "
            "title instead",
        )
    return Member.of(service, person), service.card(item)


def _others(member: Member, model: Model, card: Card) -> tuple[list[str], list[float], list[int]]:
    """Own ratings, or events, that the release knows of, but for this one; and when they were."""
    mine = [one for one in member.own if one.item in model.rows and one.item != card.id]
    return (
        [one.item for one in mine],
        [one.rating for one in mine],
        [one.changed_at for one in mine],
    )


def _guess(member: Member, card: Card) -> Guess | None:
    """None before a release that knows the item."""
    model = member.service.public.model
    if model is None or card.id not in model.rows:
        return None
    items, ratings, times = _others(member, model, card)
    why = model.release.explain(items, ratings, card.id, times=times)
    cards = member.service.public.catalogue.cards
    reasons = [
        Reason(member.shown(cards[item]), share)
        for item, share in why.because.select("item", "share").head(_REASONS).iter_rows()
        if share >= _LEAST_SHARE and item in cards
    ]
    if model.release.events:
        place, listed = _place(member, model, card)
        return Guess(reasons, why.popularity, place=place, listed=listed)
    predicted = model.release.predict(items, ratings, [card.id], with_error=True)
    score, error = float(predicted.ratings[0]), float(predicted.standard_errors[0])
    return Guess(reasons, why.popularity, score=score, error=error)


def _place(member: Member, model: Model, card: Card) -> tuple[int, int]:
    """Which place it has, from one's other choices, among all that one has not chosen."""
    items, values, times = _others(member, model, card)
    without = list(member.service.public.catalogue.removed) or None
    listed = model.release.recommend(items, values, len(model.ids), without=without, times=times)
    found = listed["item"].index_of(card.id)
    return 0 if found is None else found + 1, listed.height


def _similar(member: Member, card: Card) -> list[Shown]:
    model = member.service.public.model
    if model is None or card.id not in model.rows:
        return []
    found = model.release.similar_items(card.id, _SIMILAR)["item"]
    cards = member.service.public.catalogue.cards
    return [member.shown(cards[item]) for item in found if item in cards]
