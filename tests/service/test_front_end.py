"""A company's own front end: many people's ratings at once, once each, by a token of its own."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import polars as pl
import pytest
import uvicorn
from fastapi.testclient import TestClient

from discreet import client as clients
from discreet.client import Event, FrontEnd, Rating, ServiceError
from discreet.data.events import Events
from discreet.data.ratings import Ratings
from discreet.database import own_ratings, people
from discreet.database.connection import Database
from discreet.database.declaration import establish
from discreet.database.people import Role
from discreet.errors import ParameterError
from discreet.operate.assess import assess
from discreet.operate.imports import add_items, add_ratings
from discreet.operate.releases import publish
from discreet.service.app import create_app
from discreet.service.front_doors import FrontDoors
from discreet.service.limits import Limits, Rate
from tests.databases import filled, films
from tests.processes import free_port
from tests.service.clubs import GENEROUS, OUR_PAGE, Club, open_club


def token(database: Database, name: str = "shop") -> str:
    with database.writing() as connection:
        return people.issue(connection, Role.SERVICE, name=name)


def rows(*given: tuple[object, ...]) -> dict[str, object]:
    names = ("person", "item", "rating", "epsilon")
    return {"rows": [dict(zip(names, row, strict=False)) for row in given]}


def test_many_ratings_are_given_at_once_or_none(club: Club) -> None:
    shop = token(club.database)
    sent = rows(("ann", "100", 5.0, 0.3), ("bob", "101", 2.0), ("u1", "102", 1.0))
    answer = club(shop, "POST", "/api/service/ratings", json=sent)
    assert answer.json() == {"written": 3, "skipped": 0}
    with club.database.reading() as connection:
        [ann] = own_ratings.of(connection, "ann")
        [bob] = own_ratings.of(connection, "bob")
    assert (ann.item, ann.rating, ann.epsilon) == ("100", 5.0, 0.3)
    assert bob.epsilon == 0.1  # the declared default
    for wrong in (("cleo", "nothing", 3.0), ("cleo", "100", 9.0), ("cleo", "100", 3.0, 7.0)):
        refused = club(shop, "POST", "/api/service/ratings", json=rows(("dan", "100", 3.0), wrong))
        assert refused.status_code == 422
        assert "rows.1" in refused.json()["error"]["message"]
        assert "cleo" not in refused.text
    with club.database.reading() as connection:
        assert not own_ratings.of(connection, "dan")
        assert not people.exists(connection, "dan")
    deleted = rows(("ann", "100"), ("ann", "101"))
    answer = club(shop, "POST", "/api/service/ratings/delete", json=deleted)
    assert answer.json() == {"written": 1, "skipped": 1}


def test_an_erased_person_does_not_come_back_by_a_front_end(small_club: Club) -> None:
    shop = token(small_club.database)
    exported = small_club(shop, "POST", "/api/service/people/export", json={"person": "u1"}).json()
    assert exported["person"] == "u1"
    assert len(exported["ratings"]) > 0
    gone = small_club(shop, "POST", "/api/service/people/erase", json={"person": "u1"})
    assert gone.status_code == 204
    sent = rows(("u1", "100", 5.0), ("u2", "100", 5.0))
    answer = small_club(shop, "POST", "/api/service/ratings", json=sent)
    assert answer.json() == {"written": 1, "skipped": 1}
    [act] = small_club("operator", "GET", "/api/operator/acts").json()
    assert (act["operator"], act["act"], act["detail"]) == ("shop", "erase a person", "")


def test_lists_of_many_people_are_each_ones_own(small_club: Club) -> None:
    shop = token(small_club.database)
    wanted = {"people": ["u1", "u2", "nobody yet"], "n": 5}
    answer = small_club(shop, "POST", "/api/service/recommendations", json=wanted).json()
    assert answer["release"] == 1
    for who, one in zip(("u1", "u2"), answer["lists"], strict=False):
        alone = small_club(who, "GET", "/api/me/recommendations?n=5").json()
        assert one == {"person": who, "recommendations": alone["recommendations"]}
    assert len(answer["lists"][2]["recommendations"]) == 5
    with small_club.database.reading() as connection:
        assert not people.exists(connection, "nobody yet")


def test_its_token_opens_nothing_else_and_nobody_elses_opens_this(small_club: Club) -> None:
    shop = token(small_club.database)
    for path in ("/api/me", "/api/operator/ledger", "/metrics"):
        assert small_club(shop, "GET", path).status_code == 403
    page = {"sec-fetch-site": "same-origin", "accept": "text/html"}
    assert small_club.client.post("/signin", data={"token": shop}, headers=page).status_code == 401
    for who in ("u1", "operator", "monitor", None):
        answer = small_club(who, "POST", "/api/service/ratings", json=rows(("u1", "100", 5.0)))
        assert answer.status_code == (401 if who is None else 403)
    # Before it is known who sends it, nothing large is read.
    large = json.dumps(rows(*[("a" * 200, "100", 5.0)] * 400)).encode()
    assert small_club(None, "POST", "/api/service/ratings", content=large).status_code == 401
    assert small_club(shop, "POST", "/api/service/ratings", content=large).status_code == 200
    too_large = b" " * (Limits().bulk + 1)
    assert small_club(shop, "POST", "/api/service/ratings", content=too_large).status_code == 413


def test_every_so_many_rows_count_as_a_request(sqlite: Database, small: Ratings) -> None:
    with open_club(sqlite, small, Limits(front_end=Rate(0.001, 8))) as club:
        shop, kiosk = token(club.database), token(club.database, "kiosk")
        many = rows(*[("ann", str(100 + k % 30), 3.0) for k in range(300)])
        for by in (shop, kiosk):  # 1 + 300/50 each
            statuses = [
                club(by, "POST", "/api/service/ratings", json=many).status_code for _ in range(3)
            ]
            assert statuses == [200, 429, 429]


def test_pages_of_declared_origins_use_the_api_by_token_alone(
    sqlite: Database, small: Ratings
) -> None:
    from fastapi.testclient import TestClient

    filled(sqlite, small)
    app = create_app(sqlite, limits=GENEROUS, doors=FrontDoors(origins=("https://shop.example",)))
    asked = {
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "authorization",
    }
    with TestClient(app) as client:
        for origin, allowed in (("https://shop.example", True), ("https://evil.example", False)):
            headers = {"Origin": origin, **asked}
            answer = client.options("/api/me/ratings", headers=headers)
            assert (answer.headers.get("access-control-allow-origin") == origin) is allowed
            assert "access-control-allow-credentials" not in answer.headers
            plain = client.get("/api/declaration", headers={"Origin": origin})
            assert ("access-control-allow-origin" in plain.headers) is allowed
            page = client.get("/", headers={"Origin": origin})
            assert "access-control-allow-origin" not in page.headers
    for wrong in ("*", "shop.example", "https://shop.example/path", "null"):
        with pytest.raises(ParameterError, match="--allow-origin"):
            FrontDoors(origins=(wrong,))


@pytest.fixture
def address(database: Database, small: Ratings) -> Iterator[str]:
    """The service over real HTTP, in a thread."""
    declared = filled(database, small)
    publish(database, declared)
    yield from served(database)


def served(database: Database) -> Iterator[str]:
    config = uvicorn.Config(create_app(database), port=free_port(), log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.02)
    yield f"http://127.0.0.1:{config.port}"
    server.should_exit = True
    thread.join()


def test_the_client_sends_parts_and_shows_lists(address: str, database: Database) -> None:
    with FrontEnd(address, token(database)) as shop:
        many = [Rating(f"p{k % 50}", str(100 + k // 50), 4.0, 0.3) for k in range(1500)]
        assert shop.put_ratings(iter(many)) == (1500, 0)
        lists = shop.recommend(["p1", "u1"], n=3)
        assert lists["p1"] == []  # who has rated all thirty
        assert [pick.rank for pick in lists["u1"]] == [1, 2, 3]
        assert shop.delete([("p1", "100")]) == (1, 0)
        assert [pick.item for pick in shop.recommend(["p1"])["p1"]] == ["100"]
        assert len(shop.export("p1")["ratings"]) == 29
        shop.erase("p1")
        assert shop.put_ratings([Rating("p1", "100", 4.0)]) == (0, 1)
        with pytest.raises(ServiceError, match=r"rows\.0") as refused:
            shop.put_ratings([Rating("p2", "nothing", 4.0)])
        assert (refused.value.status, refused.value.code) == (422, "unknown_item")
        with pytest.raises(ServiceError) as refused:
            shop.add_events([Event("p2", "100")])
        assert refused.value.code == "ratings"
    with pytest.raises(ServiceError) as refused, FrontEnd(address, "nobody's") as nobody:
        nobody.recommend(["u1"])
    assert refused.value.status == 401
    with pytest.raises(ParameterError):
        FrontEnd("club.example", "token")


def test_an_error_about_a_token_does_not_show_it() -> None:
    for broken in ("secret\nmore", "secret\u00e9", ""):
        with pytest.raises(ParameterError, match="no token") as refused:
            FrontEnd("http://127.0.0.1:9", broken)
        assert "secret" not in str(refused.value)
    with FrontEnd("http://127.0.0.1:9", "secret\n", patience=0.0) as shop:  # read from a file
        with pytest.raises(ServiceError) as away:
            shop.export("ann")
        assert away.value.code == "unreachable"


def test_the_client_asks_again_under_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it was told to wait, and where no answer came: it may have been done."""
    keys: list[str | None] = []
    monkeypatch.setattr(clients.time, "sleep", lambda _: None)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            keys.append(self.headers["Idempotency-Key"])
            self.rfile.read(int(self.headers["Content-Length"]))
            if len(keys) == 2:
                self.close_connection = True
                return  # no answer
            body = b'{"written": 1, "skipped": 0}' if len(keys) == 3 else b""
            self.send_response(200 if body else 503)
            self.send_header("Retry-After", "1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with FrontEnd(f"http://127.0.0.1:{server.server_port}", "x") as shop:
        assert shop.put_ratings([Rating("a", "b", 1.0)]) == (1, 0)
        assert len(keys) == 3
        assert len(set(keys)) == 1
        keys.extend(["later"] * 2)
        shop.patience = 0.0
        with pytest.raises(ServiceError):
            shop.put_ratings([Rating("a", "b", 1.0)])
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("rules", "sent", "counted"),
    [
        ({}, [None, None], 1.0),
        ({"quantity": "linear:10"}, [4.0, 2.0], 0.4),
        ({"quantity": "linear:10", "repeats": "sum"}, [4.0, 2.0, None], 0.7),
        ({"quantity": "linear:10", "repeats": "last"}, [4.0, 2.0], 0.2),
        ({"quantity": "log:10", "repeats": "sum"}, [3.0, 40.0], 1.0),
    ],
)
def test_events_count_by_the_declared_rules(
    database: Database, rules: dict[str, str], sent: list[float | None], counted: float
) -> None:
    establish(database, {"events": True, **rules})
    add_items(database, films())
    shop = token(database)
    from fastapi.testclient import TestClient

    with TestClient(create_app(database, limits=GENEROUS)) as client:
        club = Club(client.app, client, database, {})  # type: ignore[arg-type]
        for weight in sent:
            event = {"person": "ann", "item": "100", "epsilon": 0.3}
            if weight is not None:
                event["weight"] = weight
            answer = club(shop, "POST", "/api/service/events", json={"rows": [event]})
            assert answer.json() == {"written": 1, "skipped": 0}
        with database.writing() as connection:
            ann = people.issue(connection, Role.PERSON, "ann")
        [mine] = club(ann, "GET", "/api/me/ratings").json()
        assert mine["rating"] == pytest.approx(counted, abs=1e-5)
        lower = {"item": "100", "weight": 1.0, "epsilon": 0.1}
        own = club(ann, "POST", "/api/me/events", json=lower).json()
        assert own["rating"]["epsilon"] == 0.1  # the smallest of its events'
        rated = club(ann, "PUT", "/api/me/ratings", json={"item": "100", "rating": 1})
        assert (rated.status_code, rated.json()["error"]["code"]) == (409, "events")


