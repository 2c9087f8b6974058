"""No URL, log line or search's statement names an item or what is looked for: logs are kept."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus, urlencode

import polars as pl
import pytest
import sqlalchemy as sa

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database.connection import Database
from discreet.operate.imports import add_items
from discreet.service import guard, logs
from tests.service.clubs import OUR_PAGE, Club, open_club
from tests.service.test_access import signed_in

ITEM, WORD = "qx7wombat", "nocturne"
SECRET = re.compile(rf"{ITEM}|{WORD}|film|\b1[0-2]\d\b", re.IGNORECASE)
"""The item, the word, a title of the others, or their ids, from 100 to 129."""
ENDING = {"/signout", "/erase", "/token", "/join"}
NGINX = Path(__file__).parents[2] / "deploy" / "nginx.conf"


@dataclass
class Form:
    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Page(HTMLParser):
    """The links and forms of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[Form] = []
        self.elsewhere: list[Form] = []
        self.feed(text)
        self.forms += self.elsewhere

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.links += [known[name] for name in ("href", "src") if name in known]
        if tag == "form" and known.get("method") != "dialog":  # that one only closes a window
            self.forms.append(Form(known["action"], known.get("method", "get").lower()))
        name = known.get("name")
        if "formaction" in known:  # a button that goes elsewhere with the same fields
            form, more = self.forms[-1], {name: known.get("value", "")} if name else {}
            self.elsewhere.append(Form(known["formaction"], form.method, form.fields | more))
            return
        if not name or not self.forms:
            return
        if tag == "button":
            self.forms[-1].buttons.append((name, known.get("value", "")))
        elif tag == "input" and (known.get("type") != "checkbox" or "checked" in known):
            # Of a choice the last; into what is typed goes the word.
            typed = known.get("type") == "search"
            self.forms[-1].fields[name] = WORD if typed else known.get("value", "")


@dataclass
class Walk:
    """Everything that was asked for or linked while somebody used all of the service."""

    club: Club
    asked: list[str] = field(default_factory=list)
    linked: set[str] = field(default_factory=set)
    submitted: list[str] = field(default_factory=list)
    shapes: set[tuple[str | None, ...]] = field(default_factory=set)
    """Of forms that were submitted: one card is like another."""

    def take(self, method: str, url: str, **words: Any) -> str:
        self.asked.append(f"{method} {url}")
        answer = self.club.client.request(method, url, headers=OUR_PAGE, **words)
        assert answer.status_code < 400, (method, url, answer.text)
        if "location" in answer.headers:
            self.linked.add(answer.headers["location"])
            return self.take("GET", answer.headers["location"])
        return answer.text if "html" in answer.headers.get("content-type", "") else ""

    def look_at(self, text: str, depth: int) -> None:
        """Follow all links and submit all forms of a page, so deep."""
        page = Page(text)
        new = {link for link in page.links if link not in self.linked}
        self.linked |= new | {form.action for form in page.forms}
        for link in sorted(new):
            if link.startswith("/") and "static" not in link:
                self.look_at(self.take("GET", link), depth)
        for form in page.forms if depth else []:
            for button in form.buttons or [("", "")]:
                self.submit(form, dict(form.fields, **{button[0]: button[1]}), depth)

    def submit(self, form: Form, fields: dict[str, str], depth: int) -> None:
        fields.pop("", None)
        shape = (form.action, *sorted(fields), fields.get("action"), fields.get("page"))
        if form.action in ENDING or shape in self.shapes:
            return
        self.shapes.add(shape)
        self.submitted.append(f"{form.action} {sorted(fields.items())}")
        if form.method == "get":
            text = self.take("GET", f"{form.action}?{urlencode(fields)}")
        else:
            text = self.take("POST", form.action, data=fields)
        self.look_at(text, depth - 1)


