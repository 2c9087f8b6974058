"""Covers: cached for long, because their addresses never change what they show."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.service.access import authenticator_of
from discreet.service.images import ANYBODY, cover_of, item_of
from discreet.service.immutable import headers, unchanged
from discreet.service.problems import Problem
from discreet.service.state import service_of

router = APIRouter()
KEEP = "private, max-age=31536000, immutable"


@router.get("/covers/{name}")
def cover(request: Request, name: str) -> Response:
    """The cover at a sealed address, for the one for whom it was sealed: whoever has read it in a
    log would otherwise only have to look at it."""
    service = service_of(request)
    item = item_of(service.seal, name, ANYBODY) or _own(request, name)
    if item is None:
        raise Problem(404, "no_cover", "there is no such cover")
    made = cover_of(service.card(item), service.images)
    return unchanged(request, made.etag, KEEP) or Response(
        made.content, media_type=made.kind, headers=headers(made.etag, KEEP)
    )


def _own(request: Request, name: str) -> str | None:
    """A page has many, so that they do not count as requests of a member's."""
    visitor = authenticator_of(request).holder(request, None, cost=0.0)
    person = None if visitor is None else visitor.person
    return None if person is None else item_of(service_of(request).seal, name, person)
