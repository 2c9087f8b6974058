"""The operator's: import, preview, publish, the ledger, tokens for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool

from discreet.database import ledger, people
from discreet.database.people import Role
from discreet.service import programs
from discreet.service.access import require_operator
from discreet.service.api import shapes
from discreet.service.api.public import release_out
from discreet.service.guard import UPLOAD
from discreet.service.problems import Problem, described, refusing
from discreet.service.state import service_of

router = APIRouter(
    prefix="/api/operator",
    tags=["the operator's"],
    dependencies=[Depends(require_operator)],
    responses=described(400, 401, 403, 422, 429),
)
SUFFIXES = {
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/vnd.apache.parquet": ".parquet",
}
_TABLES: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {kind: {"schema": {"type": "string"}} for kind in SUFFIXES},
    }
}
_REFUSALS = described(409, 413, 415)


async def import_body(request: Request, what: str, **options: Any) -> dict[str, Any]:
    """Import the table that is the request's body."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in SUFFIXES:
        offered = ", ".join(SUFFIXES)
        raise Problem(415, "unknown_format", f"send a table as one of {offered}")
    request.scope[UPLOAD] = True
    with programs.spooled(SUFFIXES[kind]) as file:
        async for part in request.stream():
            await run_in_threadpool(file.write, part)
        file.flush()
        started = service_of(request).programs.import_table
        return await run_in_threadpool(started, what, Path(file.name), **options)


@router.post("/items", openapi_extra=_TABLES, responses=_REFUSALS)
async def import_items(
    request: Request, public_column: Annotated[list[str] | None, Query()] = None
) -> shapes.ItemsImported:
    """Add items to the public catalogue: a table with item, title, year, genres, ... A column that
    looks derived from ratings is left out, unless `public_column` vouches that it is public."""
    found = await import_body(request, "items", public_columns=public_column or ())
    return shapes.ItemsImported(**found)


@router.post("/ratings", openapi_extra=_TABLES, responses=_REFUSALS)
async def import_ratings(
    request: Request, replace: Annotated[bool, Query()] = False
) -> dict[str, int]:
    """Import ratings: a table with user, item, rating and epsilon. Ratings that are there stay,
    unless `replace`."""
    return await import_body(request, "ratings", replace=replace)


@router.post("/people", status_code=201)
def make_token(request: Request, body: shapes.PersonIn) -> shapes.NewPerson:
    """A token for a person, who is created if need be; shown this once."""
    with refusing(), service_of(request).database.writing() as connection:
        people.new_person(connection, body.person)
        token = people.issue(connection, Role.PERSON, body.person)
    return shapes.NewPerson(person=body.person, token=token)


@router.get("/preview", responses=described(409))
def preview(request: Request) -> shapes.PreviewOut:
    """What a publication would spend if it began now."""
    return shapes.PreviewOut(**service_of(request).programs.preview())


@router.post("/releases", status_code=202, responses=described(409))
def publish(request: Request) -> shapes.PublicationOut:
    """Begin a publication; it runs beside the service."""
    return shapes.PublicationOut(**vars(service_of(request).programs.publish()))


@router.get("/publication")
def read_publication(request: Request) -> shapes.PublicationOut:
    """How the latest publication is doing."""
    return shapes.PublicationOut(**vars(service_of(request).programs.publication))


@router.get("/ledger")
def read_ledger(request: Request) -> shapes.LedgerOut:
    """All releases, and what was spent."""
    with service_of(request).database.reading() as connection:
        listed = [release_out(entry) for entry in ledger.entries(connection)]
        return shapes.LedgerOut(releases=listed, **ledger.summary(connection))
