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
from starlette.concurrency import run_in_threadpool

from discreet.service.access import Credentials, require_person
from discreet.service.state import Service, service_of

Work = Callable[[Service, str], Any]
"""What is done for a person: the answer's content, or None for an answer without one."""


@dataclass(frozen=True)
class PersonRequest:
    """One request of a person: the only way to learn who it is."""

    request: Request
    credentials: Credentials

    async def __call__(
        self, work: Work, *, headers: dict[str, str] | None = None, quick: bool = False
    ) -> Response:
        """Do it for the person whose token this is; a problem if there is none.

        SQLite answers what is `quick` sooner than a thread could be changed.
        """
        if quick and service_of(self.request).database.sqlite:
            return self._answer(work, headers)
        return await run_in_threadpool(self._answer, work, headers)

    def _answer(self, work: Work, headers: dict[str, str] | None) -> Response:
        person = require_person(self.request, self.credentials)
        content = work(service_of(self.request), person)
        if content is None:
            return Response(status_code=204)
        return Response(to_json(content), media_type="application/json", headers=headers)


async def person_request(request: Request, credentials: Credentials) -> PersonRequest:
    """Not a plain function: the framework would change threads for it."""
    return PersonRequest(request, credentials)


Ask = Annotated[PersonRequest, Depends(person_request)]
