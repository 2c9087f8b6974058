"""The pages: HTML rendered on the server; they work without the little JavaScript they have."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import BusyError
from discreet.service import problems
from discreet.service.pages import entrance, operator, person
from discreet.service.pages.rendering import render, wants_page

router = APIRouter(include_in_schema=False)
for part in (entrance, person, operator):
    router.include_router(part.router)


async def refused(request: Request, problem: Exception) -> Response:
    """A refusal: a page for those who look at pages, JSON for programs."""
    if isinstance(problem, RequestValidationError):
        problem = problems.invalid(problem)
    if isinstance(problem, BusyError):
        problem = problems.Problem(503, "busy", str(problem), {"Retry-After": "1"})
    assert isinstance(problem, HTTPException)
    if not wants_page(request):
        return await problems.refused(request, problem)
    if problem.status_code == 401:
        return Response(status_code=303, headers={"Location": "/signin"})
    answer = render(request, "problem.html", status=problem.status_code, message=problem.detail)
    answer.headers.update(problem.headers or {})
    return answer
