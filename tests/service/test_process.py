"""The service as a real process: start, stop, kill -9 under write load, the demo."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx2 as httpx
import pytest

from discreet.data.ratings import Ratings
from discreet.database import ledger, own_ratings, people
from discreet.database.connection import Database
from discreet.database.people import Role
from discreet.service.workers import LASTING_SECONDS, Serving, Worker, Workers
from tests.databases import filled
from tests.processes import Served, serving


def test_a_new_service_declares_and_stops_gracefully(tmp_path: Path) -> None:
    url = str(tmp_path / "new.db")
    with serving(tmp_path, "--database", url, "--levels", "0.5,2", "--things", "books") as served:
        declared = httpx.get(f"{served.address}/api/declaration").json()
        assert [level["epsilon"] for level in declared["levels"]] == [0.5, 2.0]
        assert "books" in httpx.get(served.address).text
        assert served.stop() == 0
    log = served.log.read_text()
    assert "discreet-operator-" not in log  # a log is not a terminal
    events = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert [e["event"] for e in events][-1] == "stopped"
    words = [sys.executable, "-m", "discreet", "operate", "token", "operator", "--json"]
    made = subprocess.run([*words, "--database", url], capture_output=True, text=True, check=True)
    with serving(tmp_path, "--database", url) as served:
        bearer = {"Authorization": f"Bearer {json.loads(made.stdout)['token']}"}
        ledger = httpx.get(f"{served.address}/api/operator/ledger", headers=bearer)
        assert ledger.json()["pairs"] == 0
    again = [sys.executable, "-m", "discreet", "serve", "--database", url, "--levels", "3"]
    refused = subprocess.run(again, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "cannot be changed" in refused.stderr


def test_every_acknowledged_rating_survives_kill_9(
    database: Database, small: Ratings, tmp_path: Path
) -> None:
    """Of two workers, with a publication beside; with DISCREET_KILLS more often."""
    filled(database, small)
    with database.writing() as connection:
        token = people.issue(connection, Role.PERSON, "u1")
        operator = people.issue(connection, Role.OPERATOR)
    bearer = {"Authorization": f"Bearer {token}"}
    words = ("--database", database.url.render_as_string(hide_password=False), "--workers", "2")
    acknowledged: dict[str, float] = {}
    answered: list[str] = []
    chance = random.Random(1)

    def write(served: Served) -> None:
        value = 1
        with httpx.Client(base_url=served.address, headers=bearer) as client:
            while True:
                value = value % 5 + 1
                item = str(100 + value)  # always this rating: an unanswered change changes nothing
                try:
                    answer = client.put("/api/me/ratings", json={"item": item, "rating": value})
                except httpx.TransportError:
                    return
                if answer.status_code == 200:
                    acknowledged[item] = float(value)
                    answered.append(item)

    for _ in range(int(os.environ.get("DISCREET_KILLS", "1"))):
        with serving(tmp_path, *words) as served:
            asked = {"Authorization": f"Bearer {operator}"}
            httpx.post(f"{served.address}/api/operator/releases", headers=asked)
            writers = [threading.Thread(target=write, args=(served,)) for _ in range(4)]
            for writer in writers:
                writer.start()
            wanted = len(answered) + chance.randint(20, 60)
            while len(answered) < wanted:
                assert any(writer.is_alive() for writer in writers), served.log.read_text()
                time.sleep(0.01)
            served.kill()
            for writer in writers:
                writer.join()
    assert len(acknowledged) == 5
    with database.reading() as connection:
        stored = {own.item: own.rating for own in own_ratings.of(connection, "u1")}
        entries, spent = ledger.entries(connection), ledger.overview(connection, []).counted
    assert acknowledged.items() <= stored.items()
    # A publisher outlives the service: its release is out with all that it cost, or not at all.
    assert bool(entries) == bool(spent)
    assert set(spent) <= {entry.number for entry in entries}


def test_a_publisher_goes_on_when_nobody_listens_any_more(sqlite: Database, small: Ratings) -> None:
    """The service that started it was killed: what it had begun comes out all the same."""
    filled(sqlite, small)
    words = ("operate", "publish", "--json", "--no-assess", "--database", sqlite.url.database or "")
    with subprocess.Popen(
        [sys.executable, "-m", "discreet", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as publisher:
        assert publisher.stdout is not None
        assert publisher.stderr is not None
        publisher.stdout.close()
        publisher.stderr.close()
        publisher.wait()
    with sqlite.reading() as connection:
        assert [entry.number for entry in ledger.entries(connection)] == [1]
        assert ledger.overview(connection, []).counted == {1: len(small)}


def test_several_workers_are_one_service(sqlite: Database, small: Ratings, tmp_path: Path) -> None:
    filled(sqlite, small)
    with sqlite.writing() as connection:
        operator = people.issue(connection, Role.OPERATOR)
    asked = {"Authorization": f"Bearer {operator}"}
    words = ("--database", sqlite.url.database or "", "--workers", "2")
    with serving(tmp_path, *words) as served:
        address = f"{served.address}/api/operator"
        deadline = time.monotonic() + 60
        while len(served.workers()) < 2 or served.log.read_text().count('"started"') < 2:
            assert time.monotonic() < deadline, served.log.read_text()
            time.sleep(0.05)
        assert httpx.post(f"{address}/releases", headers=asked).status_code == 202
        # Whichever is asked, over connections of their own, tells of it.
        for _ in range(8):
            found = httpx.get(f"{address}/publication", headers=asked).json()
            assert found["state"] in ("running", "published")
            again = httpx.post(f"{address}/releases", headers=asked)
            assert found["state"] == "published" or again.status_code in (202, 409)
        os.kill(served.workers()[0], signal.SIGKILL)
        deadline = time.monotonic() + 60
        while served.log.read_text().count('"started"') < 3:  # another takes its place
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert httpx.get(f"{served.address}/healthz").status_code == 200
        assert served.stop() == 0
        assert served.workers() == []
    assert "worker ended" in served.log.read_text()


def test_a_worker_that_ends_at_once_is_started_ever_more_rarely() -> None:
    now, starts = 0.0, []
    lives = [0.0] * 8 + [LASTING_SECONDS] + [0.0] * 3

    def start() -> Mock:
        end = now + lives[len(starts)]
        starts.append(now)
        return Mock(is_alive=lambda: now < end, exitcode=1)

    worker = Worker(start, clock=lambda: now)
    while len(starts) < len(lives):
        worker.look()
        now += 0.125
    apart = [int(later - earlier) for earlier, later in pairwise(starts)]
    assert apart == [1, 2, 4, 8, 16, 30, 30, 30, LASTING_SECONDS + 1, 2, 4]


def test_no_pause_keeps_a_signal_to_stop_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: dict[int, Any] = {}
    waited: list[int] = []

    def wait(sentinels: list[object], **_: float) -> None:
        waited.append(len(sentinels))
        if not sentinels:  # all have ended, and pause
            handlers[signal.SIGTERM](signal.SIGTERM, None)

    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(time, "sleep", None)  # or a signal would wait for it
    monkeypatch.setattr("discreet.service.workers.wait", wait)
    monkeypatch.setattr(Workers, "_start", lambda _: Mock(is_alive=lambda: False, exitcode=1))
    Workers(Serving("club.db", "127.0.0.1", 0), count=2).run()
    assert waited == [2, 0]


def test_the_demo_is_ready_at_one_command(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo") as served:
        person = {"Authorization": f"Bearer {served.token('person')}"}
        answer = httpx.get(f"{served.address}/api/me/recommendations", headers=person).json()
        assert answer["release"] == 1
        assert len(answer["recommendations"]) == 10
        operator = {"Authorization": f"Bearer {served.token('operator')}"}
        ledger = httpx.get(f"{served.address}/api/operator/ledger", headers=operator).json()
        assert ledger["pairs"] == 150_000
        rated = {"item": "film-0001", "rating": 5}
        answer = httpx.put(f"{served.address}/api/me/ratings", json=rated, headers=person)
        assert answer.status_code == 200
        wanted = {"words": "a secret word"}
        httpx.post(f"{served.address}/api/catalogue/search", json=wanted)
        assert served.stop() == 0
    log = served.log.read_text()
    assert "/api/recommendations" not in log
    assert "/api/catalogue/search" not in log
    assert "/api/operator/ledger" in log
    assert "film-0001" not in log
    assert "secret word" not in log


@pytest.mark.parametrize("words", [["--port", "1"], ["--levels", "a"], ["--database", "mysql://x"]])
def test_a_service_that_cannot_start_says_why(words: list[str], tmp_path: Path) -> None:
    if words[0] == "--port":
        words = ["--host", "192.0.2.1", *words]
    command = [sys.executable, "-m", "discreet", "serve", *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: ")
    assert "Traceback" not in ended.stderr
