"""Options of discreet serve that travel together: limits, and the doors that people come in by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import extras
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.service.front_doors import FrontDoors
    from discreet.service.limits import Limits, Rate
    from discreet.service.openid import Client


@dataclass(frozen=True)
class LimitOptions:
    """How often one may ask."""

    person_limit: Annotated[
        str | None,
        typer.Option(
            metavar="RATE/BURST",
            help="Requests of one person a second, and at once (default 20/100).",
        ),
    ] = None
    address_limit: Annotated[
        str | None,
        typer.Option(metavar="RATE/BURST", help="Of one address, for what is public (50/300)."),
    ] = None
    signed_in_limit: Annotated[
        str | None,
        typer.Option(
            metavar="RATE/BURST", help="Of one address, by all who are signed in there (200/1000)."
        ),
    ] = None
    front_end_limit: Annotated[
        str | None,
        typer.Option(
            metavar="RATE/BURST",
            help="Of one front end with a service's token, which sends many rows at once (100/500; "
            "every 50 rows count as a request more).",
        ),
    ] = None

    @property
    def value(self) -> Limits:
        """The same, checked, in the service's words."""
        from discreet.service.limits import Limits

        given = {
            "person": self.person_limit,
            "address": self.address_limit,
            "signed_in": self.signed_in_limit,
            "front_end": self.front_end_limit,
        }
        rates: dict[str, Any] = {
            name: _rate(name, text) for name, text in given.items() if text is not None
        }
        return Limits(**rates)


def _rate(name: str, text: str) -> Rate:
    """A limit as it is written: requests a second / at once."""
    from discreet.service.limits import Rate

    try:
        per_second, burst = (float(part) for part in text.split("/"))
        if not (0 < per_second < math.inf and 1 <= burst < math.inf):
            raise ValueError
    except ValueError:
        option = name.replace("_", "-")
        raise ParameterError(
            f"--{option}-limit is requests a second / at once, such as 20/100: got {text!r}"
        ) from None
    return Rate(per_second, burst)


@dataclass(frozen=True)
class DoorOptions:
    """By which doors people and programs come in."""

    trusted_proxy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A proxy in front, or a network of them, whose word about where a request comes "
            "from, and whether by HTTPS, is taken.",
        ),
    ] = None
    invited_only: Annotated[
        bool,
        typer.Option("--invited-only", help="Nobody can join whom the operator has not let in."),
    ] = False
    user_header: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The header in which the trusted proxy names who asks, by your own user ids; from "
            "anywhere else it is ignored.",
        ),
    ] = None
    oidc_issuer: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Sign in by OpenID Connect: the provider's issuer."),
    ] = None
    oidc_client: Annotated[
        str | None, typer.Option(metavar="ID", help="This service's client id there.")
    ] = None
    oidc_secret_file: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="A file with its client secret; without one it is a public client, with PKCE.",
        ),
    ] = None
    oidc_claim: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The claim that is a person's id here, as in your ratings table: one that nobody "
            "can choose for themselves.",
        ),
    ] = "sub"
    oidc_operators: Annotated[
        str | None,
        typer.Option(
            metavar="ID,...",
            help="Who operates, by the same claim, beside those who have an operator's token; "
            "sessions that have begun go on for up to twelve hours.",
        ),
    ] = None
    allow_origin: Annotated[
        str | None,
        typer.Option(
            metavar="ORIGIN,...",
            help="Other sites whose pages may use the API from a browser, by token (CORS), such as "
            "https://shop.example.",
        ),
    ] = None

    @property
    def value(self) -> FrontDoors:
        """The same, checked, in the service's words."""
        from discreet.service.front_doors import FrontDoors

        return FrontDoors(
            open_to_all=not self.invited_only,
            trusted_proxy=self.trusted_proxy,
            user_header=self.user_header,
            openid=self._client(),
            origins=_parts(self.allow_origin),
        )

    def _client(self) -> Client | None:
        if self.oidc_issuer is None:
            return None
        if self.oidc_client is None:
            raise ParameterError("--oidc-issuer needs this service's client id: --oidc-client ID")
        extras.require("oidc", "signing in by OpenID Connect")
        from discreet.service.openid import Client

        file = self.oidc_secret_file
        secret = None if file is None else file.read_text().strip()
        operators = _parts(self.oidc_operators)
        return Client(self.oidc_issuer, self.oidc_client, secret, self.oidc_claim, operators)


def _parts(text: str | None) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(filter(None, (part.strip() for part in (text or "").split(","))))
