"""A publisher that is killed leaves all or nothing."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np

from discreet.data.ratings import Ratings
from discreet.database import ledger
from discreet.database.connection import Database
from discreet.database.declaration import Declaration, ledger_key
from discreet.privacy.spec import PrivacySpec
from discreet.release.release import Release
from tests.databases import filled
from tests.operate.test_publish import spent


def start_publisher(database: Database) -> subprocess.Popen[bytes]:
    url = database.url.render_as_string(hide_password=False)
    return subprocess.Popen(
        [sys.executable, "-m", "discreet", "operate", "publish", "--json", "--no-assess"],
        env={**os.environ, "DISCREET_DATABASE": url},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def check_books(database: Database, declared: Declaration) -> int:
    """Every visible release is whole, and nothing is spent that no release shows."""
    with database.reading() as connection:
        entries = ledger.entries(connection)
        last = max(ledger.latest_counts(connection), default=0)
        for entry in entries:
            release = Release.from_files(ledger.files(connection, entry.number))
            assert release.certificate.digest == entry.digest
        assert ledger_key(connection)
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert last <= len(entries)
    assert spent(database)["largest"] <= declared.max_level
    return len(entries)


def test_a_killed_publisher_leaves_all_or_nothing(database: Database, small: Ratings) -> None:
    declared = filled(database, small)
    kills = int(os.environ.get("DISCREET_KILLS", "3"))
    chance = random.Random(1)
    done = 0
    for _ in range(kills):
        before = spent(database)["total"]
        publisher = start_publisher(database)
        time.sleep(chance.uniform(0.8, 2.2))
        publisher.send_signal(signal.SIGKILL)
        publisher.wait()
        count = check_books(database, declared)
        assert count - done in (0, 1)
        if count == done:
            assert spent(database)["total"] == before
        done = count
    publisher = start_publisher(database)
    assert publisher.wait() == 0
    assert check_books(database, declared) == done + 1
    levels = PrivacySpec.column().levels(small)
    np.testing.assert_allclose(spent(database)["total"], levels.sum(), atol=1e-3)
