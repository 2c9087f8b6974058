"""Copies of the database: what they have forgotten is not spent again, and nobody comes back."""

from pathlib import Path

import pytest

from discreet.database import erasures, opinions, people
from discreet.database.connection import Database
from discreet.errors import DiscreetError, LedgerError
from discreet.operate.copies import back_up, charge_in_full
from discreet.operate.publish import preview, publish
from discreet.ratings import Ratings
from tests.databases import filled
from tests.operate.test_publish import spent


def test_an_older_copy_does_not_publish_until_it_is_charged(
    sqlite: Database, small: Ratings, tmp_path: Path
) -> None:
    declared = filled(sqlite, small)
    publish(sqlite, declared)
    back_up(sqlite, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(DiscreetError, match="cannot write the backup"):
        back_up(sqlite, tmp_path / "copy.db")
    with sqlite.writing() as connection:
        opinions.put(connection, "u1", "129", 5.0, 1.0)
    publish(sqlite, declared)
    sqlite.close()
    for name in ("club.db", "club.db-wal", "club.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "copy.db").rename(tmp_path / "club.db")
    with pytest.raises(LedgerError, match="restored from an older copy"):
        publish(sqlite, declared)
    assert charge_in_full(sqlite, declared) == len(small)
    assert publish(sqlite, declared)[0].number == 3  # 2 is out in the world already
    assert spent(sqlite)["mean"] == pytest.approx(declared.max_level)
    assert preview(sqlite, declared)["spending"] == 0


def test_a_copy_elsewhere_does_not_publish_either(
    sqlite: Database, small: Ratings, tmp_path: Path
) -> None:
    declared = filled(sqlite, small)
    publish(sqlite, declared)
    back_up(sqlite, tmp_path / "elsewhere.db")
    copy = Database(tmp_path / "elsewhere.db")
    with pytest.raises(LedgerError, match="is a copy"):
        publish(copy, declared)
    assert publish(sqlite, declared)[0].number == 2  # the original goes on
    charge_in_full(copy, declared, after=2)
    assert publish(copy, declared)[0].number == 3
    copy.close()


def test_who_was_erased_stays_so_when_an_older_copy_is_restored(
    sqlite: Database, small: Ratings, tmp_path: Path
) -> None:
    declared = filled(sqlite, small)
    publish(sqlite, declared)
    back_up(sqlite, tmp_path / "copy.db")
    erasures.erase(sqlite, "u1")
    assert "u1" not in (tmp_path / "club.db.erased").read_text()
    sqlite.close()
    for name in ("club.db-wal", "club.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "copy.db").rename(tmp_path / "club.db")
    with sqlite.reading() as connection:
        assert opinions.of(connection, "u1") != []
    publish(sqlite, declared)
    with sqlite.reading() as connection:
        assert opinions.of(connection, "u1") == []
        assert people.joined_at(connection, "u1") == 0
