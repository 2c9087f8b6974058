"""The operator's page: releases over time, what is spent, what privacy costs, publishing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form, Request, UploadFile
from fastapi.responses import RedirectResponse, Response

from discreet.database import ledger
from discreet.service import charts, programs
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
        request, "operator.html", visitor=visitor, releases=releases[::-1], totals=totals,
        counted=counted, publication=service.programs.publication,
        items=len(service.shelves.catalogue.cards),
        preview=service.programs.preview() if preview else None,
        timeline=charts.timeline(releases, counted), budget=charts.budget(spread),
        assessed=assessed, picture=charts.picture(assessed) if assessed else None,
    )  # fmt: skip


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
def import_table(
    request: Request,
    visitor: Operator,
    table: UploadFile,
    replace: Annotated[bool, Form()] = False,
) -> Response:
    """Import a table that was chosen on the page."""
    what = request.url.path.rsplit("/", 1)[1]
    suffix = "." + (table.filename or "").rsplit(".", 1)[-1].lower()
    if suffix not in TABLES:
        raise Problem(415, "unknown_format", f"choose a table: one of {', '.join(sorted(TABLES))}")
    with programs.spooled(suffix) as file:
        while part := table.file.read(1 << 20):
            file.write(part)
        file.flush()
        result = service_of(request).programs.import_table(what, Path(file.name), replace=replace)
    return render(request, "imported.html", visitor=visitor, what=what, result=result)
