"""By which doors people and programs come in, beside tokens: as the operator declares."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import ParameterError
from discreet.service.proxied import NamedByProxy

if TYPE_CHECKING:
    from discreet.service.openid import Client


@dataclass(frozen=True)
class FrontDoors:
    """What a service is told of its surroundings; by default nobody's word is taken."""

    open_to_all: bool = True
    """Whether anybody may join, or only those to whom the operator gives a token."""
    trusted_proxy: str | None = None
    """A proxy, or a network of them, whose word about where a request comes from is taken."""
    user_header: str | None = None
    """In which that proxy also names who asks."""
    openid: Client | None = None
    """A provider of OpenID Connect, where people sign in."""
    origins: tuple[str, ...] = ()
    """Other sites whose pages may use the API from a browser."""

    def __post_init__(self) -> None:
        try:
            ip_network(self.trusted_proxy or "127.0.0.1")
        except ValueError:
            raise ParameterError(
                "--trusted-proxy is an address or a network, such as 10.0.0.5: got "
                f"{self.trusted_proxy!r}"
            ) from None
        if self.user_header is not None and self.trusted_proxy is None:
            raise ParameterError(
                "--user-header takes a proxy's word about who asks: say which with --trusted-proxy"
            )
        for origin in self.origins:
            place = urlsplit(origin)
            whole = f"{place.scheme}://{place.netloc}"
            if place.scheme not in ("http", "https") or not place.netloc or whole != origin:
                raise ParameterError(
                    "--allow-origin is a scheme and a host, such as https://shop.example: got "
                    f"{origin!r}"
                )

    @property
    def named(self) -> NamedByProxy | None:
        """Who takes the proxy's word about who asks, if anybody does."""
        if self.user_header is None or self.trusted_proxy is None:
            return None
        return NamedByProxy(self.user_header, self.trusted_proxy)


BY_TOKEN = FrontDoors()
"""The default: nobody's word is taken."""


class ForeignPages:
    """Lets pages of declared origins use the API, by token; never a browser's session."""

    def __init__(self, app: ASGIApp, *, origins: tuple[str, ...]) -> None:
        self.app = app
        self.api = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-None-Match"],
            expose_headers=["ETag", "Retry-After", "X-Request-Id"],
            allow_credentials=False,
            max_age=3600,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        api = scope["type"] == "http" and scope["path"].startswith("/api/")
        await (self.api if api else self.app)(scope, receive, send)
