"""What a review found, each finding with its own test."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from discreet.data.ratings import Ratings
from discreet.database import people, publications
from discreet.database.connection import Database
from discreet.database.people import FRESH_MINUTES, Role
from discreet.database.schema import tokens
from discreet.service import disclosure
from discreet.service.app import create_app
from discreet.service.limits import Limits, Rate
from tests.databases import filled
from tests.service.clubs import GENEROUS, OUR_PAGE, UNLIMITED, Club, open_club
from tests.service.test_access import signed_in


def over_https(club: Club, who: str) -> str:
    """Sign in as a browser does over HTTPS; the cookie's name."""
    club.client.base_url = "https://testserver"  # type: ignore[assignment]
    form = {"token": club.tokens[who]}
    answer = club.client.post("/signin", data=form, headers=OUR_PAGE)
    assert answer.status_code == 303
    return str(answer.headers["set-cookie"].split("=")[0])


@pytest.mark.parametrize(("path", "form"), [("/signout", {}), ("/erase", {"confirm": "yes"})])
def test_over_https_the_browser_forgets_its_session(
    small_club: Club, path: str, form: dict[str, str]
) -> None:
    name = over_https(small_club, "u1")
    assert name.startswith("__Host-")
    answer = small_club.client.post(path, data=form, headers=OUR_PAGE)
    ended = answer.headers["set-cookie"]
    assert ended.startswith(f'{name}=""')
    assert "secure" in ended.lower()  # browsers drop a __Host- cookie that is set without
    assert name not in small_club.client.cookies


def test_an_ended_session_keeps_nobody_from_signing_in(sqlite: Database, small: Ratings) -> None:
    limits = Limits(wrong_tokens=Rate(0.001, 5), address=UNLIMITED)
    with open_club(sqlite, small, limits) as club:
        club.client.cookies.set("discreet-session", "ended")
        first = club.client.get("/", headers=OUR_PAGE)
        assert "Max-Age=0" in first.headers["set-cookie"]  # and the browser forgets it
        for _ in range(20):
            club.client.cookies.set("discreet-session", "ended")
            assert club.client.get("/", headers=OUR_PAGE).status_code == 200
        signed_in(club, "u1")


