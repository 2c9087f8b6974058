"""The service as a real process: start, stop, kill -9 under write load, the demo."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2 as httpx
import pytest

from discreet.data.ratings import Ratings
from discreet.database import people
from discreet.database.connection import Database
from discreet.database.people import Role
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
    """With DISCREET_KILLS more often; benchmarks/service.py does it with publications beside."""
    filled(database, small)
    with database.writing() as connection:
        token = people.issue(connection, Role.PERSON, "u1")
    bearer = {"Authorization": f"Bearer {token}"}
    url = database.url.render_as_string(hide_password=False)
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

    for _ in range(int(os.environ.get("DISCREET_KILLS", "2"))):
        with serving(tmp_path, "--database", url) as served:
            writer = threading.Thread(target=write, args=(served,))
            writer.start()
            count = len(answered)
            while len(answered) < count + chance.randint(5, 25):
                time.sleep(0.01)
            served.kill()
            writer.join()
    assert len(acknowledged) == 5
    with serving(tmp_path, "--database", url) as served:
        stored = httpx.get(f"{served.address}/api/me/ratings", headers=bearer).json()
    assert acknowledged.items() <= {r["item"]: r["rating"] for r in stored}.items()


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
    assert "/api/catalogue/search" in log
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
