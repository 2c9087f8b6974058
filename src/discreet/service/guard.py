"""The guard of all requests: sizes, security headers, a log line and a count for each."""

from __future__ import annotations

import time
from random import getrandbits
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.service import logs, problems
from discreet.service.access import ENDED_SESSION
from discreet.service.limits import Limits
from discreet.service.monitoring import Metrics
from discreet.service.problems import Problem
from discreet.service.refusals import Refusals

STATIC = "/static/"
OWN = (
    "/api/me", "/api/service", "/api/people", "/home", "/browse", "/mine", "/item", "/covers",
    "/rate", "/hide", "/undo", "/level", "/privacy", "/token", "/erase", "/join",
    "/signin", "/signout", "/api/catalogue/search",
)  # fmt: skip
"""What people do about themselves: how often is a secret number, and stays out of the log."""
UPLOAD = "discreet.upload"
"""Set in a request's scope once the operator is known, who may send a table."""
BULK = "discreet.bulk"
"""Likewise once a company's front end is known, which may send much at once."""
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Around everything; an error that nobody expected ends here, and says nothing outside."""

    def __init__(self, app: ASGIApp, *, limits: Limits, metrics: Metrics) -> None:
        self.app, self.limits, self.metrics = app, limits, metrics
        self.refusals = Refusals()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, request = time.perf_counter(), f"{getrandbits(64):016x}"
        status, bodiless = 0, scope["method"] == "HEAD"
        if bodiless:
            scope["method"] = "GET"  # the same headers, for every page and answer
        refused: Message | None = None
        before = self.refusals.of(scope)

        async def watched(message: Message) -> None:
            nonlocal status, refused
            if message["type"] == "http.response.start":
                status = message["status"]
                # Sent again it holds no longer than it did: who waits at last is answered.
                refused = {**message} if status == 429 and before is None else None
                more = _headers(message["headers"], scope, request)
                message["headers"] = [*message["headers"], *more]
            elif refused is not None:
                self.refusals.hold(scope, refused, message)
            if bodiless and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            if before is not None:
                await before.again(scope, watched)
            else:
                await self.app(scope, self._bounded(scope, receive), watched)
        except Exception:
            logs.failure("unexpected", request=request)
            if status == 0:
                await _unexpected(scope, request)(scope, receive, watched)
        finally:
            self._note(scope, request, status, time.perf_counter() - began)

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """The body, refused as soon as it is too large."""
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            most = self.limits.body
            if scope.get(UPLOAD):
                most = self.limits.upload
            elif scope.get(BULK):
                most = self.limits.bulk
            if seen > most:
                raise Problem(413, "too_large", f"the body is too large: at most {most} bytes")
            return message

        return counted

    def _note(self, scope: Scope, request: str, status: int, seconds: float) -> None:
        self.metrics.requests.labels(f"{status // 100}xx").inc()
        self.metrics.seconds.observe(seconds)
        if scope["path"].startswith(OWN) and status < 500:
            return
        route: Any = scope.get("route")
        place = STATIC if scope["path"].startswith(STATIC) else "none"
        logs.event(
            "request",
            request=request,
            method=scope["method"],
            route=getattr(route, "path", place),
            status=status,
            ms=round(seconds * 1000, 2),
        )


_UNEXPECTED = """<!doctype html><html lang="en"><title>500 · Discreet</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/static/page.css"><main><div class="page"><h1>That did not work</h1>
<p class="problem" role="alert">{said}</p>
<p><a class="button plain" href="/">To the first page</a></p></div></main></html>"""
"""By itself: what went wrong may have been a template."""


def _unexpected(scope: Scope, request: str) -> Response:
    """An answer that says nothing of what went wrong, for programs or for people."""
    said = f"Something went wrong on our side; nothing was changed by halves (request {request})"
    accepted = next((v for n, v in scope["headers"] if n == b"accept"), b"")
    if b"text/html" in accepted and not scope["path"].startswith("/api/"):
        return HTMLResponse(_UNEXPECTED.format(said=said), 500)
    return JSONResponse(problems.body("internal", said), 500)


_FIXED = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def _headers(
    present: list[tuple[bytes, bytes]], scope: Scope, request: str
) -> list[tuple[bytes, bytes]]:
    names = {name for name, _ in present}
    keep = b"public, max-age=600" if scope["path"].startswith(STATIC) else b"no-store"
    wanted = [*_FIXED, (b"x-request-id", request.encode()), (b"cache-control", keep)]
    ended = scope.get(ENDED_SESSION)
    if ended is not None:
        secure = "; Secure" if ended.startswith("__Host-") else ""
        cookie = f"{ended}=; Max-Age=0; Path=/; HttpOnly; SameSite=strict{secure}"
        wanted.append((b"set-cookie", cookie.encode()))
    return [header for header in wanted if header[0] not in names]
