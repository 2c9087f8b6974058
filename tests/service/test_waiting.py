"""Whatever people write waits its turn, however many write at once; nobody is refused for it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from discreet.database.writer import Writer
from discreet.service import access
from tests.service.clubs import OUR_PAGE, Club
from tests.service.test_access import signed_in

LONG = 30.0


def test_nobody_who_writes_is_refused_while_another_writes(
    small_club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import holds SQLite's one place to write, and more come than may stand in its line."""
    monkeypatch.setattr("discreet.database.connection.MOST_WAITING", 2)
    signed_in(small_club, "u1")
    client, token = small_club.client, small_club.tokens["u2"]
    bearer = {"Authorization": f"Bearer {token}"}
    item = "129"
    wanted = [
        lambda: client.post("/hide", data={"item": item}, headers=OUR_PAGE),
        lambda: client.post("/level", data={"level": "0.3"}, headers=OUR_PAGE),
        lambda: client.post("/signin", data={"token": token}, headers=OUR_PAGE),
        lambda: client.post("/api/people"),
        lambda: client.post("/api/me/ratings/delete", json={"item": item}, headers=bearer),
        lambda: client.put("/api/me/ratings", json={"item": item, "rating": 4}, headers=bearer),
    ]
    submitted, submit = threading.Semaphore(0), Writer.submit

    def noted(writer: Writer, work: Any) -> Any:
        submitted.release()
        return submit(writer, work)

    monkeypatch.setattr(Writer, "submit", noted)
    with ThreadPoolExecutor(3 * len(wanted)) as threads:
        with small_club.database.writing():
            answers = [threads.submit(ask) for ask in wanted * 3]
            waiting = [submitted.acquire(timeout=LONG) for _ in answers]
            early = [answer for answer in answers if answer.done()]
        statuses = [answer.result().status_code for answer in answers]
    assert all(waiting)
    assert early == []
    assert set(statuses) <= {200, 201, 204, 303, 404}
    assert access.SESSION_COOKIE in client.cookies
