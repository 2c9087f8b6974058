"""Problems: every refusal is a clear 4xx with a code for programs and a sentence for people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from sqlalchemy.exc import IntegrityError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from discreet.errors import DataError, ParameterError, SpecError


class Detail(BaseModel):
    """Why a request was refused."""

    code: str
    message: str


class ProblemBody(BaseModel):
    """The body of every refusal."""

    error: Detail


class Problem(HTTPException):
    """A request that is refused."""

    def __init__(
        self, status: int, code: str, message: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(status, message, headers)
        self.code = code


def too_many(seconds: float) -> Problem:
    """Asked too often."""
    wait = max(1, math.ceil(seconds))
    words = "a second" if wait == 1 else f"{wait} seconds"
    return Problem(
        429, "too_many_requests", f"too many requests: wait {words}", {"Retry-After": str(wait)}
    )


@contextmanager
def refusing() -> Iterator[None]:
    """What the library refuses, as a problem of the request; for the operator, who may read it."""
    try:
        yield
    except (DataError, ParameterError, SpecError) as error:
        raise Problem(422, "refused", str(error)) from None


@contextmanager
def still_there() -> Iterator[None]:
    """For what is written about a person who may erase themselves at this very moment."""
    try:
        yield
    except IntegrityError:
        raise Problem(401, "unknown_token", "nobody has this token any more") from None


@contextmanager
def asking() -> Iterator[None]:
    """For what a release cannot tell: of events, say, how much somebody would like something, or of
    a column that it does not have."""
    try:
        yield
    except (DataError, ParameterError) as error:
        raise Problem(422, "cannot_rank", str(error)) from None


def body(code: str, message: str) -> dict[str, Any]:
    """As JSON."""
    return ProblemBody(error=Detail(code=code, message=message)).model_dump()


_CODES = {404: "not_found", 405: "method_not_allowed", 400: "bad_request", 413: "too_large"}


async def refused(request: Request, problem: HTTPException) -> JSONResponse:
    """A problem as JSON."""
    del request
    code = (
        problem.code if isinstance(problem, Problem) else _CODES.get(problem.status_code, "error")
    )
    content = body(code, str(problem.detail))
    return JSONResponse(content, problem.status_code, headers=problem.headers)


def invalid(error: RequestValidationError) -> Problem:
    """What is wrong with a request, by name; its values are not repeated."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    return Problem(422, "invalid", f"{place}: {first['msg']}")


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI document: the refusals that a route may answer with."""
    return {status: {"model": ProblemBody} for status in statuses}
