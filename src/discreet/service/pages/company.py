"""Signing in by the company's own provider: there, and back again."""

from __future__ import annotations

import json
from dataclasses import asdict
from hmac import compare_digest
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from discreet.service.access import address, authenticator_of
from discreet.service.pages.rendering import render
from discreet.service.pages.visitors import home, new_operator, new_visitor, set_session
from discreet.service.problems import Problem
from discreet.service.state import Service, service_of

if TYPE_CHECKING:
    from discreet.service.openid import Pending, Provider

router = APIRouter(prefix="/signin")
_COOKIE, _PURPOSE = "discreet-signin", "sign-in"


def _provider(service: Service) -> Provider:
    if service.provider is None:
        raise Problem(404, "no_provider", "one signs in by token here")
    return service.provider


def _cookie(request: Request) -> str:
    return f"__Host-{_COOKIE}" if request.url.scheme == "https" else _COOKIE


def _redirect(request: Request) -> str:
    return str(request.url_for("come_back").replace(query=""))


@router.get("/company")
def go(request: Request) -> Response:
    """To the provider; what proves that this browser began it stays here, sealed."""
    from discreet.service.openid import PENDING_SECONDS, Pending

    authenticator = authenticator_of(request)
    authenticator.limit(authenticator.addresses, address(request))
    service, pending = service_of(request), Pending()
    answer = RedirectResponse(_provider(service).address(pending, _redirect(request)), 303)
    answer.set_cookie(
        _cookie(request),
        service.seal.close(_PURPOSE, "", json.dumps(asdict(pending))),
        max_age=PENDING_SECONDS,
        httponly=True,
        samesite="lax",  # the provider sends the browser back, which is another site's doing
        secure=request.url.scheme == "https",
    )
    return answer


@router.get("/back", name="come_back")
def come_back(
    request: Request,
    state: Annotated[str, Query(max_length=200)] = "",
    code: Annotated[str, Query(max_length=4000)] = "",
) -> Response:
    """From the provider: who it says this is gets a session.

    The page leads on by itself. A redirect would still be the other site's doing, and the session's
    cookie is sent along from our own pages only.
    """
    authenticator, service = authenticator_of(request), service_of(request)
    authenticator.limit(authenticator.addresses, address(request))
    provider, pending = _provider(service), _pending(request, service)
    if pending is None or pending.old or not compare_digest(state.encode(), pending.state.encode()):
        raise Problem(403, "not_signed_in", "this sign-in was not begun here just now: begin again")
    if not code:
        raise Problem(403, "not_signed_in", "your provider did not sign you in: begin again")
    named = provider.person(pending, code, _redirect(request))
    operates = named in provider.client.operators
    who = new_operator(named) if operates else new_visitor(service.admit(named))
    authenticator.limit(authenticator.joining, who.name)
    answer = render(request, "signed_in.html", visitor=who, onward=home(who.role))
    answer.headers["Refresh"] = f"0; url={home(who.role)}"
    set_session(request, answer, service.begin_session_for(who))
    answer.delete_cookie(
        _cookie(request), httponly=True, samesite="lax", secure=request.url.scheme == "https"
    )
    return answer


def _pending(request: Request, service: Service) -> Pending | None:
    from discreet.service.openid import Pending

    kept = service.seal.open(_PURPOSE, request.cookies.get(_cookie(request), ""))
    return None if kept is None else Pending(**json.loads(kept))
