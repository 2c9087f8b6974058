"""Spends in pages: found and added up as a row for every pair would be, and none is forgotten."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.privacy import spend_pages
from discreet.privacy.lifetime import Costs, Spends
from discreet.privacy.purses import PURE_SHARE
from discreet.publishing.file_ledger import FORMAT, FileLedger, connect
from discreet.publishing.file_pages import SCHEMA, FilePages
from discreet.publishing.ledger import hash_records
from discreet.schemes.chorus.scheme import Chorus
from tests.publishing.ledgers import ITEMS, put

OLD_ROWS = """
DROP TABLE spend_pages;
CREATE TABLE spends (
    h1 INTEGER NOT NULL, h2 INTEGER NOT NULL,
    level REAL NOT NULL, spent REAL NOT NULL, delta REAL NOT NULL,
    PRIMARY KEY (h1, h2)
) WITHOUT ROWID;
UPDATE meta SET value = '3' WHERE name = 'format';
"""
"""From a new ledger to one of the version before."""


@pytest.fixture
def pages() -> Iterator[FilePages]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        yield FilePages(database)


def test_spends_add_up_as_in_a_table_of_pairs(pages: FilePages) -> None:
    """Against a dictionary; many pairs share the first half of their hashes."""
    rng = np.random.default_rng(3)
    known: dict[tuple[int, int], np.ndarray] = {}
    everything = np.unique(rng.integers(0, 6, (400, 2)) * (1 << 49), axis=0).T.copy()
    everything[1] += rng.integers(0, 3, everything.shape[1])
    for _ in range(6):
        some = everything[:, rng.random(everything.shape[1]) < 0.6]
        costs = Costs(*rng.random((5, some.shape[1])) * (rng.random(some.shape[1]) < 0.8))
        spend_pages.add(pages, (some[0], some[1]), costs)
        for k, pair in enumerate(map(tuple, some.T.tolist())):
            if costs.counted[k]:
                cost = np.array([column[k] for column in costs])
                before = known.get(pair, np.zeros(5))
                known[pair] = np.concatenate([[max(before[0], cost[0])], before[1:] + cost[1:]])
    found = spend_pages.find(pages, (everything[0], everything[1]))
    expected = [known.get(pair, np.zeros(5)) for pair in map(tuple, everything.T.tolist())]
    assert (np.array(found) == np.array(expected).T).all()
    assert spend_pages.summary(spend_pages.pages(pages))["pairs"] == len(known)


def test_an_empty_ledger_knows_nothing(pages: FilePages) -> None:
    none = np.zeros(0, dtype=np.int64)
    assert spend_pages.find(pages, (none, none)).level.shape == (0,)
    spend_pages.add(pages, (none, none), Costs.of(np.zeros(0)))
    assert spend_pages.summary(spend_pages.pages(pages))["mean"] == 0
    one = np.array([5])
    assert spend_pages.find(pages, (one, one)) == Spends.none(1)


def older(ledger: FileLedger, ratings: Ratings, spent: np.ndarray) -> None:
    """Make it a ledger of the version before, in which these were spent."""
    hashes = hash_records(ledger._key, ratings)
    columns = (*hashes, *spent)
    with closing(connect(ledger.path)) as database:
        database.executescript(OLD_ROWS)
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        database.executemany("INSERT INTO spends VALUES (?, ?, ?, ?, ?)", rows)
        database.commit()


def test_a_ledger_of_the_version_before_is_read_and_forgets_nothing(
    tmp_path: Path, small: Ratings
) -> None:
    ledger = FileLedger(tmp_path / "ledger.db")
    count = len(small)
    spent = np.stack([np.ones(count), np.linspace(0, 1, count), np.full(count, 5e-5)])
    older(ledger, small, spent)
    opened = FileLedger(ledger.path)
    assert (np.array(opened.spends(small)[:3]) == spent).all()
    assert opened.summary()["largest_delta"] == 5e-5
    chorus = Chorus(items=ITEMS, delta=1e-4, factors=2, publications=2)
    put(opened, small, chorus, seed=1)
    now = FileLedger(ledger.path).spends(small)
    assert (np.array(now[:3]) == spent).all()  # kept as it was, and taken off both purses
    assert small.epsilon is not None
    assert (now.pure <= PURE_SHARE * np.maximum(small.epsilon - spent[1], 0.0)).all()
    assert now.pure[0] > 0
    assert now.pure[-1] == 0
    with closing(connect(ledger.path)) as database:
        assert dict(database.execute("SELECT * FROM meta"))["format"] == FORMAT
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    assert "spends" not in tables


def test_a_restored_ledger_of_the_version_before_is_charged_in_full(
    tmp_path: Path, small: Ratings
) -> None:
    ledger = FileLedger(tmp_path / "ledger.db")
    half = small.subset(small.user % 2 == 0)
    older(ledger, half, np.full((3, len(half)), 0.1))
    opened = FileLedger(ledger.path)
    assert opened.restored(small) == len(small)
    assert (opened.spends(small).remaining(np.ones(len(small))) == 0).all()
