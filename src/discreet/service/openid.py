"""Signing in by OpenID Connect: authorization code with PKCE, state, nonce, a verified ID token.

The provider is asked when somebody signs in, and for nothing else. It learns that somebody uses
this service, and when; nothing of what they do here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlencode, urlsplit

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from discreet.errors import ParameterError
from discreet.service import logs
from discreet.service.problems import Problem

ALGORITHMS = ("RS256", "PS256", "ES256", "ES384", "RS384", "RS512", "EdDSA")
"""Signatures by a key that the provider alone has."""
PENDING_SECONDS = 600
"""From asking the provider to coming back from it."""
MOST_AT_ONCE = 8
"""Sign-ins that ask the provider, or wait for it: one that is slow does not get all threads."""
_SECONDS, _MOST_BYTES, _LEEWAY = 10, 1 << 20, 60
_KEEP_SECONDS, _LOOK_AGAIN_SECONDS = 3600.0, 30.0


@dataclass(frozen=True)
class Client:
    """What this service is to a provider, as the operator registered it there."""

    issuer: str
    client: str
    secret: str | None = field(default=None, repr=False)
    """None for a public client, which PKCE protects alone."""
    claim: str = "sub"
    """Which claim is the id of a person here."""
    operators: tuple[str, ...] = ()
    """Who operates, by the same claim; they are nobody who rates here."""

    def __post_init__(self) -> None:
        require_safe("--oidc-issuer", self.issuer)


def require_safe(name: str, address: str) -> None:
    """HTTPS, or this machine itself."""
    place = urlsplit(address)
    if place.scheme == "https" and place.hostname:
        return
    if place.scheme == "http" and place.hostname and _loopback(place.hostname):
        return
    raise ParameterError(f"{name} must be an https:// address: got {address!r}")


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class Pending:
    """A sign-in that was begun: kept sealed in the browser that began it."""

    state: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    at: float = field(default_factory=time.time)

    @property
    def challenge(self) -> str:
        """What the provider is told of the verifier: its hash."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    @property
    def old(self) -> bool:
        """Whether it was begun too long ago."""
        return time.time() - self.at > PENDING_SECONDS


class Provider:
    """A provider, as its own documents describe it; they are read when they are needed."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._lock = threading.Lock()
        self._asking = threading.Semaphore(MOST_AT_ONCE)
        self._documents: dict[str, tuple[float, Any]] = {}

    def address(self, pending: Pending, redirect: str) -> str:
        """Where a browser goes to sign in."""
        asked = {
            "response_type": "code",
            "client_id": self.client.client,
            "redirect_uri": redirect,
            "scope": "openid" if self.client.claim == "sub" else "openid profile email",
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": pending.challenge,
            "code_challenge_method": "S256",
        }
        with self._in_turn():
            place = self._endpoint("authorization_endpoint")
        return f"{place}{'&' if '?' in place else '?'}{urlencode(asked)}"

    def person(self, pending: Pending, code: str, redirect: str) -> str:
        """Who signed in: the claim that was declared, from an ID token that holds."""
        with self._in_turn():
            token = self._exchange(pending, code, redirect)
            claims = self._verified(token, pending.nonce)
        name = claims.get(self.client.claim)
        if self.client.claim == "email" and claims.get("email_verified") is not True:
            raise _refused("your provider has not verified your address")
        if not isinstance(name, str) or not name:
            raise _refused(f"your provider does not tell us your {self.client.claim}")
        return name

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        if not self._asking.acquire(blocking=False):
            raise _away()
        try:
            yield
        finally:
            self._asking.release()

    def _exchange(self, pending: Pending, code: str, redirect: str) -> str:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "client_id": self.client.client,
            "code_verifier": pending.verifier,
        }
        headers = {"Accept": "application/json"}
        if self.client.secret is not None:
            named = urlencode({"": self.client.client})[1:], urlencode({"": self.client.secret})[1:]
            both = base64.b64encode(":".join(named).encode()).decode()
            headers["Authorization"] = f"Basic {both}"
        answer = _fetch(self._endpoint("token_endpoint"), urlencode(form).encode(), headers)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise _refused("your provider did not say who you are")
        return token

    def _verified(self, token: str, nonce: str) -> dict[str, Any]:
        """The claims of an ID token that the provider signed, for us, now, for this sign-in."""
        registry = jwt.JWTClaimsRegistry(
            leeway=_LEEWAY,
            iss={"essential": True, "value": self.client.issuer},
            aud={"essential": True, "value": self.client.client},
            exp={"essential": True},
            iat={"essential": True},
            sub={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            claims = self._decoded(token)
            registry.validate(claims)
        except (JoseError, ValueError) as error:
            logs.event("sign-in refused", why=type(error).__name__)
            raise _refused("what your provider says about you does not hold") from None
        others = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if others and claims.get("azp") != self.client.client:
            raise _refused("what your provider says was said to somebody else")
        return claims

    def _decoded(self, token: str) -> dict[str, Any]:
        """By the provider's keys; where none fits they may be new, and are fetched again."""
        try:
            return dict(jwt.decode(token, self._keys(), algorithms=ALGORITHMS).claims)
        except (JoseError, ValueError):
            keys = self._keys(_LOOK_AGAIN_SECONDS)
            return dict(jwt.decode(token, keys, algorithms=ALGORITHMS).claims)

    def _keys(self, seconds: float = _KEEP_SECONDS) -> KeySet:
        found = self._document(self._endpoint("jwks_uri"), seconds)
        # One that signs with a shared secret would let everybody sign who knows it.
        signing = [key for key in found.get("keys", []) if key.get("kty") in ("RSA", "EC", "OKP")]
        return KeySet.import_key_set({"keys": signing})

    def _endpoint(self, name: str) -> str:
        issuer = self.client.issuer
        place = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
        found = self._document(place, _KEEP_SECONDS)
        if found.get("issuer") != issuer or not isinstance(found.get(name), str):
            logs.event("sign-in refused", why="the provider's document is not the issuer's")
            raise _away()
        try:
            require_safe(name, found[name])
        except ParameterError:
            raise _away() from None
        return str(found[name])

    def _document(self, place: str, seconds: float) -> Any:
        with self._lock:
            at, found = self._documents.get(place, (float("-inf"), None))
            if time.monotonic() - at > seconds:
                found = _fetch(place)
                self._documents[place] = time.monotonic(), found
            return found


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Nowhere: a code and a secret are for the provider alone."""


_OPENER = urllib.request.build_opener(_Stay)


def _fetch(place: str, form: bytes | None = None, headers: dict[str, str] | None = None) -> Any:
    try:
        request = urllib.request.Request(place, form, headers or {})
        with _OPENER.open(request, timeout=_SECONDS) as answer:
            found = json.loads(answer.read(_MOST_BYTES))
    except urllib.error.HTTPError as error:
        logs.event("sign-in refused", why="the provider's answer", status=error.code)
        if form is not None and error.code in (400, 401):
            raise _refused("your provider did not accept this sign-in") from None
        raise _away() from None
    except (OSError, ValueError):
        logs.failure("provider away")
        raise _away() from None
    if not isinstance(found, dict):
        raise _away()
    return found


def _refused(why: str) -> Problem:
    return Problem(403, "not_signed_in", f"{why}: try to sign in again, or ask the operator")


def _away() -> Problem:
    return Problem(
        503, "no_provider", "the sign-in provider is away: try again in a moment",
        {"Retry-After": "5"},
    )  # fmt: skip
