"""The operator's page: releases over time, what is spent, what privacy costs, publishing."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from discreet.database import acts, ledger
from discreet.database.connection import now
from discreet.service import charts, schedule
from discreet.service.pages.rendering import render
from discreet.service.pages.visitors import Operator
from discreet.service.state import service_of

router = APIRouter(prefix="/operator")
_ACTS = 20
"""Of what operators did, so many are shown; the API has more."""
STEPS = {
    "read": "reading the ratings",
    "publish": "preparing and recording",
    "tally": "adding up votes, with noise",
    "rounds": "finding hidden directions, with noise",
    "choice rounds": "finding who chooses what, with noise",
}
"""What a publication is doing, by the name that the program gives it."""


@router.get("")
def overview(request: Request, visitor: Operator, preview: bool = False) -> Response:
    """Everything at a glance: secret but for the list of releases."""
    service = service_of(request)
    with service.database.reading() as connection:
        releases = ledger.entries(connection)
        spent = service.ledger_overview.get(connection)
        assessments = ledger.assessed(connection)
        done = acts.latest(connection, _ACTS)
    next_at = service.next_release_at()
    assessed_release = max(assessments, default=0)  # the latest one's figures come after it
    assessed = assessments.get(assessed_release)
    return render(
        request,
        "operator.html",
        visitor=visitor,
        releases=releases[::-1],
        totals=spent.totals,
        counted=spent.counted,
        publication=service.programs.publication,
        steps=STEPS,
        items=len(service.public.catalogue.cards),
        next_at=next_at,
        early=bool(releases and service.declared.publish_every_hours and now() < next_at),
        preview=service.programs.preview() if preview else None,
        timeline=charts.timeline(releases, spent.counted),
        budget=charts.budget(spent.spread),
        assessments=assessments,
        assessed_release=assessed_release,
        assessed=assessed,
        picture=charts.picture(assessed) if assessed else None,
        hits=charts.hits(assessed) if assessed else None,
        acts=done,
    )


@router.post("/publish")
def publish(
    request: Request, visitor: Operator, off_schedule: Annotated[bool, Form()] = False
) -> Response:
    """Begin a publication."""
    schedule.publish(service_of(request), visitor.operator, off_schedule=off_schedule)
    return RedirectResponse("/operator", 303)


@router.get("/publication")
def publication(request: Request, visitor: Operator) -> Response:
    """How the publication is doing: a part of the page, asked for while one runs."""
    state = service_of(request).programs.publication
    return render(request, "publication.html", visitor=visitor, publication=state, steps=STEPS)
