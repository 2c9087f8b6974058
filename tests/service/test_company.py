"""Signing in by one's own company: OpenID Connect, or a header of a trusted proxy."""

import logging
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient
from joserfc.jwk import OctKey, RSAKey

from discreet.data.ratings import Ratings
from discreet.database import acts, people
from discreet.database.connection import Database
from discreet.database.people import Role
from discreet.errors import ParameterError
from discreet.service import logs
from discreet.service.app import create_app
from discreet.service.front_doors import FrontDoors
from discreet.service.openid import Client
from discreet.service.proxied import NotePeer
from tests.databases import filled
from tests.processes import serving
from tests.service.clubs import GENEROUS, OUR_PAGE
from tests.service.providers import CLIENT, SECRET, SmallProvider, provider


@pytest.fixture
def company() -> Iterator[SmallProvider]:
    with provider() as small:
        yield small


def browser(database: Database, doors: FrontDoors) -> TestClient:
    app = create_app(database, limits=GENEROUS, doors=doors)
    return TestClient(app, follow_redirects=False, raise_server_exceptions=False)


@pytest.fixture
def client(sqlite: Database, small: Ratings, company: SmallProvider) -> Iterator[TestClient]:
    filled(sqlite, small)
    with browser(sqlite, FrontDoors(openid=Client(company.issuer, CLIENT, SECRET))) as opened:
        yield opened


def returned(client: TestClient) -> str:
    """Go to the provider, sign in there, and be sent back: to which address."""
    begun = client.get("/signin/company", headers=OUR_PAGE)
    assert begun.status_code == 303
    asked = httpx.get(begun.headers["location"])
    assert asked.status_code == 303
    place = urlsplit(asked.headers["location"])
    assert place.path == "/signin/back"
    return f"{place.path}?{place.query}"


