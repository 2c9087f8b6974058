"""The guard of all requests: sizes, security headers, a log line and a count for each."""

from __future__ import annotations

import secrets
import time
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.service import logs, problems
from discreet.service.limits import Limits
from discreet.service.monitoring import Metrics
from discreet.service.problems import Problem

STATIC = "/static/"
OWN = ("/api/me", "/rate", "/privacy", "/token", "/erase", "/join", "/api/people")
"""What people do about themselves: how often is a secret number, and stays out of the log."""
UPLOAD = "discreet.upload"
"""Set in a request's scope once the operator is known, who may send a table."""
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, request = time.perf_counter(), secrets.token_hex(8)
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                more = _headers(message["headers"], scope["path"], request)
                message["headers"] = [*message["headers"], *more]
            await send(message)

        try:
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
            most = self.limits.upload if scope.get(UPLOAD) else self.limits.body
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


def _unexpected(scope: Scope, request: str) -> Response:
    """An answer that says nothing of what went wrong, for programs or for people."""
    said = f"something went wrong on our side; nothing was changed by halves (request {request})"
    accepted = next((v for n, v in scope["headers"] if n == b"accept"), b"")
    if b"text/html" in accepted and not scope["path"].startswith("/api/"):
        page = f"<!doctype html><html lang=en><title>Discreet</title><p role=alert>{said}"
        return HTMLResponse(page, 500)
    return JSONResponse(problems.body("internal", said), 500)


def _headers(
    present: list[tuple[bytes, bytes]], path: str, request: str
) -> list[tuple[bytes, bytes]]:
    names = {name for name, _ in present}
    keep = "public, max-age=600" if path.startswith(STATIC) else "no-store"
    wanted = {**HEADERS, "x-request-id": request, "cache-control": keep}
    return [(n.encode(), v.encode()) for n, v in wanted.items() if n.encode() not in names]
