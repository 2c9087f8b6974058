"""PersonRequest as a person: who it is and what they want is found out in one go, in one thread.

The framework would change threads for every step of a request, which costs more than the work.
"""

from __future__ import annotations

from asyncio import wrap_future
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from fastapi.responses import Response
from pydantic_core import to_json
from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool

from discreet.service.access import Credentials, require_person
from discreet.service.problems import still_there
from discreet.service.state import Service, service_of
from discreet.service.waiting import at_once

T = TypeVar("T")
Work = Callable[[Service, str], Any]
"""What is done for a person: the answer's content, or None for an answer without one."""
Writing = Callable[[Service, str], Callable[[Connection], Any]]
"""What is to be written for a person, or a problem."""


@dataclass(frozen=True)
class PersonRequest:
    """One request of a person: the only way to learn who it is."""

    request: Request
    credentials: Credentials

    async def __call__(
        self,
        work: Work,
        *,
        headers: dict[str, str] | None = None,
        quick: bool = False,
        cost: float = 1.0,
    ) -> Response:
        """Do it for the person whose token this is; a problem if there is none.

        SQLite answers what is `quick` sooner than a thread could be changed. It counts as `cost`
        requests; what counts as many is done in its turn, and refused at once.
        """
        service = service_of(self.request)
        if cost > 1:
            person = await self._soon(lambda: self._person(cost))
            return await service.in_turn(lambda: _response(work(service, person), headers))

        def answer() -> Response:
            return _response(work(service, self._person()), headers)

        return await (self._soon(answer) if quick else run_in_threadpool(answer))

    async def _soon(self, work: Callable[[], T]) -> T:
        """In a thread only where it takes one: SQLite is asked without going anywhere."""
        if service_of(self.request).database.sqlite:
            return await at_once(work)
        return await run_in_threadpool(work)

    async def write(self, prepare: Writing, answer: Callable[[Service, Any], Any]) -> Response:
        """Write together with others, without a thread that waits, and answer from the result."""
        service = service_of(self.request)
        work = await self._soon(lambda: prepare(service, self._person()))
        with still_there():
            result = await wrap_future(service.writer.submit(work))
        return _response(answer(service, result), None)

    def _person(self, cost: float = 1.0) -> str:
        person = require_person(self.request, self.credentials, cost).person
        assert person is not None
        return person


def _response(content: Any, headers: dict[str, str] | None) -> Response:
    if content is None:
        return Response(status_code=204)
    return Response(to_json(content), media_type="application/json", headers=headers)


async def person_request(request: Request, credentials: Credentials) -> PersonRequest:
    """Not a plain function: the framework would change threads for it."""
    return PersonRequest(request, credentials)


Ask = Annotated[PersonRequest, Depends(person_request)]