@dataclass(frozen=True)
class Walked:
    walk: Walk
    log: str
    answers: list[Any]
    document: dict[str, Any]


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory, small: Ratings) -> Iterator[Walked]:
    """Use all pages and all of the public and the people's API, with everything written down."""
    database = Database(tmp_path_factory.mktemp("urls") / "club.db")
    written, root = StringIO(), logging.getLogger()
    handlers, level = root.handlers, root.level
    with open_club(database, small) as club:
        more = pl.DataFrame({"item": [ITEM], "title": [f"{WORD.title()} Wombat"]})
        add_items(database, Items.from_frame(more))
        club.app.state.service.public.look_now()
        logs.set_up(written)
        try:
            walk = Walk(club)
            signed_in(club, "u1")
            # The way to what one hid is there only for who hid something.
            club.client.post("/hide", data={"item": "129", "place": "home"}, headers=OUR_PAGE)
            walk.look_at(walk.take("GET", "/home"), depth=2)
            document = club.client.get("/openapi.json").json()
            answers = list(use_api(club, document))
            club.app.state.service.public.search = broken
            club(None, "POST", "/api/catalogue/search", json={"words": WORD})
            signed_in(club, "u2")
            club.client.post("/browse", data={"q": WORD}, headers=OUR_PAGE)
        finally:
            root.handlers, root.level = handlers, level
        yield Walked(walk, written.getvalue(), answers, document)


def broken(words: str) -> None:
    """A defect that nobody expected."""
    raise ValueError(f"cannot search for {words!r}, nor find {ITEM}")


def use_api(club: Club, document: dict[str, Any]) -> Iterator[Any]:
    """Every operation that a person or a front end may ask for, but erasing anybody."""
    pair = {"person": "u1", "item": ITEM}
    bodies: dict[str, dict[str, object]] = {
        "/api/me/ratings": {"item": ITEM, "rating": 4}, "/api/me/ratings/read": {"item": ITEM},
        "/api/catalogue/search": {"words": WORD}, "/api/me/ratings/delete": {"item": ITEM},
        "/api/service/ratings": {"rows": [{**pair, "rating": 4}]},
        "/api/service/ratings/delete": {"rows": [pair]},
        "/api/service/recommendations": {"people": ["u1"], "without": [ITEM]},
        "/api/me/recommendations": {"without": [ITEM]},
        "/api/service/people/export": {"person": "u1"},
    }  # fmt: skip
    operations = [(m.upper(), path) for path, ways in document["paths"].items() for m in ways]
    # To give the rating comes first, to delete it late, a new token at the end.
    turn = ("PUT", "GET", "POST", "DELETE")
    late = {"/api/me/ratings/delete": 1, "/api/service/ratings/delete": 2, "/api/me/token": 2}
    others = ("/api/operator", "/metrics", "/api/me/events", "/api/service/events")
    for method, path in sorted(operations, key=lambda o: (late.get(o[1], 0), turn.index(o[0]))):
        if path.startswith(others) or method == "DELETE" or path.endswith("/erase"):
            continue
        known = bodies.get(path) if method in ("PUT", "POST") else None
        who = "service" if path.startswith("/api/service") else "u1"
        answer = club(who, method, path.replace("{number}", "1"), json=known)
        assert answer.status_code < 400, (method, path, answer.text)
        yield answer


def test_the_walk_went_everywhere(walked: Walked) -> None:
    asked = {line.split("?")[0] for line in walked.walk.asked}
    assert asked >= {"GET /home", "GET /browse", "GET /mine", "GET /privacy", "GET /model",
                     "GET /api", "POST /rate", "POST /hide", "POST /undo", "POST /level",
                     "POST /browse", "GET /mine/hidden"}  # fmt: skip
    assert {line.split("/")[1] for line in asked} >= {"item", "covers"}
    assert any(WORD in key for key in walked.walk.submitted)
    assert any("'page', '2'" in key for key in walked.walk.submitted)
    assert any("'action', 'delete'" in key for key in walked.walk.submitted)
    assert any(ITEM in answer.text for answer in walked.answers)


