"""A small club behind an application: two people, an operator, a monitor, a first release."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2 as httpx
from fastapi import FastAPI
from fastapi.testclient import TestClient

from discreet.data.ratings import Ratings
from discreet.database import people
from discreet.database.connection import Database
from discreet.database.people import Role
from discreet.operate.releases import publish
from discreet.service.app import create_app
from discreet.service.limits import Limits, Rate
from tests.databases import filled

UNLIMITED = Rate(1e9, 10**9)
GENEROUS = Limits(
    person=UNLIMITED, address=UNLIMITED, wrong_tokens=UNLIMITED, joining=UNLIMITED,
    front_end=UNLIMITED,
)  # fmt: skip
OUR_PAGE = {"sec-fetch-site": "same-origin", "accept": "text/html"}


@dataclass
class Club:
    """What a test needs."""

    app: FastAPI
    client: TestClient
    database: Database
    tokens: dict[str, str]

    def __call__(self, who: str | None, method: str, path: str, **words: object) -> httpx.Response:
        """Ask as somebody, by token."""
        headers = dict(words.pop("headers", {}))  # type: ignore[call-overload]
        if who is not None:
            headers["Authorization"] = f"Bearer {self.tokens.get(who, who)}"
        self.client.cookies.clear()
        return self.client.request(method, path, headers=headers, **words)  # type: ignore[arg-type]


@contextmanager
def open_club(
    database: Database,
    ratings: Ratings,
    limits: Limits = GENEROUS,
    *,
    seed: int | None = None,
    **wanted: object,
) -> Iterator[Club]:
    """With a seed, a club that protects nobody."""
    declared = filled(database, ratings, **wanted)
    publish(database, declared, seed=seed)
    tokens = {}
    with database.writing() as connection:
        for person in ("u1", "u2"):
            tokens[person] = people.issue(connection, Role.PERSON, person)
        tokens["late"] = people.issue(connection, Role.PERSON, "u1", days=-0.001)
        tokens["operator"] = people.issue(connection, Role.OPERATOR)
        tokens["monitor"] = people.issue(connection, Role.MONITOR)
        tokens["service"] = people.issue(connection, Role.SERVICE, name="shop")
    app = create_app(database, limits=limits)
    with TestClient(app, follow_redirects=False, raise_server_exceptions=False) as client:
        yield Club(app, client, database, tokens)
