"""Snapshots of the database: every record goes with the revision and the hashes of its own."""

from typing import Any

import pytest

from discreet.data.ratings import Ratings
from discreet.database import own_ratings
from discreet.database.connection import Database
from discreet.database.hashes import hashes_of_one
from discreet.operate.releases import preview
from discreet.operate.snapshot import read_snapshot
from tests.databases import filled


def test_a_record_s_revision_is_that_of_its_rating(database: Database, small: Ratings) -> None:
    declared = filled(database, small)
    with database.writing() as connection:
        own_ratings.remove(connection, "u7", "100")
        own_ratings.put(connection, "u1", "129", 5.0, 1.0)
        own_ratings.put(connection, "u10", "100", 2.0, 0.3)
    snapshot = read_snapshot(database, declared)
    data = snapshot.ratings
    assert data.timestamp is None  # a revision is random: it is no time
    columns = (data.users.take(data.user), data.items.take(data.item), snapshot.revisions.tolist())
    with database.reading() as connection:
        parts = own_ratings.everybody(connection)
        known = {(who, what): revision for part in parts for who, what, _, _, revision in part}
    assert list(zip(*columns[:2], strict=True)) == sorted(known)
    assert {(who, what): r for who, what, r in zip(*columns, strict=True)} == known


def test_a_record_s_hashes_are_those_its_owner_is_shown(database: Database, small: Ratings) -> None:
    declared = filled(database, small)
    snapshot = read_snapshot(database, declared)
    data = snapshot.ratings
    mine = data.user == data.users.rows(["u3"])[0]
    items = data.items.take(data.item[mine])
    with database.reading() as connection:
        expected = hashes_of_one(connection, "u3", items)
    for own, column in zip(expected, snapshot.hashes, strict=True):
        assert (own == column[mine]).all()


def test_a_preview_reads_all_ratings_once(
    sqlite: Database, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a million and a half ratings it took nineteen seconds."""
    declared = filled(sqlite, small)
    read: list[int] = []
    everybody = own_ratings.everybody

    def counted(connection: Any) -> Any:
        for part in everybody(connection):
            read.append(len(part))
            yield part

    monkeypatch.setattr(own_ratings, "everybody", counted)
    assert preview(sqlite, declared)["ratings"] == len(small)
    assert sum(read) == len(small)
