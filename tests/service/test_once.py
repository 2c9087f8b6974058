"""A front end's request is done once for every key, and a key is good for no other request."""

import hashlib

import sqlalchemy as sa
from fastapi.testclient import TestClient

from discreet.database import own_ratings
from discreet.database.connection import Database
from discreet.database.declaration import establish
from discreet.database.schema import answered_requests
from discreet.operate.imports import add_items
from discreet.service.app import create_app
from tests.databases import films
from tests.service.clubs import GENEROUS, Club
from tests.service.test_front_end import rows, token


def test_what_is_sent_twice_under_one_key_is_done_once(club: Club) -> None:
    shop, other = token(club.database), token(club.database, "kiosk")
    key = {"Idempotency-Key": "order-1"}
    guesses = set()

    def send(by: str, rating: float, headers: dict[str, str]) -> tuple[int, dict[str, object]]:
        sent = rows(("ann", "100", rating))
        answer = club(by, "POST", "/api/service/ratings", json=sent, headers=headers)
        guesses.add(hashlib.sha256(answer.request.content).hexdigest())
        return answer.status_code, answer.json()

    first = send(shop, 5.0, key)
    assert first == (200, {"written": 1, "skipped": 0})
    assert send(shop, 1.0, {})[0] == 200
    assert send(shop, 5.0, key) == first  # which comes late, and undoes nothing
    with club.database.reading() as connection:
        assert own_ratings.of(connection, "ann")[0].rating == 1.0
        kept = set(connection.scalars(sa.select(answered_requests.c.body)))
    assert not kept & guesses  # whoever guesses a rating does not find it confirmed
    assert send(shop, 4.0, key)[0] == 422
    assert send(other, 4.0, key)[0] == 200  # somebody else's key


def test_the_same_words_under_one_key_are_another_request_elsewhere(sqlite: Database) -> None:
    """An event, and its deletion, which is not answered with what became of the event."""
    establish(sqlite, {"events": True})
    add_items(sqlite, films())
    sent = {"rows": [{"person": "ann", "item": "100"}]}
    with TestClient(create_app(sqlite, limits=GENEROUS)) as client:
        headers = {"Authorization": f"Bearer {token(sqlite)}", "Idempotency-Key": "order-1"}
        for what, status in (("events", 200), ("ratings/delete", 422), ("events", 200)):
            answer = client.post(f"/api/service/{what}", json=sent, headers=headers)
            assert answer.status_code == status
