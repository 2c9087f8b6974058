"""Who may do what: every route of the OpenAPI document, tokens, sessions, limits."""

from typing import Any

from discreet.data.ratings import Ratings
from discreet.database import tastes
from discreet.database.connection import Database
from discreet.service.app import create_app
from discreet.service.limits import Buckets, Limits, Rate
from tests.service.clubs import OUR_PAGE, UNLIMITED, Club, open_club

PUBLIC = {
    ("POST", "/api/catalogue/search"), ("GET", "/api/declaration"), ("GET", "/api/releases"),
    ("GET", "/api/releases/{number}/certificate"), ("GET", "/api/releases/{number}/model"),
    ("POST", "/api/people"), ("GET", "/healthz"),
}  # fmt: skip


def routes(database: Database) -> list[tuple[str, str]]:
    paths: dict[str, Any] = create_app(database).openapi()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def role_of(path: str) -> str:
    for kind in ("operator", "service"):
        if path.startswith(f"/api/{kind}"):
            return kind
    return "monitor" if path == "/metrics" else "u1"


def test_every_route_is_public_by_name_or_asks_for_the_right_token(small_club: Club) -> None:
    club = small_club
    listed = routes(club.database)
    assert set(listed) >= PUBLIC
    assert len(listed) > 20
    for method, path in listed:
        if (method, path) in PUBLIC:
            continue
        url = path.replace("{number}", "1")
        body: dict[str, object] = {"item": "100"} | ({"rating": 3} if method == "PUT" else {})
        if path.endswith("/recommendations"):
            body = {}
        for who, status in ((None, 401), ("nonsense", 401), ("late", 401)):
            answer = club(who, method, url, json=body)
            assert answer.status_code == status, (method, path, who, answer.text)
        for who in {"u2", "operator", "monitor", "service"} - {role_of(path)}:
            if who == "u2" and role_of(path) == "u1":
                continue  # also a person: sees their own
            answer = club(who, method, url, json=body)
            assert answer.status_code == 403, (method, path, who, answer.text)
    assert club("u1", "GET", "/api/me").status_code == 200  # nothing of this has changed anything


def test_no_path_of_the_api_names_a_person(small_club: Club) -> None:
    for _, path in routes(small_club.database):
        assert "{person}" not in path
        assert "{user}" not in path


def test_one_person_reaches_nothing_of_another(small_club: Club) -> None:
    club = small_club
    item = {"item": "129"}
    club("u1", "PUT", "/api/me/ratings", json={**item, "rating": 4, "epsilon": 0.654321})
    answers = [
        club("u2", "GET", f"/api/me/{path}".rstrip("/"))
        for path in ("ratings", "disclosures", "export", "recommendations", "")
    ]
    for answer in (*answers, club("u2", "POST", "/api/me/ratings/read", json=item)):
        assert "0.654321" not in answer.text
        assert '"u1"' not in answer.text
    assert club("u2", "POST", "/api/me/ratings/delete", json=item).status_code == 404
    assert club("u1", "POST", "/api/me/ratings/read", json=item).json()["rating"]["rating"] == 4