def test_a_service_of_events_takes_them_and_gives_lists(sqlite: Database, small: Ratings) -> None:
    """From the first command to a list, with the release's own words for events."""
    declared = establish(sqlite, {"events": True, "levels": (1.0,)})
    add_items(sqlite, films())
    for address in served(sqlite):
        with FrontEnd(address, token(sqlite)) as shop:
            pairs = small.to_frame().select("user", "item").iter_rows()
            events = [Event(str(user), str(item)) for user, item in pairs]
            assert shop.add_events(events) == (len(events), 0)
            with pytest.raises(ServiceError, match="no release yet"):
                shop.recommend(["u1"])
            publish(sqlite, declared)
            lists = shop.recommend(["u1", "somebody new"], n=5)
            chosen = {event.item for event in events if event.person == "u1"}
            assert len(lists["u1"]) == 5
            assert not chosen & {pick.item for pick in lists["u1"]}
            with pytest.raises(ServiceError) as refused:
                shop.recommend(["u1"], rank_by="liked")
            assert refused.value.code == "cannot_rank"
            with pytest.raises(ServiceError) as refused:
                shop.recommend(["u1"], with_error=True)
            assert refused.value.code == "cannot_rank"
            again = shop.recommend(["u1"], n=100, include_rated=True, without=["100"])["u1"]
            assert chosen - {"100"} <= {pick.item for pick in again}
            assert "100" not in {pick.item for pick in again}
            late = shop.recommend(["u1"], among={"year": (1990, None)})["u1"]
            years = dict(films().frame.select("item", "year").iter_rows())
            assert late
            assert all(years[pick.item] >= 1990 for pick in late)
    with sqlite.reading() as connection:
        assert len(own_ratings.of(connection, "u1")) == len(chosen)


def test_the_operator_s_page_tells_of_events_how_good_lists_are(
    sqlite: Database, small: Ratings
) -> None:
    declared = establish(sqlite, {"events": True, "levels": (1.0,)})
    add_items(sqlite, films())
    texts = small.to_frame().with_columns(pl.col("user", "item").cast(pl.String))
    add_ratings(sqlite, declared, Events.from_frame(texts.select("user", "item")))
    entry, snapshot = publish(sqlite, declared)
    with sqlite.writing() as connection:
        operator = people.issue(connection, Role.OPERATOR)
    with TestClient(create_app(sqlite, limits=GENEROUS)) as browser:
        browser.post("/signin", data={"token": operator}, headers=OUR_PAGE)
        before = browser.get("/operator", headers=OUR_PAGE).text
        assert assess(sqlite, declared, snapshot, entry.number) is not None
        shown = browser.get("/operator", headers=OUR_PAGE).text
    assert "Drawn a moment after a release" in before
    assert "hits among ten listed" in shown
    assert "A tenth of the events hidden" in shown
    assert "that somebody chose" in " ".join(shown.split())
    assert "Error of predicted ratings" not in shown
