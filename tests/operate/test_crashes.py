"""A publisher that is killed leaves all or nothing."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.data.ratings import Ratings
from discreet.database import ledger
from discreet.database.connection import Database
from discreet.database.declaration import Declaration, establish, ledger_key
from discreet.operate.imports import add_items, add_ratings, offered
from discreet.operate.releases import publish
from discreet.operate.snapshot import read_snapshot
from discreet.privacy.lifetime import Spends
from discreet.privacy.purses import PURE_SHARE, Division
from discreet.release.release import Release
from discreet.schemes.chorus import plan
from tests.databases import films
from tests.operate.test_publish import spent
from tests.processes import Ready, doomed, seconds_of

WANTED: dict[str, dict[str, Any]] = {"Tally": {}, "Chorus": {"delta": 1e-6, "publications": 4}}
BATCHES = 8
FEW = 3
"""Publications in the time within which a publisher is killed, whatever they take where it runs."""


def publish_for_ever(ready: Ready, url: str, wanted: dict[str, Any]) -> None:
    database = Database(url)
    declared = establish(database, wanted)
    publish_one = quickly(publish)
    ready.send("ready")
    for number in count(1):
        publish_one(database, declared)
        if number == FEW:
            ready.send("a few")


def quickly(work: Callable[..., Any]) -> Callable[..., Any]:
    """With rounds on any table, but few: what they cost is what counts here."""
    plan.LATER_ROUNDS = plan.FIRST_ROUNDS = 1
    plan._people_are_active = lambda budget, share: budget.activity(share) is not None
    plan.signal = lambda *_: 100.0
    return work


class Books:
    """What a database has to show, looked at after every kill."""

    def __init__(self, database: Database, declared: Declaration) -> None:
        self.database, self.declared, self.count = database, declared, 0
        self.came: list[int] = []
        """How many publications there were when each batch came."""

    def check(self) -> None:
        """Every visible release is whole, and what is spent is what releases show."""
        with self.database.reading() as connection:
            entries = ledger.entries(connection)
            last = max(ledger.overview(connection, []).counted, default=0)
            for entry in entries[self.count :]:
                release = Release.from_files(ledger.files(connection, entry.number))
                assert release.certificate.digest == entry.digest
            assert ledger_key(connection)
            share = ledger.pure_share(connection)
        assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
        assert last <= len(entries)
        self.count = len(entries)
        if self.count:
            snapshot = read_snapshot(self.database, self.declared)
            assert share == release_share(self.declared)
            self._check_spends(snapshot.ratings, snapshot.state.spends)

    def _check_spends(self, ratings: Ratings, spends: Spends) -> None:
        levels = offered(self.declared).levels(ratings)
        times = np.array([self.count - self.came[b] for b in batch_of(ratings)])
        if not self.declared.delta:
            np.testing.assert_allclose(spends.epsilon, levels * (times > 0), atol=1e-5)
            assert (spends.epsilon <= levels).all()
            return
        division = Division(
            share=PURE_SHARE, t=self.declared.max_level, delta=self.declared.delta, publications=4
        )
        once = division.allowed(levels, Spends.none(len(levels)))
        np.testing.assert_allclose(spends.pure, once.pure * (times > 0))
        np.testing.assert_allclose(spends.mu2, once.mu2 * np.minimum(times, 4), rtol=1e-6)
        assert (spends.epsilon == 0).all()


def release_share(declared: Declaration) -> float | None:
    return PURE_SHARE if declared.delta else None


def batch_of(ratings: Ratings) -> np.ndarray[Any, Any]:
    """In which batch every record comes: by its item."""
    numbers = ratings.items.values.cast(pl.Int64).to_numpy()
    return np.asarray(numbers[ratings.item] % BATCHES)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
@pytest.mark.parametrize("name", WANTED)
def test_a_killed_publisher_leaves_all_or_nothing(
    name: str, database: Database, small: Ratings
) -> None:
    """DISCREET_KILLS sets how often a publisher is killed (4 by default)."""
    declared = establish(database, WANTED[name])
    add_items(database, films())
    books, batch = Books(database, declared), batch_of(small)
    url = database.url.render_as_string(hide_password=False)
    kills = int(os.environ.get("DISCREET_KILLS", "4"))
    chance, few = random.Random(int(time.time())), 0.0
    for kill in range(kills):
        while len(books.came) < BATCHES * (kill + 1) / kills:
            add_ratings(database, declared, small.subset(batch == len(books.came)))
            books.came.append(books.count)
        if not kill:
            few = seconds_of(publish_for_ever, url, WANTED[name])
            books.check()
        before, count = spent(database)["total"], books.count
        with doomed(publish_for_ever, url, WANTED[name]):
            time.sleep(chance.uniform(0.0, few))
        books.check()
        assert books.count > count or spent(database)["total"] == before
    print(f"{name}: {books.count} publications under {kills} kills")


def test_a_killed_program_leaves_all_or_nothing(database: Database, small: Ratings) -> None:
    declared = establish(database, {})
    add_items(database, films())
    add_ratings(database, declared, small)
    books = Books(database, declared)
    books.came = [0] * BATCHES
    url = database.url.render_as_string(hide_password=False)

    def program() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "discreet", "operate", "publish", "--json", "--no-assess"],
            env={**os.environ, "DISCREET_DATABASE": url},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    killed = program()
    time.sleep(random.Random(int(time.time())).uniform(0.8, 2.2))
    killed.kill()
    killed.wait()
    books.check()
    done = books.count
    assert done in (0, 1)
    assert program().wait() == 0
    books.check()
    assert books.count == done + 1
