"""Who asks: a bearer's token, or a browser's session; nobody can name another person."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from discreet.database import people
from discreet.database.connection import Database, now
from discreet.database.people import Bearer, Role
from discreet.service.limits import Buckets, Limits
from discreet.service.problems import Problem, too_many

SESSION_COOKIE = "discreet-session"
SAFE = {"GET", "HEAD", "OPTIONS"}
LONGEST_TOKEN = 200

bearer_scheme = HTTPBearer(auto_error=False, description="A personal or an operator's token.")


class Authenticator:
    """Checks tokens and sessions, and how often their holders ask."""

    def __init__(self, database: Database, limits: Limits) -> None:
        self.database = database
        self.people = Buckets(limits.person)
        self.addresses = Buckets(limits.address)
        self.wrong = Buckets(limits.wrong_tokens)
        self.joining = Buckets(limits.joining)

    def holder(self, request: Request, token: str | None) -> Bearer | None:
        """Who holds the token, or the session of the browser; None if neither is given.

        A session counts for a request that changes something only if our own page sent it.
        """
        given = token
        if token is None:
            given = request.cookies.get(session_cookie(request))
            if given is None:
                return None
            if request.method not in SAFE and not from_our_own_page(request):
                raise Problem(403, "foreign_page", "this request did not come from our own page")
        assert given is not None
        found = self._look_up(given)
        if found is None or found.expires_at <= now():
            self.limit(self.wrong, address(request))
            if token is None:
                return None  # a session that has ended: the page asks to sign in again
            expired = found is not None
            raise Problem(
                401,
                "expired_token" if expired else "unknown_token",
                "the token has expired" if expired else "nobody has this token",
                {"WWW-Authenticate": "Bearer"},
            )
        self.limit(self.people, found.name)
        return found

    def sign_in(self, request: Request, token: str) -> Bearer | None:
        """Who holds a token that was typed in; None if nobody does, or a monitor."""
        found = self._look_up(token)
        if found is None or found.expires_at <= now() or found.role == Role.MONITOR:
            self.limit(self.wrong, address(request))
            return None
        self.limit(self.joining, found.name)  # as often as new people may come from one place
        return found

    def _look_up(self, token: str) -> Bearer | None:
        if len(token) > LONGEST_TOKEN:
            return None
        with self.database.reading() as connection:
            return people.bearer(connection, token)

    def limit(self, buckets: Buckets, who: str) -> None:
        """A problem if they ask too often."""
        wait = buckets.wait(who)
        if wait:
            raise too_many(wait)


def address(request: Request) -> str:
    """Where a request comes from; kept in memory only."""
    return request.client.host if request.client else "unknown"


def session_cookie(request: Request) -> str:
    """The name of the session's cookie; over HTTPS one that no other host can set."""
    return f"__Host-{SESSION_COOKIE}" if request.url.scheme == "https" else SESSION_COOKIE


def from_our_own_page(request: Request) -> bool:
    """Whether a browser says that our own page sent this request."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc == request.headers.get("host")


def authenticator_of(request: Request) -> Authenticator:
    """The service's authenticator."""
    authenticator = request.app.state.authenticator
    assert isinstance(authenticator, Authenticator)
    return authenticator


Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(bearer_scheme)]


def _require(request: Request, credentials: Credentials, role: Role) -> Bearer:
    found = authenticator_of(request).holder(
        request, credentials.credentials if credentials else None
    )
    if found is None:
        raise Problem(
            401,
            "no_token",
            "send a token: Authorization: Bearer ...",
            {"WWW-Authenticate": "Bearer"},
        )
    if found.role != role:
        raise Problem(403, "wrong_role", f"this needs a token of another kind: {role.value}")
    return found


def require_person(request: Request, credentials: Credentials) -> str:
    """The person who asks."""
    found = _require(request, credentials, Role.PERSON)
    assert found.person is not None
    return found.person


def require_operator(request: Request, credentials: Credentials) -> None:
    """The operator alone."""
    _require(request, credentials, Role.OPERATOR)


def require_monitor(request: Request, credentials: Credentials) -> None:
    """A monitor alone."""
    _require(request, credentials, Role.MONITOR)


async def anyone(request: Request) -> None:
    """Everybody, but not too often."""
    authenticator = authenticator_of(request)
    authenticator.limit(authenticator.addresses, address(request))
