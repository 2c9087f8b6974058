"""A member's home: shelves, the most personal first."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.service.pages.member import Member
from discreet.service.pages.rendering import render
from discreet.service.pages.undoing import undoable
from discreet.service.pages.visitors import Settled, Visitor
from discreet.service.shelves import BEGIN
from discreet.service.state import service_of

router = APIRouter()


@router.get("/home")
def home_page(request: Request, visitor: Visitor, person: Settled, undo: str = "") -> Response:
    """What fits this person, and why."""
    service = service_of(request)
    member = Member.of(service, person)
    return render(
        request,
        "home.html",
        visitor=visitor,
        shelves=member.home(),
        count=len(member.own),
        begin=BEGIN,
        undo=undoable(service, person, undo),
        **service.notices(),
    )
