"""Who looks at a page: the browser's session, a person's or the operator's."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import RedirectResponse, Response

from discreet.database import people
from discreet.database.people import SESSION_HOURS, Bearer, Role
from discreet.service.access import address, authenticator_of, session_cookie
from discreet.service.problems import Problem
from discreet.service.state import service_of


def visitor(request: Request) -> Bearer | None:
    """Whoever is signed in; None if nobody is."""
    authenticator = authenticator_of(request)
    found = authenticator.holder(request, None)
    if found is None:
        authenticator.limit(authenticator.addresses, address(request))
    return found


Visitor = Annotated[Bearer | None, Depends(visitor)]


def signed_in_person(found: Visitor) -> str:
    """The person who is signed in."""
    if found is None or found.person is None:
        raise Problem(401, "signed_out", "sign in first")
    return found.person


def signed_in_operator(found: Visitor) -> Bearer:
    """The operator, signed in."""
    if found is None:
        raise Problem(401, "signed_out", "sign in first")
    if found.role != Role.OPERATOR:
        raise Problem(403, "wrong_role", "this page is the operator's: sign in with their token")
    return found


SignedIn = Annotated[str, Depends(signed_in_person)]
Operator = Annotated[Bearer, Depends(signed_in_operator)]


def home(role: Role) -> str:
    """Where somebody lands who signs in."""
    return "/operator" if role == Role.OPERATOR else "/rate"


def begin_session(request: Request, response: Response, token: str) -> None:
    """Sign a browser in: a token of its own, which lives for hours and cannot be read there."""
    session = service_of(request).begin_session(token)
    response.set_cookie(
        session_cookie(request),
        session,
        max_age=SESSION_HOURS * 3600,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def new_visitor(person: str) -> Bearer:
    """Somebody who has just joined."""
    return Bearer(Role.PERSON, person, 0)


def end_session(request: Request, *, signed_in: bool) -> Response:
    """Sign a browser out."""
    session = request.cookies.get(session_cookie(request))
    if signed_in and session is not None:
        with service_of(request).database.writing() as connection:
            people.revoke(connection, session)
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(session_cookie(request))
    return answer
