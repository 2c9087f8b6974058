"""Who asks: a bearer's token, or a browser's session; nobody can name another person."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from discreet.database import frequencies, people
from discreet.database.connection import now
from discreet.database.people import SESSION, TOKEN, Bearer, Role
from discreet.database.writer import Writer
from discreet.service.limits import Buckets, Limits, Pool, Rate
from discreet.service.problems import Problem, too_many
from discreet.service.proxied import NamedByProxy
from discreet.service.waiting import at_once, leave_the_loop

SESSION_COOKIE = "discreet-session"
SAFE = {"GET", "HEAD", "OPTIONS"}
LONGEST_TOKEN = 200
ENDED_SESSION = "discreet.ended-session"
"""Set in a request's scope: the name of a cookie that is good for nothing any more."""

_PEOPLE = (Role.PERSON, Role.OPERATOR)
_A_MINUTE = 60_000
Find = Callable[[str], Bearer | None]
bearer_scheme = HTTPBearer(auto_error=False, description="A personal or an operator's token.")


class Authenticator:
    """Checks tokens and sessions, and how often their holders ask."""

    def __init__(
        self,
        writer: Writer,
        limits: Limits,
        *,
        named: NamedByProxy | None = None,
        admit: Callable[[str], str] = str,
    ) -> None:
        self.database, self.writer = writer.database, writer
        self._named, self._admit = named, admit
        self.people = Buckets(limits.person, pool=self._pool("person"))
        self.addresses = Buckets(limits.address, pool=self._pool("address"))
        self.signed_in = Buckets(limits.signed_in, pool=self._pool("signed in"))
        # These are rare, and guarded against: no process has a share of its own.
        self.wrong = Buckets(limits.wrong_tokens, pool=self._pool("wrong"), own=0.0)
        self.joining = Buckets(limits.joining, pool=self._pool("joining"), own=0.0)
        self.front_ends = Buckets(limits.front_end, pool=self._pool("front end"))

    def _pool(self, kind: str) -> Pool:
        def take(who: str, rate: Rate, wanted: float) -> float:
            leave_the_loop()
            name = f"{kind}:{who}"
            return self.writer.write_apart(
                lambda at: frequencies.take(at, name, rate.per_second, rate.burst, wanted)
            )

        return take

    def given(self, request: Request, token: str | None) -> str | None:
        """The token, or else the session of the browser; None if there is neither."""
        return request.cookies.get(session_cookie(request)) if token is None else token

    def holder(
        self,
        request: Request,
        token: str | None,
        cost: float = 1.0,
        *,
        find: Find | None = None,
    ) -> Bearer | None:
        """Who holds the token, or the session of the browser; None if neither is given. `find` says
        who holds it, expired or not, where the database was asked before.

        A session, or a proxy's word, counts for a request that changes something, or that a script
        wants to read elsewhere, only if our own page sent it; and a session never as a token.
        """
        given = self.given(request, token)
        person = None if token is not None or self._named is None else self._named.person(request)
        if given is None and person is None:
            self.limit(self.addresses, address(request))
            return None
        # A page of another site says where it is from if it wants to read the answer.
        acts = request.method not in SAFE or "origin" in request.headers
        if token is None and acts and not from_our_own_page(request):
            raise Problem(403, "foreign_page", "this request did not come from our own page")
        found = None
        if given is not None:
            found = self._look_up(given, SESSION if token is None else TOKEN, find)
        if person is not None and not _operates(found):
            leave_the_loop()  # who is new is written down
            found = Bearer(Role.PERSON, self._admit(person), now() + _A_MINUTE, SESSION)
        if found is None or found.expires_at <= now():
            if token is None:
                # A session that has ended: the page asks to sign in again, the browser forgets it.
                self.limit(self.addresses, address(request))
                request.scope[ENDED_SESSION] = session_cookie(request)
                return None
            self.limit(self.wrong, address(request))
            expired = found is not None
            raise Problem(
                401,
                "expired_token" if expired else "unknown_token",
                "the token has expired" if expired else "nobody has this token",
                {"WWW-Authenticate": "Bearer"},
            )
        if found.role == Role.SERVICE:
            self.limit(self.front_ends, found.name, cost)
            return found
        self.charge(request, found, cost)
        return found

    def charge(self, request: Request, found: Bearer, cost: float) -> None:
        """Count so much for somebody who is signed in, and for where they are."""
        self.limit(self.signed_in, address(request), cost)
        self.limit(self.people, found.name, cost)

    def sign_in(self, request: Request, token: str) -> Bearer | None:
        """Who holds a token that was typed in; None if nobody does, or a program."""
        found = self._look_up(token, TOKEN)
        if found is None or found.expires_at <= now() or found.role not in _PEOPLE:
            self.limit(self.wrong, address(request))
            return None
        self.limit(self.joining, found.name)  # as often as new people may come from one place
        return found

    def _look_up(self, token: str, kind: str, find: Find | None = None) -> Bearer | None:
        if len(token) > LONGEST_TOKEN:
            return None
        found = people.holder(self.database, token) if find is None else find(token)
        return found if found is not None and found.kind == kind else None

    def limit(self, buckets: Buckets, who: str, cost: float = 1.0) -> None:
        """A problem if they ask too often."""
        wait = buckets.wait(who, cost)
        if wait:
            raise too_many(wait)


def _operates(found: Bearer | None) -> bool:
    """Whether this is an operator's session: a proxy names people, and they sign in by token."""
    return found is not None and found.role == Role.OPERATOR and found.expires_at > now()


def address(request: Request) -> str:
    """Where a request comes from, as far as it is one place; stored as a keyed hash at most."""
    return one_place(request.client.host) if request.client else "unknown"


@lru_cache(4096)
def one_place(host: str) -> str:
    """An address; of the newer kind its network, since one household has all 2^64 of it.

    >>> one_place("192.0.2.7"), one_place("2001:db8::1:2:3:4"), one_place("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    if ":" not in host:
        return host
    try:
        whole = IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    if whole.ipv4_mapped is not None:
        return str(whole.ipv4_mapped)
    return str(IPv6Network((whole, 64), strict=False))


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


def token_of(credentials: Credentials) -> str | None:
    """A bearer's token, if there is one."""
    return credentials.credentials if credentials else None


def _require(
    request: Request,
    credentials: Credentials,
    role: Role,
    cost: float = 1.0,
    find: Find | None = None,
) -> Bearer:
    found = authenticator_of(request).holder(request, token_of(credentials), cost, find=find)
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


def require_person(
    request: Request, credentials: Credentials, cost: float = 1.0, find: Find | None = None
) -> Bearer:
    """The person who asks."""
    return _require(request, credentials, Role.PERSON, cost, find=find)


def require_operator(request: Request, credentials: Credentials) -> Bearer:
    """An operator alone."""
    return _require(request, credentials, Role.OPERATOR)


Operator = Annotated[Bearer, Depends(require_operator)]


def require_front_end(request: Request, credentials: Credentials) -> Bearer:
    """A company's own front end alone."""
    return _require(request, credentials, Role.SERVICE)


def require_monitor(request: Request, credentials: Credentials) -> None:
    """A monitor alone."""
    _require(request, credentials, Role.MONITOR)


async def anyone(request: Request) -> None:
    """Everybody, but not too often."""
    authenticator = authenticator_of(request)
    await at_once(lambda: authenticator.limit(authenticator.addresses, address(request)))