def signed_in(club: Club, who: str) -> None:
    """By token on the page; people have chosen their level for all before."""
    service = club.app.state.service
    with club.database.writing() as connection:
        if who in ("u1", "u2") and tastes.usual_level(connection, who) is None:
            tastes.choose_level(connection, who, service.declared.usual_level)
    club.client.cookies.clear()
    answer = club.client.post("/signin", data={"token": club.tokens[who]}, headers=OUR_PAGE)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_a_session_works_for_our_own_page_alone(small_club: Club) -> None:
    club = small_club
    signed_in(club, "u1")
    form = {"item": "129", "rating": "4", "epsilon": "0.3"}
    for headers in (
        {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
        {"origin": "http://elsewhere.example"}, {},
    ):  # fmt: skip
        assert club.client.post("/rate", data=form, headers=headers).status_code == 403
        body = {"item": "129", "rating": 4}
        answer = club.client.put("/api/me/ratings", json=body, headers=headers)
        assert answer.status_code == 403
    item = {"item": "129"}
    assert club("u1", "POST", "/api/me/ratings/read", json=item).status_code == 404
    signed_in(club, "u1")
    assert club.client.post("/rate", data=form, headers=OUR_PAGE).status_code == 303
    ours = {"origin": "http://testserver"}
    assert club.client.post("/rate", data=form, headers=ours).status_code == 303
    read = club("u1", "POST", "/api/me/ratings/read", json=item).json()
    assert read["rating"]["epsilon"] == 0.3


def test_signing_out_ends_the_session(small_club: Club) -> None:
    club = small_club
    signed_in(club, "u1")
    session = dict(club.client.cookies)
    assert club.client.get("/home").status_code == 200
    assert club.client.post("/signout", headers=OUR_PAGE).status_code == 303
    club.client.cookies.update(session)
    assert club.client.get("/home", headers=OUR_PAGE).status_code == 303  # to the sign-in page


def test_pages_are_for_those_they_are_for(small_club: Club) -> None:
    club = small_club
    for who, path, status in (
        (None, "/home", 303), (None, "/privacy", 303), (None, "/operator", 303),
        ("u1", "/operator", 403), ("operator", "/home", 303), ("operator", "/operator", 200),
        ("u1", "/home", 200), ("u1", "/browse", 200), ("u1", "/mine", 200),
        ("u1", "/privacy", 200), (None, "/", 200), (None, "/model", 200),
        (None, "/api", 200), (None, "/signin", 200), (None, "/nothing", 404),
    ):  # fmt: skip
        club.client.cookies.clear()
        if who is not None:
            signed_in(club, who)
        answer = club.client.get(path, headers={"accept": "text/html"})
        assert answer.status_code == status, (who, path)
        assert "text/html" in answer.headers.get("content-type", "text/html")
    club.client.cookies.clear()
    for token in (club.tokens["monitor"], club.tokens["late"], "nonsense", "x" * 300):
        failed = club.client.post("/signin", data={"token": token}, headers=OUR_PAGE)
        assert failed.status_code in (401, 422)
        assert "set-cookie" not in failed.headers


def test_one_person_cannot_keep_the_service_busy(sqlite: Database, small: Ratings) -> None:
    limits = Limits(person=Rate(5, 10), address=UNLIMITED, wrong_tokens=Rate(0.1, 3))
    with open_club(sqlite, small, limits) as club:
        answers = [club("u1", "GET", "/api/me") for _ in range(60)]
        refused = [a for a in answers if a.status_code == 429]
        assert len(refused) >= 30
        assert int(refused[0].headers["retry-after"]) >= 1
        assert refused[0].json()["error"]["code"] == "too_many_requests"
        assert club("u2", "GET", "/api/me").status_code == 200  # others go on
        statuses = [club("nonsense", "GET", "/api/me").status_code for _ in range(5)]
        assert statuses == [401, 401, 401, 429, 429]
        assert club("u2", "GET", "/api/me").status_code == 200


def test_signing_in_and_guessing_sessions_are_limited(sqlite: Database, small: Ratings) -> None:
    limits = Limits(joining=Rate(0.01, 3), address=Rate(0.01, 4), wrong_tokens=UNLIMITED)
    with open_club(sqlite, small, limits) as club:
        form = {"token": club.tokens["u1"]}
        statuses = [
            club.client.post("/signin", data=form, headers=OUR_PAGE).status_code for _ in range(5)
        ]
        assert statuses == [303, 303, 303, 429, 429]
        statuses = []
        for k in range(6):
            club.client.cookies.clear()
            club.client.cookies.set("discreet-session", f"guess-{k}")
            statuses.append(club.client.get("/api/me").status_code)
        assert statuses == [401, 401, 401, 401, 429, 429]


def test_a_person_called_operator_is_a_person(sqlite: Database, small: Ratings) -> None:
    limits = Limits(person=Rate(0.01, 5))
    with open_club(sqlite, small, limits) as club:
        made = club("operator", "POST", "/api/operator/people", json={"person": "operator"})
        for _ in range(6):
            last = club(made.json()["token"], "GET", "/api/me")
        assert last.status_code == 429
        assert club("operator", "GET", "/api/operator/ledger").status_code == 200


def test_joining_and_looking_are_limited_by_address(sqlite: Database, small: Ratings) -> None:
    limits = Limits(joining=Rate(0.01, 2), address=Rate(0.01, 20))
    with open_club(sqlite, small, limits) as club:
        statuses = [club(None, "POST", "/api/people").status_code for _ in range(4)]
        assert statuses == [201, 201, 429, 429]
        assert [club(None, "GET", "/api/releases").status_code for _ in range(20)][-1] == 429


def test_buckets_refill_and_forget() -> None:
    time = [0.0]
    buckets = Buckets(Rate(2, 3), most=2, clock=lambda: time[0])
    assert [buckets.wait("ann") for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.wait("bob") == 0
    time[0] = 0.5
    assert buckets.wait("ann") == 0
    assert buckets.wait("ann") == 0.5
    buckets.wait("zoe")  # of two places ann's and zoe's are the latest
    assert buckets.wait("ann") > 0


def test_headers_keep_pages_to_themselves(small_club: Club) -> None:
    for path in ("/", "/api/releases", "/nothing", "/healthz"):
        headers = small_club(None, "GET", path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


def test_a_form_leads_back_to_where_it_was_and_nowhere_else(small_club: Club) -> None:
    signed_in(small_club, "u1")
    for place, back in (("home", "/home?"), ("mine", "/mine?"), ("https://elsewhere", "/item/")):
        form = {"item": "129", "rating": "4", "place": place[:10]}
        answer = small_club.client.post("/rate", data=form, headers=OUR_PAGE)
        assert answer.headers["location"].startswith(back)
    page = small_club.client.get("/mine", headers=OUR_PAGE).text
    first = page[page.index('<span class="name">') :]
    assert first.startswith('<span class="name">Film 29</span>')  # the latest first
