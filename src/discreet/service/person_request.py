"""PersonRequest as a person: who it is and what they want is found out in one go, in one thread.

The framework would change threads for every step of a request, which costs more than the work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import Response
from pydantic_core import to_json
from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool

from discreet.database import people, tastes
from discreet.database.tastes import Taste
from discreet.service.access import (
    Credentials,
    Find,
    authenticator_of,
    require_person,
    token_of,
)
from discreet.service.problems import still_there
from discreet.service.state import Service, service_of
from discreet.service.waiting import at_once

Work = Callable[[Service, str], Any]
"""What is done for a person: the answer's content, or None for an answer without one."""
Listing = Callable[[Service, Taste], Any]
"""What is made of what somebody rated and hid, quickly."""
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
        cost: float = 1.0,
    ) -> Response:
        """Do it for the person whose token this is; a problem if there is none.

        It counts as `cost` requests; what counts as many is done in its turn, and refused at once.
        """
        service = service_of(self.request)
        if cost > 1:
            person = await self._who(cost)
            return await service.in_turn(lambda: _response(work(service, person), headers))
        return await run_in_threadpool(lambda: _response(work(service, self._person()), headers))

    async def for_lists(self, work: Listing) -> Response:
        """Make lists for the person whose token this is, without changing to a thread for it."""
        service, person = service_of(self.request), await self._who()
        if service.database.sqlite:  # which answers sooner than a thread could be changed
            taste = tastes.for_lists(service.database, person)
        else:
            taste = tastes.taste(await service.found(tastes.FOR_LISTS, person))
        return await at_once(lambda: _response(work(service, taste), None))

    async def write(self, prepare: Writing, answer: Callable[[Service, Any], Any]) -> Response:
        """Write together with others, without a thread that waits, and answer from the result."""
        service, person = service_of(self.request), await self._who()
        work = await at_once(lambda: prepare(service, person))
        with still_there():
            result = await service.arrivals.of(service.writer.submit(work))
        return _response(answer(service, result), None)

    async def _who(self, cost: float = 1.0) -> str:
        """The person; a server is asked together with who else asks it at the moment."""
        service, find = service_of(self.request), None
        token = authenticator_of(self.request).given(self.request, token_of(self.credentials))
        if token is not None and not service.database.sqlite:
            found = await service.found(people.HOLDERS, people.digest(token))
            find = {token: people.held(found)}.get
        return await at_once(lambda: self._person(cost, find))

    def _person(self, cost: float = 1.0, find: Find | None = None) -> str:
        person = require_person(self.request, self.credentials, cost, find).person
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