def test_who_signs_in_at_the_company_is_here_by_its_own_id(
    client: TestClient, company: SmallProvider, sqlite: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert "/signin/company" in client.get("/signin", headers=OUR_PAGE).text
    company.subject = "u1"  # who was imported, with ratings
    back = returned(client)
    landed = client.get(back, headers=OUR_PAGE)
    assert landed.status_code == 200
    assert landed.headers["refresh"] == "0; url=/home"
    assert "samesite=strict" in str(landed.headers.get_list("set-cookie")).lower()
    me = client.get("/api/me").json()
    assert (me["person"], me["ratings"] > 0) == ("u1", True)
    # Whoever is new here on the pages is asked for their level first.
    assert client.get("/home", headers=OUR_PAGE).headers["location"] == "/level"
    assert client.get(back, headers=OUR_PAGE).status_code == 403  # once
    client.get("/model", headers=OUR_PAGE)
    [line] = [logs.JsonLines().format(r) for r in caplog.records if r.name == logs.log.name]
    assert '"/model"' in line  # and nothing of who signed in, or when
    with sqlite.reading() as connection:
        assert [one["kind"] for one in people.accesses(connection, "u1")] == ["session"]


def test_a_sign_in_that_another_browser_began_is_refused(
    client: TestClient, sqlite: Database, company: SmallProvider
) -> None:
    back = returned(client)
    doors = FrontDoors(openid=Client(company.issuer, CLIENT, SECRET))
    with browser(sqlite, doors) as other:
        assert other.get(back, headers=OUR_PAGE).status_code == 403
        returned(other)
        assert other.get(back, headers=OUR_PAGE).status_code == 403  # begun, but with another state
    assert client.get(back.replace("state=", "state=x"), headers=OUR_PAGE).status_code == 403


OTHER = RSAKey.generate_key(2048)
LIES: dict[str, dict[str, Any]] = {
    "signed by somebody else": {"published": OTHER},
    "signed with a shared secret": {
        "key": OctKey.import_key(SECRET), "header": {"alg": "HS256"}, "published": OTHER,
    },
    "of another issuer": {"claims": {"iss": "https://elsewhere.example"}},
    "for another client": {"claims": {"aud": "another"}},
    "for several, not for us": {"claims": {"aud": [CLIENT, "another"], "azp": "another"}},
    "for another sign-in": {"claims": {"nonce": "another"}},
    "without a nonce": {"claims": {"nonce": None}},
    "too old": {"claims": {"exp": 1_000_000_000}},
    "without an end": {"claims": {"exp": None}},
    "about nobody": {"claims": {"sub": None}},
    "to who does not know the secret": {"secret": "another"},
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_an_id_token_that_does_not_hold_signs_nobody_in(
    client: TestClient, company: SmallProvider, lie: str
) -> None:
    for name, value in LIES[lie].items():
        setattr(company, name, value)
    answer = client.get(returned(client), headers=OUR_PAGE)
    assert answer.status_code == 403
    assert client.get("/api/me").status_code == 401


def test_new_keys_of_the_provider_are_found(
    client: TestClient, company: SmallProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get(returned(client), headers=OUR_PAGE).status_code == 200
    company.key = OTHER
    monkeypatch.setattr("discreet.service.openid._LOOK_AGAIN_SECONDS", 0.0)
    assert client.get(returned(client), headers=OUR_PAGE).status_code == 200
    assert company.fetched.count("/keys") >= 2


def test_an_address_counts_only_if_the_provider_has_verified_it(
    sqlite: Database, small: Ratings, company: SmallProvider
) -> None:
    filled(sqlite, small)
    told = Client(company.issuer, CLIENT, SECRET, "email")
    company.claims = {"email": "ann@company.example"}
    with browser(sqlite, FrontDoors(openid=told)) as client:
        assert client.get(returned(client), headers=OUR_PAGE).status_code == 403
        company.claims["email_verified"] = True
        assert client.get(returned(client), headers=OUR_PAGE).status_code == 200
        assert client.get("/api/me").json()["person"] == "ann@company.example"


def test_a_company_names_nobody_who_joined_here_was_erased_or_not_invited(
    sqlite: Database, small: Ratings, company: SmallProvider
) -> None:
    filled(sqlite, small)
    with sqlite.writing() as connection:
        joined = people.new_person(connection)
        people.erase(connection, "u3")
    openid = Client(company.issuer, CLIENT, SECRET)
    with browser(sqlite, FrontDoors(openid=openid)) as client:
        for taken in (joined, "u3"):
            company.subject = taken
            assert client.get(returned(client), headers=OUR_PAGE).status_code == 403
    with browser(sqlite, FrontDoors(openid=openid, open_to_all=False)) as client:
        for subject, status in (("stranger", 403), ("u2", 200)):
            company.subject = subject
            assert client.get(returned(client), headers=OUR_PAGE).status_code == status


def test_a_provider_that_is_away_or_is_another_is_said_to_be(
    sqlite: Database, small: Ratings, company: SmallProvider
) -> None:
    filled(sqlite, small)
    openid = Client(company.issuer, CLIENT, SECRET)
    company.issuer = "https://elsewhere.example"
    with browser(sqlite, FrontDoors(openid=openid)) as client:
        assert client.get("/signin/company", headers=OUR_PAGE).status_code == 503
    with browser(sqlite, FrontDoors(openid=replace(openid, issuer="http://127.0.0.1:9"))) as client:
        assert client.get("/signin/company", headers=OUR_PAGE).status_code == 503
    with browser(sqlite, FrontDoors()) as client:
        assert client.get("/signin/company", headers=OUR_PAGE).status_code == 404
    with pytest.raises(ParameterError, match="https"):
        Client("http://provider.example", CLIENT)
    assert SECRET not in repr(openid)


def test_a_provider_that_does_not_answer_keeps_nobody_else_waiting(
    sqlite: Database, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More people want to sign in than the service has threads, and others want a page."""
    filled(sqlite, small)
    monkeypatch.setattr("discreet.service.openid._SECONDS", 600)
    silent = socket.create_server(("127.0.0.1", 0))
    doors = FrontDoors(openid=Client(f"http://127.0.0.1:{silent.getsockname()[1]}", CLIENT))
    with browser(sqlite, doors) as client:
        wanted = ["/signin/company"] * 60 + ["/model"]
        asked = [threading.Thread(target=client.get, args=(path,), daemon=True) for path in wanted]
        for one in asked:
            one.start()
        asked[-1].join(30)
        kept_waiting = asked[-1].is_alive()
        silent.close()  # which ends what waits for it
        for one in asked:
            one.join()
    assert not kept_waiting


SHOP = "https://shop.example"
NAMED = FrontDoors(trusted_proxy="10.0.0.0/8", user_header="X-User", origins=(SHOP,))


def proxied(database: Database, peer: str) -> TestClient:
    app = create_app(database, limits=GENEROUS, doors=NAMED)
    return TestClient(NotePeer(app), client=(peer, 4000), follow_redirects=False)


def test_a_header_counts_from_the_declared_proxy_alone(sqlite: Database, small: Ratings) -> None:
    filled(sqlite, small)
    named = {"X-User": "u1"}
    with proxied(sqlite, "10.2.3.4") as client:
        assert client.get("/api/me", headers=named).json()["person"] == "u1"
        assert client.get("/api/me").status_code == 401
        new = client.get("/api/me", headers={"X-User": "company-9"}).json()
        assert (new["person"], new["ratings"]) == ("company-9", 0)
        first = client.get("/home", headers={"X-User": "company-9", **OUR_PAGE})
        assert (first.status_code, first.headers["location"]) == (303, "/level")
        both = [("X-User", "u1"), ("X-User", "u2")]
        assert client.get("/api/me", headers=both).status_code == 400
        for nobody in ("person-0123456789abcdef", "a\x7fb"):
            assert client.get("/api/me", headers={"X-User": nobody}).status_code == 403
    with proxied(sqlite, "192.0.2.1") as client:
        forged = {**named, "X-Forwarded-For": "10.2.3.4"}
        assert client.get("/api/me", headers=forged).status_code == 401
    with pytest.raises(ParameterError, match="--trusted-proxy"):
        FrontDoors(user_header="X-User")


def test_another_page_cannot_use_what_a_proxy_says(sqlite: Database, small: Ratings) -> None:
    filled(sqlite, small)
    rating = {"item": "100", "rating": 5}
    with proxied(sqlite, "10.2.3.4") as client:
        for site, status in (("cross-site", 403), ("same-origin", 200)):
            headers = {"X-User": "u1", "sec-fetch-site": site}
            answer = client.put("/api/me/ratings", json=rating, headers=headers)
            assert answer.status_code == status
            # A declared page is answered by token alone, whatever the proxy knows of the visitor.
            headers["origin"] = SHOP
            assert client.get("/api/me", headers=headers).status_code == status
        # An operator signs in by token, as before.
        with sqlite.writing() as connection:
            operator = people.issue(connection, people.Role.OPERATOR)
        headers = {"X-User": "u1", **OUR_PAGE}
        assert client.post("/signin", data={"token": operator}, headers=headers).status_code == 303
        assert client.get("/operator", headers=headers).status_code == 200


def test_behind_a_real_proxy_it_is_the_connection_that_counts(
    sqlite: Database, small: Ratings, tmp_path: Path
) -> None:
    filled(sqlite, small)
    words = ("--database", sqlite.url.database or "", "--user-header", "X-User")
    with serving(tmp_path, *words, "--trusted-proxy", "127.0.0.2") as served:

        def asked(comes_from: str, said: str) -> int:
            headers = {"X-User": "u1", "X-Forwarded-For": said, "X-Forwarded-Proto": "https"}
            with httpx.Client(transport=httpx.HTTPTransport(local_address=comes_from)) as client:
                return client.get(f"{served.address}/api/me", headers=headers).status_code

        assert asked("127.0.0.2", said="192.0.2.77") == 200
        assert asked("127.0.0.1", said="127.0.0.2") == 401
    assert '"u1"' not in served.log.read_text()


def test_operators_sign_in_at_the_company_by_their_own_names(
    sqlite: Database, small: Ratings, company: SmallProvider
) -> None:
    filled(sqlite, small)
    told = Client(company.issuer, CLIENT, SECRET, operators=("ann", "bob"))
    with browser(sqlite, FrontDoors(openid=told, open_to_all=False)) as client:
        company.subject = "ann"
        landed = client.get(returned(client), headers=OUR_PAGE)
        assert landed.headers["refresh"] == "0; url=/operator"
        assert 'href="/operator"' in landed.text
        assert client.get("/operator", headers=OUR_PAGE).status_code == 200
        assert client.get("/home", headers=OUR_PAGE).status_code != 200  # they rate nothing here
        words = {"things": "books"}
        assert client.post("/operator/declaration", data=words, headers=OUR_PAGE).is_redirect
        with sqlite.writing() as connection:
            assert acts.latest(connection, 1)[0].operator == "ann"
            assert not people.exists(connection, "ann")
            assert people.revoke_role(connection, Role.OPERATOR, "bob") == 0
            assert people.revoke_role(connection, Role.OPERATOR, "ann") == 1
        assert client.get("/operator", headers=OUR_PAGE).status_code == 303
        company.subject = "u1"  # whoever is not named is who they are
        assert client.get(returned(client), headers=OUR_PAGE).status_code == 200
        assert client.get("/operator", headers=OUR_PAGE).status_code == 403
