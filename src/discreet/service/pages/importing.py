"""Importing on the operator's page: a table is looked at before it counts, and read as they say."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from discreet.database.people import Bearer
from discreet.service import uploads
from discreet.service.api.operator import note
from discreet.service.guard import UPLOAD
from discreet.service.pages.rendering import render
from discreet.service.pages.visitors import Operator
from discreet.service.problems import Problem
from discreet.service.state import Service, service_of
from discreet.service.uploads import Reading, Understood

router = APIRouter(prefix="/operator")


@router.post("/items")
@router.post("/ratings")
@router.post("/events")
async def look_at_table(request: Request, visitor: Operator) -> Response:
    """Look into a table that was chosen on the page: it is read once the operator is known."""
    request.scope[UPLOAD] = True
    what = request.url.path.rsplit("/", 1)[1]
    async with request.form(max_files=1, max_fields=5) as form:
        place = await _kept(form.get("table"))
    rules = service_of(request).declared.rules
    try:
        understood = await run_in_threadpool(
            uploads.understand, place, uploads.fields_of(what, rules)
        )
    except Problem:
        place.unlink(missing_ok=True)
        raise
    reading = Reading(
        what,
        understood.guessed,
        uploads.needed(what, rules),
        understood.separator,
        understood.encoding or uploads.UTF8,
    )
    return await run_in_threadpool(_shown, request, visitor, place, understood, reading)


@router.post("/import")
async def import_table(request: Request, visitor: Operator) -> Response:
    """Import a table that was looked at, as the operator understands it."""
    service, form = service_of(request), await request.form(max_files=0, max_fields=200)
    place, reading = _asked(service, visitor, form)
    if form.get("action") == "look":
        fields = uploads.fields_of(reading.what, service.declared.rules)
        encoding = "" if place.suffix == ".parquet" else reading.encoding
        understood = await run_in_threadpool(uploads.understand, place, fields, encoding)
        return await run_in_threadpool(_shown, request, visitor, place, understood, reading)
    options = reading.options
    if reading.what != "items" and form.get("replace") == "true":
        options.append("--replace")
    started = service.programs.import_table
    result = await run_in_threadpool(started, reading.what, place, options=options)
    place.unlink(missing_ok=True)
    done = f"{result['new']} new" if reading.what == "items" else f"{result['rows']} rows"
    await run_in_threadpool(note, request, visitor, f"import {reading.what}", done)
    return render(request, "imported.html", visitor=visitor, what=reading.what, result=result)


def _asked(service: Service, visitor: Bearer, form: FormData) -> tuple[Path, Reading]:
    """The table that was kept, and how it is to be read; a problem if there is none."""
    told = {name: str(value) for name, value in form.items()}
    kept = service.seal.open("upload", told.get("sealed", ""), visitor.operator)
    what, rules = told.get("what", ""), service.declared.rules
    if kept is None or what not in uploads.FIELDS or not Path(kept).exists():
        raise Problem(422, "no_table", "the table is no longer here: choose it again")
    encoding = told.get("encoding", uploads.UTF8)
    if encoding not in uploads.ENCODINGS:
        raise Problem(422, "no_encoding", "choose one of the encodings that are offered")
    fields = uploads.fields_of(what, rules)
    return Path(kept), Reading(
        what,
        {field: told.get(f"column-{field}", "") for field in fields},
        uploads.needed(what, rules),
        told.get("separator", ""),
        encoding,
        keep_last=what == "ratings" and told.get("keep") == "last",
        vouched=tuple(map(str, form.getlist("vouched"))) if what == "items" else (),
    )


def _shown(
    request: Request, visitor: Bearer, place: Path, understood: Understood, reading: Reading
) -> Response:
    """What an import would make of a table that is read so; or why it cannot."""
    service, seen, refused = service_of(request), None, ""
    try:
        seen = service.programs.look_at(reading.what, place, options=reading.options)
    except Problem as problem:
        refused = str(problem.detail)
    return render(
        request,
        "upload.html",
        visitor=visitor,
        what=reading.what,
        understood=understood,
        reading=reading,
        encodings=uploads.ENCODINGS,
        doubtful=[
            *reading.vouched,
            *(seen["left_out"] if seen and reading.what == "items" else ()),
        ],
        seen=seen,
        refused=refused[:1].upper() + refused[1:],
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