def test_a_release_is_packed_once_and_may_be_kept(
    small_club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = small_club(None, "GET", "/api/releases/1/model")
    assert first.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "certificate.json" in " ".join(ZipFile(BytesIO(first.content)).namelist())
    monkeypatch.setattr("discreet.service.immutable._archive", None)  # never again
    assert small_club(None, "GET", "/api/releases/1/model").content == first.content
    for path in ("model", "certificate"):
        url = f"/api/releases/1/{path}"
        tag = small_club(None, "GET", url).headers["etag"]
        again = small_club(None, "GET", url, headers={"if-none-match": f'W/"x", {tag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)


def test_search_finds_genres_years_and_parts_of_words(small_club: Club) -> None:
    def found(words: str) -> list[str]:
        wanted = {"words": words, "limit": 100}
        answer = small_club(None, "POST", "/api/catalogue/search", json=wanted).json()
        assert answer["total"] == len(answer["items"])
        return [item["item"] for item in answer["items"]]

    assert found("film 7 1997") == ["107"]
    assert len(found("crime")) == len(found("OMED cri")) == 10
    assert found("1997") == ["107"]
    assert found("war 1992") == ["102"]
    assert found('"') == found("film OR drama") == found("199") == []
    assert len(found("")) == 30


def test_disclosures_look_at_ones_own_rows_alone(
    club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    rated = [r["item"] for r in club("u1", "GET", "/api/me/ratings").json()]
    club("u1", "POST", "/api/me/ratings/delete", json={"item": rated[0]})
    looked: list[int] = []
    hashes_of_one = disclosure.hashes_of_one

    def counted(connection: sa.Connection, person: str, items: object) -> object:
        looked.append(len(items))  # type: ignore[arg-type]
        return hashes_of_one(connection, person, items)  # type: ignore[arg-type]

    monkeypatch.setattr(disclosure, "hashes_of_one", counted)
    found = club("u1", "GET", "/api/me/disclosures").json()["ratings"]
    assert looked == [len(rated)] != [30]
    assert {one["item"]: one["state"] for one in found}[rated[0]] == "deleted"


def test_all_who_are_signed_in_at_one_address_share_a_limit(
    sqlite: Database, small: Ratings
) -> None:
    limits = Limits(person=UNLIMITED, address=UNLIMITED, signed_in=Rate(0.01, 12))
    with open_club(sqlite, small, limits) as club:
        people_ = ["u1", "u2"] * 10
        statuses = [club(who, "GET", "/api/me").status_code for who in people_]
        assert statuses == [200] * 12 + [429] * 8
        assert club(None, "GET", "/").status_code == 200  # those who are not go on


def test_a_household_is_one_address_of_the_newer_kind(sqlite: Database, small: Ratings) -> None:
    limits = Limits(joining=Rate(0.001, 3), address=UNLIMITED)
    with open_club(sqlite, small, limits) as club:

        def join(host: str) -> int:
            client = TestClient(club.app, client=(host, 50000))
            return client.post("/api/people").status_code

        same = [join(f"2001:db8:1:2::{k:x}") for k in range(1, 6)]
        assert same == [201] * 3 + [429] * 2
        assert join("2001:db8:1:3::1") == 201


def test_a_session_is_not_a_token(small_club: Club) -> None:
    signed_in(small_club, "u1")
    session = small_club.client.cookies["discreet-session"]
    bearer = {"Authorization": f"Bearer {session}"}
    small_club.client.cookies.clear()
    assert small_club.client.get("/api/me", headers=bearer).status_code == 401
    assert small_club.client.post("/api/me/token", headers=bearer).status_code == 401
    form = {"token": session}
    assert small_club.client.post("/signin", data=form, headers=OUR_PAGE).status_code == 401
    small_club.client.cookies.set("discreet-session", small_club.tokens["u1"])
    assert small_club.client.get("/api/me").status_code == 401  # nor a token a session


def test_only_who_has_just_signed_in_replaces_the_token(small_club: Club) -> None:
    signed_in(small_club, "u1")
    cookies = dict(small_club.client.cookies)
    # Over the API it takes the token itself.
    assert small_club.client.post("/api/me/token", headers=OUR_PAGE).status_code == 401
    long_ago = {"created_at": tokens.c.created_at - FRESH_MINUTES * 60_000}
    with small_club.database.writing() as connection:
        connection.execute(sa.update(tokens).where(tokens.c.kind == "session").values(**long_ago))
    assert small_club.client.post("/token", headers=OUR_PAGE).status_code == 403
    assert small_club("u1", "GET", "/api/me").status_code == 200  # the owner's still is one
    small_club.client.cookies.update(cookies)
    small_club.client.post("/signout", headers=OUR_PAGE)
    signed_in(small_club, "u1")
    assert small_club.client.post("/token", headers=OUR_PAGE).status_code == 200


def test_a_token_that_an_operator_makes_leaves_a_trace(small_club: Club) -> None:
    with small_club.database.writing() as connection:
        ann = people.issue(connection, Role.OPERATOR, name="ann")
    assert small_club(ann, "POST", "/api/operator/people", json={"person": "u1"}).is_success
    [act] = small_club("operator", "GET", "/api/operator/acts").json()
    assert (act["operator"], act["act"], act["person"]) == ("ann", "make a token", "u1")
    export = small_club("u1", "GET", "/api/me/export").json()
    assert [one["operator"] for one in export["acts"]] == ["ann"]
    assert "ann" in [access["made_by"] for access in export["accesses"]]
    assert small_club("u2", "GET", "/api/me/export").json()["acts"] == []


def test_publishing_beside_a_declared_schedule_must_be_said(
    sqlite: Database, small: Ratings
) -> None:
    with open_club(sqlite, small, publish_every_hours=24) as club:
        refused = club("operator", "POST", "/api/operator/releases")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "off_schedule")
        assert "certificates" in refused.json()["error"]["message"]
        signed_in(club, "operator")
        assert club.client.post("/operator/publish", headers=OUR_PAGE).status_code == 409
        said = club("operator", "POST", "/api/operator/releases?off_schedule=true")
        assert said.status_code == 202
        [act] = club("operator", "GET", "/api/operator/acts").json()
        assert (act["act"], act["detail"]) == ("publish", "off schedule")


def test_the_first_release_may_come_before_its_time(sqlite: Database, small: Ratings) -> None:
    """Or there would be no recommendations for a whole day."""
    filled(sqlite, small, publish_every_hours=24)
    with sqlite.writing() as connection:
        operator = people.issue(connection, Role.OPERATOR)
    with TestClient(create_app(sqlite, limits=GENEROUS)) as client:
        bearer = {"Authorization": f"Bearer {operator}"}
        assert client.post("/api/operator/releases", headers=bearer).status_code == 202
        while client.get("/api/operator/publication", headers=bearer).json()["state"] == "running":
            time.sleep(0.05)
        assert len(client.get("/api/releases").json()) == 1


def test_of_several_processes_one_publishes_by_the_schedule(club: Club) -> None:
    """Both look at the same moment, and both find that a release is due."""
    due = [publications.begin(club.database, name, lambda _: True) for name in ("one", "other")]
    assert [begun is not None for begun in due] == [True, False]
    for name in ("one", "other"):  # either may be asked how it is doing
        with club.database.reading() as connection:
            assert publications.current(connection).holder == "one", name
    publications.end(club.database, "one", state="published", number=2)
    assert publications.begin(club.database, "other", lambda _: False) is None  # no longer due


def test_copying_is_offered_where_a_script_runs_alone(small_club: Club) -> None:
    page = small_club.client.post("/join", headers=OUR_PAGE).text
    [button] = re.findall(r"<button[^>]*data-copy[^>]*>", page)
    assert " hidden" in button  # which the script takes away


def test_import_errors_name_no_temporary_file_and_no_option_that_is_not_there(
    small_club: Club,
) -> None:
    csv, path = {"content-type": "text/csv"}, "/api/operator/ratings"

    def refused(table: bytes, words: str = "") -> str:
        answer = small_club("operator", "POST", path + words, headers=csv, content=table)
        assert answer.status_code == 422
        return str(answer.json()["error"]["message"])

    for said in (
        refused(b"user,item,rating\nu1,100,99\n"),
        refused(b"who,item,rating\nu1,100,3\n"),
        refused(b"\xff\xfe\x00broken"),
        refused(b""),
    ):
        assert "/tmp" not in said
        assert "discreet-import" not in said
        assert "--scale" not in said
    mapped = b"who;film;stars\nu1;129;3\n"
    words = "?columns=user=who&columns=item=film&columns=rating=stars&separator=;"
    read = small_club("operator", "POST", path + words, headers=csv, content=mapped)
    assert read.json() == {"rows": 1, "skipped": 0}
    twice = b"user,item,rating,timestamp\nu9,129,3,1\nu9,129,5,2\n"
    assert "--keep last" in refused(twice)
    kept = small_club("operator", "POST", f"{path}?keep=last", headers=csv, content=twice)
    assert kept.json() == {"rows": 1, "skipped": 0}


def test_a_refusal_knows_who_is_signed_in(small_club: Club) -> None:
    signed_in(small_club, "u1")
    page = small_club.client.post("/rate", data={"item": "?", "rating": "4"}, headers=OUR_PAGE)
    assert page.status_code == 404
    assert "Sign out" in page.text


def test_a_database_that_is_away_is_503(small_club: Club, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise sa.exc.OperationalError("SELECT secret", {}, OSError("away"))

    monkeypatch.setattr(people, "holder", away)
    answer = small_club("u1", "GET", "/api/me")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "no_database")
    assert "secret" not in answer.text
    small_club.client.cookies.set("discreet-session", "x")
    assert small_club.client.get("/", headers=OUR_PAGE).status_code == 503


def test_head_is_answered_like_get_without_a_body(small_club: Club) -> None:
    for path in ("/healthz", "/", "/api/releases", "/static/page.css"):
        got = small_club(None, "GET", path)
        head = small_club(None, "HEAD", path)
        assert (head.status_code, head.content) == (got.status_code, b"") == (200, b"")
        assert head.headers["content-length"] == got.headers["content-length"]


def test_what_computes_for_long_is_done_one_at_a_time(
    small_club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many accounts that ask for all that has left slow down those who ask for a list."""
    of_one, at_once, most = disclosure.record, 0, 0
    counting = threading.Lock()

    def watched(*words: Any) -> Any:
        nonlocal at_once, most
        with counting:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.02)
        found = of_one(*words)
        with counting:
            at_once -= 1
        return found

    monkeypatch.setattr(disclosure, "record", watched)
    bearer = {"Authorization": f"Bearer {small_club.tokens['u1']}"}
    signed_in(small_club, "u1")
    asked = [("/privacy", OUR_PAGE), ("/api/me/disclosures", bearer), ("/api/me/export", bearer)]
    with ThreadPoolExecutor(12) as threads:
        answers = list(
            threads.map(lambda one: small_club.client.get(one[0], headers=one[1]), asked * 4)
        )
    assert {answer.status_code for answer in answers} == {200}
    assert most == 1


def test_a_page_of_all_that_has_left_counts_as_much_as_over_the_api(
    sqlite: Database, small: Ratings
) -> None:
    limits = Limits(person=Rate(1e-6, 25), address=UNLIMITED, signed_in=UNLIMITED)
    with open_club(sqlite, small, limits) as club:
        statuses = [club("u1", "GET", "/api/me/disclosures").status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        signed_in(club, "u2")
        statuses = [club.client.get("/privacy", headers=OUR_PAGE).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]


def test_a_release_counts_as_many_requests_unless_one_has_it(
    sqlite: Database, small: Ratings
) -> None:
    with open_club(sqlite, small, Limits(address=Rate(1e-6, 25))) as club:
        tag = club(None, "GET", "/api/releases/1/model").headers["etag"]
        url, has = "/api/releases/1/model", {"if-none-match": tag}
        statuses = [club(None, "GET", url, headers=has).status_code for _ in range(5)]
        assert statuses == [304] * 5  # one each: what is left is enough for one release
        assert [club(None, "GET", url).status_code for _ in range(2)] == [200, 429]