def test_no_url_that_was_asked_for_or_linked_holds_an_item_or_a_search_word(
    walked: Walked,
) -> None:
    for url in (*walked.walk.asked, *walked.walk.linked):
        assert not SECRET.search(unquote_plus(url)), url


def test_no_answer_of_the_api_links_to_an_item(walked: Walked) -> None:
    for answer in walked.answers:
        for url in re.findall(r'"((?:/|https?:)[^"]*)"', answer.text):
            assert not SECRET.search(unquote_plus(url)), url


def test_no_url_of_the_api_has_room_for_a_text(walked: Walked) -> None:
    """Numbers, flags and a choice of fixed words alone: what is named, is named in a body."""
    found = [
        (path, parameter["name"], parameter["schema"])
        for path, ways in walked.document["paths"].items()
        for operation in ways.values()
        for parameter in operation.get("parameters", [])
        if parameter["in"] in ("path", "query")
    ]
    assert len(found) >= 4
    # The operator says how a table is to be read, columns by name among it: these are no items.
    texts = {
        (path, name)
        for path, name, schema in found
        if schema.get("type") not in ("integer", "number", "boolean") and "enum" not in schema
    }
    reading = {"columns", "separator", "encoding"}
    assert texts == {("/api/operator/items", name) for name in (*reading, "public_column")} | {
        ("/api/operator/ratings", name) for name in (*reading, "keep")
    } | {("/api/operator/events", name) for name in reading}


def test_our_own_logs_hold_none_either(walked: Walked) -> None:
    lines = walked.log.splitlines()
    assert any('"unexpected"' in line for line in lines)
    assert any("/api/catalogue/search" in line for line in lines)
    for line in lines:
        bare = re.sub(r'"(time|request)": "[^"]*"|"(ms|at)": (\[.*?\]|[\d.]+)', "", line)
        assert not SECRET.search(bare), line


def test_no_database_learns_what_somebody_looks_for(club: Club) -> None:
    """A server's log may hold every statement with its parameters."""
    new = pl.DataFrame({"item": [ITEM], "title": [f"{WORD.title()} Wombat"]})
    add_items(club.database, Items.from_frame(new))
    club.app.state.service.public.look_now()
    stated: list[str] = []

    def note(_c: object, _k: object, statement: str, parameters: object, *_: object) -> None:
        stated.append(f"{statement} {parameters}")

    sa.event.listen(club.database.engine, "before_cursor_execute", note)
    for who in (None, "u1"):
        answer = club(who, "POST", "/api/catalogue/search", json={"words": WORD})
        assert ITEM in answer.text
    for who, path, name in (("u1", "/browse", "q"), ("operator", "/operator/catalogue", "words")):
        signed_in(club, who)
        answer = club.client.post(path, data={name: WORD}, headers=OUR_PAGE)
        assert ITEM in answer.text
    assert stated  # who asks is looked for there
    for one in stated:
        assert not SECRET.search(one), one
    with club.database.reading() as connection:
        connection.execute(sa.select(sa.literal(WORD)))
    assert WORD in stated[-1]  # or it would have been seen


def test_the_proxy_writes_down_neither_who_asks_nor_what_for() -> None:
    text = NGINX.read_text()
    bare = "\n".join(line.split("#")[0] for line in text.splitlines())
    [kept] = re.findall(r"log_format\s+discreet\s+(.*?);", bare, re.DOTALL)
    used = set(re.findall(r"\$(\w+)", kept))
    assert used <= {"time_iso8601", "request_method", "uri", "status", "request_time"}
    logged = re.findall(r"access_log\s+(.*?);", bare)
    assert logged
    assert all("discreet if=$discreet_logged" in line for line in logged)
    [silent] = re.findall(r"~(\S+)\s+0;", bare)
    for place in guard.OWN:
        for url in (place, f"{place}/ratings"):
            assert re.search(silent, url), place
    assert not re.search(silent, "/api/releases")
