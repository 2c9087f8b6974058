"""The operator's page: releases over time, what is spent, what privacy costs, publishing."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from discreet.database import ledger
from discreet.service import charts, programs
from discreet.service.guard import UPLOAD
from discreet.service.pages.rendering import render
from discreet.service.pages.visitors import Operator
from discreet.service.problems import Problem
from discreet.service.state import service_of

router = APIRouter(prefix="/operator")
TABLES = {".csv", ".tsv", ".parquet"}


@router.get("")
def overview(request: Request, visitor: Operator, preview: bool = False) -> Response:
    """Everything at a glance: secret but for the list of releases."""
    service = service_of(request)
    with service.database.reading() as connection:
        releases = ledger.entries(connection)
        totals = ledger.summary(connection)
        spread = ledger.spread(connection, service.declared.levels)
        counted = ledger.latest_counts(connection)
        assessed = ledger.assessment(connection, releases[-1].number) if releases else None
    return render(
        request,
        "operator.html",
        visitor=visitor,
        releases=releases[::-1],
        totals=totals,
        counted=counted,
        publication=service.programs.publication,
        items=len(service.public.catalogue.cards),
        next_at=service.next_release_at(),
        preview=service.programs.preview() if preview else None,
        timeline=charts.timeline(releases, counted),
        budget=charts.budget(spread),
        assessed=assessed,
        picture=charts.picture(assessed) if assessed else None,
    )


@router.post("/publish")
def publish(request: Request, visitor: Operator) -> Response:
    """Begin a publication."""
    del visitor
    service_of(request).programs.publish()
    return RedirectResponse("/operator", 303)


@router.get("/publication")
def publication(request: Request, visitor: Operator) -> Response:
    """How the publication is doing: a part of the page, asked for while one runs."""
    state = service_of(request).programs.publication
    return render(request, "publication.html", visitor=visitor, publication=state)


@router.post("/items")
@router.post("/ratings")
async def import_table(request: Request, visitor: Operator) -> Response:
    """Import a table that was chosen on the page: it is read once the operator is known."""
    request.scope[UPLOAD] = True
    form = await request.form(max_files=1, max_fields=5)
    table, replace = form.get("table"), form.get("replace") == "true"
    if not isinstance(table, UploadFile):
        raise Problem(422, "no_table", "choose a table first")
    what = request.url.path.rsplit("/", 1)[1]
    suffix = "." + (table.filename or "").rsplit(".", 1)[-1].lower()
    if suffix not in TABLES:
        raise Problem(415, "unknown_format", f"choose a table: one of {', '.join(sorted(TABLES))}")
    with programs.spooled(suffix) as file:
        while part := await table.read(1 << 20):
            file.write(part)
        file.flush()
        started = service_of(request).programs.import_table
        result = await run_in_threadpool(started, what, Path(file.name), replace=replace)
    return render(request, "imported.html", visitor=visitor, what=what, result=result)
