"""The operator's: import, preview, publish, the ledger, tokens for people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from discreet.database import acts, catalogue, ledger, people
from discreet.database.people import Bearer, Role
from discreet.database.redeclaring import declare_anew
from discreet.errors import DataError
from discreet.service import programs, schedule
from discreet.service.access import Operator, require_operator
from discreet.service.api import operator_shapes as o
from discreet.service.api import shapes
from discreet.service.api.public import read_declaration, release_out
from discreet.service.guard import UPLOAD
from discreet.service.problems import Problem, described, refusing
from discreet.service.state import service_of

router = APIRouter(
    prefix="/api/operator",
    tags=["the operator's"],
    dependencies=[Depends(require_operator)],
    responses=described(400, 401, 403, 422, 429),
)
MOST_ACTS = 500
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


async def import_body(request: Request, what: str, options: list[str]) -> dict[str, Any]:
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
        return await run_in_threadpool(started, what, Path(file.name), options=options)


Printable = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=200)]


@dataclass(frozen=True)
class Reading:
    """How a table is to be read."""

    columns: Annotated[
        list[Printable] | None,
        Query(description="A column by another name: user=customer_id. May be repeated."),
    ] = None
    separator: Annotated[
        Printable | None, Query(max_length=4, description="Of a text table: the delimiter.")
    ] = None
    encoding: Annotated[
        str, Query(pattern=r"^[A-Za-z0-9_-]{1,20}$", description="Of a text table.")
    ] = "utf-8"

    @property
    def options(self) -> list[str]:
        """As the command takes them."""
        words = [f"--columns={one}" for one in self.columns or ()]
        if self.separator is not None:
            words.append(f"--separator={self.separator}")
        return [*words, f"--encoding={self.encoding}"]


HowToRead = Annotated[Reading, Depends()]


@router.post("/items", openapi_extra=_TABLES, responses=_REFUSALS)
async def import_items(
    request: Request,
    operator: Operator,
    how: HowToRead,
    public_column: Annotated[list[Printable] | None, Query()] = None,
) -> o.ItemsImported:
    """Add items to the public catalogue: a table with item, title, year, genres, ... A column that
    looks derived from ratings is left out, unless `public_column` vouches that it is public."""
    vouched = [f"--public-column={name}" for name in public_column or ()]
    found = await import_body(request, "items", [*how.options, *vouched])
    await run_in_threadpool(note, request, operator, "import items", f"{found['new']} new")
    return o.ItemsImported(**found)


@router.post("/ratings", openapi_extra=_TABLES, responses=_REFUSALS)
async def import_ratings(
    request: Request,
    operator: Operator,
    how: HowToRead,
    replace: Annotated[bool, Query()] = False,
    keep: Annotated[
        Literal["last"] | None, Query(description="Of several ratings of one pair, the latest.")
    ] = None,
) -> dict[str, int]:
    """Import ratings: a table with user, item, rating and epsilon. Ratings that are there stay,
    unless `replace`."""
    options = how.options + ["--replace"] * replace + ([f"--keep={keep}"] if keep else [])
    found = await import_body(request, "ratings", options)
    done = f"{found['rows']} rows" + (", replacing" if replace else "")
    await run_in_threadpool(note, request, operator, "import ratings", done)
    return found


@router.post("/events", openapi_extra=_TABLES, responses=_REFUSALS)
async def import_events(
    request: Request, operator: Operator, how: HowToRead, replace: Annotated[bool, Query()] = False
) -> dict[str, int]:
    """Where a service holds events: import a table with user, item, weight and epsilon, by the
    declared rules. Records that are there stay, unless `replace`."""
    found = await import_body(request, "events", how.options + ["--replace"] * replace)
    done = f"{found['rows']} rows" + (", replacing" if replace else "")
    await run_in_threadpool(note, request, operator, "import events", done)
    return found


def note(request: Request, operator: Bearer, act: str, detail: str = "") -> None:
    """Write down what an operator has done."""
    with service_of(request).database.writing() as connection:
        acts.note(connection, operator.operator, act, detail)


@router.post("/people", status_code=201)
def make_token(request: Request, operator: Operator, body: shapes.PersonIn) -> shapes.NewPerson:
    """A token for a person, who is created if need be; shown this once. The person sees in their
    export that an operator made it."""
    with refusing(), service_of(request).database.writing() as connection:
        people.new_person(connection, body.person)
        token = people.issue(connection, Role.PERSON, body.person, name=operator.operator)
        acts.note(connection, operator.operator, "make a token", person=body.person)
    return shapes.NewPerson(person=body.person, token=token)


TAKEN_DOWN = (
    "From now on it is in no list, on no page and in no search, and nobody can rate it. No later "
    "release counts its ratings or tells more of it than its id. What was released before has it, "
    "with its title, and cannot be recalled: whoever has taken a release along keeps it. Ratings "
    "of it stay with their owners, who see in their export what has left."
)
PUT_BACK = "From now on it is listed, shown and rated again, and later releases count it again."


@router.post("/takedown", responses=described(404))
def take_down(request: Request, operator: Operator, body: o.TakedownIn) -> o.TakedownOut:
    """Take an item down, or put it back; later certificates tell how many are down."""
    service = service_of(request)
    with service.database.writing() as connection:
        try:
            changed = catalogue.take_down(connection, body.item, back=body.back)
        except DataError:
            raise Problem(404, "unknown_item", "no such item in the catalogue") from None
        if changed:
            act = "put an item back" if body.back else "take an item down"
            acts.note(connection, operator.operator, act, body.item)
    service.public.look_now()
    return o.TakedownOut(changed=changed, means=PUT_BACK if body.back else TAKEN_DOWN)


@router.post("/declaration")
def change_declaration(
    request: Request, operator: Operator, body: o.ChangeIn
) -> shapes.DeclarationOut:
    """Declare levels, schedule or names anew. Ratings keep their levels; no level above the largest
    of the first declaration can be offered; every later certificate names what was changed, and
    rests on your word that it did not depend on the ratings."""
    names = {"default_epsilon": "default_level"}
    given = body.model_dump(exclude_none=True)
    service = service_of(request)
    with refusing():
        declare_anew(
            service.database,
            {names.get(name, name): value for name, value in given.items()},
            operator.operator,
        )
    service.public.look_now()
    return read_declaration(request)


@router.get("/acts")
def list_acts(request: Request) -> list[shapes.ActOut]:
    """What operators did, the latest first."""
    with service_of(request).database.reading() as connection:
        found = acts.latest(connection, MOST_ACTS)
    return [shapes.ActOut(**act._asdict()) for act in found]


@router.get("/preview", responses=described(409))
def preview(request: Request) -> o.PreviewOut:
    """What a publication would spend if it began now."""
    return o.PreviewOut(**service_of(request).programs.preview())


@router.post("/releases", status_code=202, responses=described(409))
def publish(
    request: Request,
    operator: Operator,
    off_schedule: Annotated[
        bool, Query(description="Also where the declared schedule wants none now.")
    ] = False,
) -> o.PublicationOut:
    """Begin a publication; it runs beside the service."""
    begun = schedule.publish(service_of(request), operator.operator, off_schedule=off_schedule)
    return o.PublicationOut.model_validate(begun, from_attributes=True)


@router.get("/publication")
def read_publication(request: Request) -> o.PublicationOut:
    """How the latest publication is doing."""
    found = service_of(request).programs.publication
    return o.PublicationOut.model_validate(found, from_attributes=True)


@router.get("/ledger")
def read_ledger(request: Request) -> o.LedgerOut:
    """All releases, and what was spent."""
    service = service_of(request)
    with service.database.reading() as connection:
        listed = [release_out(entry) for entry in ledger.entries(connection)]
        totals = service.ledger_overview.get(connection).totals
    return o.LedgerOut(releases=listed, **totals)
