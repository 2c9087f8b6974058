"""A company's own front end: ratings, events and lists of many people, with a token of its own.

It speaks for its people: what it says that somebody rated, at which level, counts as theirs. Names
are in bodies, never in URLs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response
from pydantic import BaseModel, ValidationError
from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool

from discreet.database import acts, answered, own_ratings, people, tastes
from discreet.database.people import Bearer
from discreet.errors import DataError
from discreet.service.access import Credentials, authenticator_of, require_front_end
from discreet.service.api import bulk, shapes
from discreet.service.api.person import everything, listed_out
from discreet.service.guard import BULK
from discreet.service.limits import MOST_ROWS, ROWS_A_REQUEST
from discreet.service.problems import Problem, described
from discreet.service.state import Service, service_of
from discreet.service.waiting import at_once

router = APIRouter(
    prefix="/api/service",
    tags=["a front end's"],
    responses=described(400, 401, 403, 413, 422, 429, 503),
)
Body = TypeVar("Body", bound=BaseModel)
Put = Callable[[Connection], object]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,200}$",
        description="Of your own making, one for every request: sent again within a day, it is "
        "answered again and not done again.",
    ),
]


@dataclass(frozen=True)
class FrontEndRequest:
    """One request of a front end that is known."""

    request: Request
    bearer: Bearer

    async def read(self, shape: type[Body]) -> tuple[Body, bytes]:
        """What was sent; every so many rows count as another request."""
        sent = await self.request.body()
        try:
            body = shape.model_validate_json(sent)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "body"
            raise Problem(422, "invalid", f"{place}: {first['msg']}") from None
        rows = len(getattr(body, "rows", ()) or getattr(body, "people", ()))
        authenticator = authenticator_of(self.request)
        cost = rows / ROWS_A_REQUEST
        await run_in_threadpool(
            authenticator.limit, authenticator.front_ends, self.bearer.name, cost
        )
        return body, sent

    async def write(
        self, key: str | None, sent: bytes, work: Callable[[Connection], dict[str, Any]]
    ) -> bulk.WrittenOut:
        """Write together with others, once for every key."""
        who = self.bearer.name
        request = self.request.url.path.encode() + b"\n" + sent
        service = service_of(self.request)
        once = service.writer.submit(
            lambda connection: answered.once(connection, who, key, request, work)
        )
        try:
            return bulk.WrittenOut(**await service.arrivals.of(once))
        except DataError as error:
            raise Problem(422, "refused", str(error)) from None


async def front_end(request: Request, credentials: Credentials) -> FrontEndRequest:
    """Who asks, before anything that they sent is read."""
    bearer = await run_in_threadpool(require_front_end, request, credentials)
    request.scope[BULK] = True
    return FrontEndRequest(request, bearer)


Sender = Annotated[FrontEndRequest, Depends(front_end)]


def _sent(schema: dict[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


def _rows(row: type[BaseModel]) -> dict[str, Any]:
    """For the OpenAPI document: the body is read by hand, after the token."""
    many = {"type": "array", "items": row.model_json_schema(), "minItems": 1, "maxItems": MOST_ROWS}
    return _sent(
        {
            "type": "object",
            "properties": {"rows": many},
            "required": ["rows"],
            "additionalProperties": False,
        }
    )


async def _prepared(rows: list[Any], to_put: Callable[[Any], Put]) -> list[tuple[str, Put]]:
    """What writes each row, with its person; a problem that names the first that cannot be."""
    return await at_once(lambda: _all_prepared(rows, to_put))


def _all_prepared(rows: list[Any], to_put: Callable[[Any], Put]) -> list[tuple[str, Put]]:
    found = []
    for place, row in enumerate(rows):
        try:
            found.append((row.person, to_put(row)))
        except Problem as problem:
            said = f"rows.{place}: {problem.detail}; nothing was written"
            raise Problem(422, problem.code, said) from None
    return found


def _put_all(puts: list[tuple[str, Put]]) -> Callable[[Connection], dict[str, Any]]:
    def write(connection: Connection) -> dict[str, Any]:
        here = people.welcome(connection, {person for person, _ in puts})
        wanted = [put for person, put in puts if person in here]
        for put in wanted:
            put(connection)
        return {"written": len(wanted), "skipped": len(puts) - len(wanted)}

    return write


@router.post("/ratings", openapi_extra=_rows(bulk.RatingRow), responses=described(409))
async def put_ratings(sender: Sender, key: Key = None) -> bulk.WrittenOut:
    """Give or change ratings of many people, all or none; people who are new are created. Without
    an epsilon a rating keeps its level, or gets its owner's usual one."""
    service = service_of(sender.request)
    body, sent = await sender.read(bulk.RatingsIn)
    puts = await _prepared(
        body.rows, lambda row: service.giving.to_rate(row.person, row.item, row.rating, row.epsilon)
    )
    return await sender.write(key, sent, _put_all(puts))


