"""The operator's page: releases over time, what is spent, what privacy costs, publishing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from discreet.database import acts, ledger
from discreet.database.connection import now
from discreet.service import charts, schedule, uploads
from discreet.service.api.operator import note
from discreet.service.guard import UPLOAD
from discreet.service.pages.rendering import render
from discreet.service.pages.visitors import Operator
from discreet.service.problems import Problem
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
        totals = ledger.summary(connection)
        spread = ledger.spread(connection, service.declared.levels)
        counted = ledger.latest_counts(connection)
        assessments = ledger.assessed(connection)
        done = acts.latest(connection, _ACTS)
    next_at = service.next_release_at()
    assessed = assessments.get(releases[-1].number) if releases else None
    return render(
        request,
        "operator.html",
        visitor=visitor,
        releases=releases[::-1],
        totals=totals,
        counted=counted,
        publication=service.programs.publication,
        steps=STEPS,
        items=len(service.public.catalogue.cards),
        next_at=next_at,
        early=bool(releases and service.declared.publish_every_hours and now() < next_at),
        preview=service.programs.preview() if preview else None,
        timeline=charts.timeline(releases, counted),
        budget=charts.budget(spread),
        assessments=assessments,
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


@router.post("/items")
@router.post("/ratings")
async def look_at_table(request: Request, visitor: Operator) -> Response:
    """Look into a table that was chosen on the page: it is read once the operator is known."""
    request.scope[UPLOAD] = True
    what = request.url.path.rsplit("/", 1)[1]
    async with request.form(max_files=1, max_fields=5) as form:
        place = await _kept(form.get("table"))
    try:
        understood = await run_in_threadpool(uploads.understand, place, what)
    except Problem:
        place.unlink(missing_ok=True)
        raise
    return await run_in_threadpool(
        _understood, request, visitor, what, place, understood, understood.guessed
    )


def _understood(
    request: Request,
    visitor: Operator,
    what: str,
    place: Path,
    understood: uploads.Understood,
    chosen: Mapping[str, str],
) -> Response:
    """What an import would make of a table, with these columns; or why it cannot."""
    service, seen, refused = service_of(request), None, ""
    try:
        options = uploads.import_options(what, chosen, understood.separator or "")
        seen = service.programs.look_at(what, place, options=options)
    except Problem as problem:
        refused = str(problem.detail)
    return render(
        request,
        "upload.html",
        visitor=visitor,
        what=what,
        understood=understood,
        chosen=chosen,
        seen=seen,
        refused=refused[:1].upper() + refused[1:],
        needed=uploads.NEEDED[what],
        sealed=service.seal.close("upload", visitor.operator, str(place)),
    )


async def _kept(table: object) -> Path:
    """A table that was sent, as a file."""
    if not isinstance(table, UploadFile):
        raise Problem(422, "no_table", "choose a table first")
    suffix = "." + (table.filename or "").rsplit(".", 1)[-1].lower()
    if suffix not in uploads.TABLES:
        offered = ", ".join(sorted(uploads.TABLES))
        raise Problem(415, "unknown_format", f"choose a table: one of {offered}")
    place = uploads.keep_place(suffix)
    with place.open("wb") as file:
        while part := await table.read(1 << 20):
            file.write(part)
    return place


@router.post("/import")
async def import_table(request: Request, visitor: Operator) -> Response:
    """Import a table that was looked at, as the operator understands it."""
    service, form = service_of(request), await request.form(max_files=0, max_fields=20)
    told = {name: str(value) for name, value in form.items()}
    kept = service.seal.open("upload", told.get("sealed", ""), visitor.operator)
    what = told.get("what", "")
    if kept is None or what not in uploads.FIELDS or not Path(kept).exists():
        raise Problem(422, "no_table", "the table is no longer here: choose it again")
    chosen = {field: told.get(f"column-{field}", "") for field in uploads.FIELDS[what]}
    if told.get("action") == "look":
        understood = await run_in_threadpool(uploads.understand, Path(kept), what)
        return await run_in_threadpool(
            _understood, request, visitor, what, Path(kept), understood, chosen
        )
    options = uploads.import_options(what, chosen, told.get("separator", ""))
    if what == "ratings" and told.get("replace") == "true":
        options.append("--replace")
    started = service.programs.import_table
    result = await run_in_threadpool(started, what, Path(kept), options=options)
    Path(kept).unlink(missing_ok=True)
    done = f"{result['new']} new" if what == "items" else f"{result['rows']} rows"
    await run_in_threadpool(note, request, visitor, f"import {what}", done)
    return render(request, "imported.html", visitor=visitor, what=what, result=result)
