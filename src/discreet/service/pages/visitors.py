"""Who looks at a page: the browser's session, a person's or the operator's."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from discreet.database import tastes
from discreet.database.people import SESSION_HOURS, Bearer, Role
from discreet.service.access import authenticator_of, session_cookie
from discreet.service.problems import Problem
from discreet.service.state import service_of


def visitor(request: Request) -> Bearer | None:
    """Whoever is signed in; None if nobody is."""
    found = authenticator_of(request).holder(request, None)
    request.state.visitor = found  # also for the page of a refusal
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


def settled_person(request: Request, person: SignedIn) -> str:
    """The same, once they have chosen a level for all: who has not is asked first, however they
    came here."""
    with service_of(request).database.reading() as connection:
        chosen = tastes.usual_level(connection, person)
    if chosen is None:
        raise HTTPException(303, headers={"Location": "/level"})
    return person


Settled = Annotated[str, Depends(settled_person)]
Operator = Annotated[Bearer, Depends(signed_in_operator)]


def require_fresh(found: Bearer | None) -> None:
    """Whoever has got hold of an older session alone does not replace its owner's token."""
    if found is None or not found.signed_in_just_now:
        raise Problem(
            403,
            "sign_in_again",
            "sign out and in again first: only who has just signed in may replace the token",
        )


def home(role: Role) -> str:
    """Where somebody lands who signs in."""
    return "/operator" if role == Role.OPERATOR else "/home"


def begin_session(request: Request, response: Response, token: str) -> None:
    """Sign a browser in: a token of its own, which lives for hours and cannot be read there."""
    set_session(request, response, service_of(request).begin_session(token))


def set_session(request: Request, response: Response, session: str) -> None:
    """Let a browser keep its session."""
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


def new_operator(name: str) -> Bearer:
    """An operator who has just signed in."""
    return Bearer(Role.OPERATOR, None, 0, operator=name)


def end_session(request: Request, *, signed_in: bool) -> Response:
    """Sign a browser out."""
    session = request.cookies.get(session_cookie(request))
    if signed_in and session is not None:
        service_of(request).end_session(session)
    answer = RedirectResponse("/", 303)
    forget_session(request, answer)
    return answer


def forget_session(request: Request, answer: Response) -> None:
    """Let the browser forget its session: it must be told in the words that set the cookie."""
    answer.delete_cookie(
        session_cookie(request),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
