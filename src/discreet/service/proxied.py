"""Whom a trusted proxy names: a declared header, taken from declared addresses alone."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.service.problems import Problem

PEER = "discreet.peer"
"""In a request's scope: the address at the other end of the connection itself."""


class NotePeer:
    """Around what takes a proxy's word about where a request comes from."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and scope.get("client"):
            scope[PEER] = scope["client"][0]
        await self.app(scope, receive, send)


@dataclass(frozen=True)
class NamedByProxy:
    """Takes one header's word, of one proxy or network of them."""

    header: str
    proxy: str

    def person(self, request: Request) -> str | None:
        """Who asks, by the proxy's word; None if it names nobody, or it is not the proxy."""
        if not self._trusts(request.scope.get(PEER)):
            return None
        given = request.headers.getlist(self.header)
        if len(given) > 1:
            raise Problem(400, "two_names", "the proxy names more than one person")
        return (given[0].strip() or None) if given else None

    def _trusts(self, peer: str | None) -> bool:
        if peer is None:
            return False
        try:
            found = ip_address(peer)
        except ValueError:
            return False
        mapped = getattr(found, "ipv4_mapped", None)
        return (mapped or found) in ip_network(self.proxy)
