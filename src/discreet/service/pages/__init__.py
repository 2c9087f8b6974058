"""The pages: HTML rendered on the server; they work without the little JavaScript they have."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import BusyError, DatabaseError
from discreet.service import logs, problems
from discreet.service.pages import (
    account,
    browse,
    company,
    covers,
    declaring,
    entrance,
    home,
    importing,
    item,
    operator,
    rating,
)
from discreet.service.pages.rendering import render, wants_page

router = APIRouter(include_in_schema=False)
_PARTS = (
    entrance, company, home, browse, item, rating, account, covers, operator, importing, declaring,
)  # fmt: skip
for part in _PARTS:
    router.include_router(part.router)


async def refused(request: Request, problem: Exception) -> Response:
    """A refusal: a page for those who look at pages, JSON for programs."""
    if isinstance(problem, RequestValidationError):
        problem = problems.invalid(problem)
    if isinstance(problem, BusyError):
        problem = problems.Problem(503, "busy", str(problem), {"Retry-After": "1"})
    if isinstance(problem, (DatabaseError, SQLAlchemyError)):
        logs.failure("no database")
        problem = problems.Problem(
            503, "no_database", "the database is away: try again in a moment", {"Retry-After": "5"}
        )
    assert isinstance(problem, HTTPException)
    if not wants_page(request):
        return await problems.refused(request, problem)
    if problem.status_code == 401:
        return Response(status_code=303, headers={"Location": "/signin"})
    if problem.status_code == 303:
        return Response(status_code=303, headers=problem.headers)
    unknown = problem.status_code == 404 and not isinstance(problem, problems.Problem)
    gone = "the address may be mistyped, or what stood there is gone"
    message = gone if unknown else str(problem.detail)
    answer = render(
        request,
        "problem.html",
        visitor=getattr(request.state, "visitor", None),
        status=problem.status_code,
        message=f"{message[:1].upper()}{message[1:].removesuffix('.')}.",
    )
    answer.headers.update(problem.headers or {})
    return answer