@router.post("/events", openapi_extra=_rows(bulk.EventRow), responses=described(409))
async def add_events(sender: Sender, key: Key = None) -> bulk.WrittenOut:
    """Add events of many people, all or none, by the declared rules. Send a key: an event that is
    sent twice without one may count twice."""
    service = service_of(sender.request)
    body, sent = await sender.read(bulk.EventsIn)
    puts = await _prepared(
        body.rows,
        lambda row: service.giving.to_add_event(row.person, row.item, row.weight, row.epsilon),
    )
    return await sender.write(key, sent, _put_all(puts))


@router.post("/ratings/delete", openapi_extra=_rows(bulk.PairRow))
async def delete_ratings(sender: Sender, key: Key = None) -> bulk.WrittenOut:
    """Delete ratings, or events, that their owners take back."""
    body, sent = await sender.read(bulk.PairsIn)

    def delete(connection: Connection) -> dict[str, Any]:
        done = [own_ratings.remove(connection, row.person, row.item) for row in body.rows]
        return {"written": sum(done), "skipped": len(done) - sum(done)}

    return await sender.write(key, sent, delete)


@router.post(
    "/recommendations",
    openapi_extra=_sent(bulk.ListsIn.model_json_schema()),
    responses=described(404),
)
async def read_lists(sender: Sender) -> bulk.ListsOut:
    """Lists for many people, each from that person's own history and the latest release alone;
    somebody unknown gets a newcomer's. Show each to that person only."""
    body, _ = await sender.read(bulk.ListsIn)
    return await run_in_threadpool(_lists, service_of(sender.request), body)


def _lists(service: Service, wanted: bulk.ListsIn) -> bulk.ListsOut:
    model, lists = service.model(), []
    for person in wanted.people:
        taste = tastes.for_lists(service.database, person)
        picks = service.recommend(
            model, taste, wanted.n, wanted.ranking, with_error=wanted.with_error
        )
        lists.append(bulk.ListOut(person=person, recommendations=listed_out(service, picks)))
    return bulk.ListsOut(release=model.entry.number, lists=lists)


_PERSON = _sent(shapes.PersonIn.model_json_schema())


@router.post("/people/export", openapi_extra=_PERSON)
async def export_person(sender: Sender) -> shapes.ExportOut:
    """All that is stored about a person who asks for it."""
    body, _ = await sender.read(shapes.PersonIn)
    return await run_in_threadpool(everything, service_of(sender.request), body.person)


@router.post("/people/erase", status_code=204, openapi_extra=_PERSON, response_class=Response)
async def erase_person(sender: Sender) -> None:
    """Erase a person who asks for it; nobody gets that id again."""
    body, _ = await sender.read(shapes.PersonIn)

    def erase(service: Service) -> None:
        service.erase(body.person)
        name = sender.bearer.operator
        service.writer.write_apart(lambda at: acts.note(at, name, "erase a person"))

    await run_in_threadpool(erase, service_of(sender.request))
