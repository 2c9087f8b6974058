"""Copies of the database: what they have forgotten is not spent again, and nobody comes back."""

from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from discreet.data.ratings import Ratings
from discreet.database import catalogue, erasures, generation, ledger, own_ratings, people
from discreet.database.connection import Database
from discreet.database.declaration import establish
from discreet.database.hashes import hashes_of_one
from discreet.database.schema import settings
from discreet.database.spend_pages import DatabasePages
from discreet.database.writer import Writer
from discreet.errors import DiscreetError, LedgerError
from discreet.operate.copies import back_up, charge_in_full
from discreet.operate.imports import add_items
from discreet.operate.releases import preview, publish
from discreet.privacy import spend_pages
from discreet.privacy.lifetime import Loss, Spends
from discreet.privacy.purses import told
from discreet.release.release import Release
from tests.databases import filled, films
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
        own_ratings.put(connection, "u1", "129", 5.0, 1.0)
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


def test_a_restore_charges_also_what_was_taken_down_and_says_a_whole_level(
    database: Database, small: Ratings
) -> None:
    """While the copy lay by, its item may have come back and its ratings been counted."""
    item, declared = "107", filled(database, small, delta=1e-3, publications=2)
    with database.writing() as connection:
        catalogue.take_down(connection, item)
    publish(database, declared)
    assert charge_in_full(database, declared, after=1) == len(small)
    with database.writing() as connection:
        catalogue.take_down(connection, item, back=True)
    assert preview(database, declared)["spending"] == 0
    with database.reading() as connection:
        known = [page.numbers for page in spend_pages.pages(DatabasePages(connection))]
    assert sum(numbers.shape[1] for numbers in known) == len(small)
    # Out of its purses a pair has spent some of that level, not something on top of it.
    for row in np.unique(np.concatenate(known, axis=1), axis=1).T:
        spends = Spends(*row[:, None])
        assert told(spends, declared.delta) == Loss(declared.max_level, declared.delta)


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
    writer = Writer(sqlite)
    erasures.erase(writer, "u1")
    writer.close()
    assert "u1" not in (tmp_path / "club.db.erased").read_text()
    sqlite.close()
    for name in ("club.db-wal", "club.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "copy.db").rename(tmp_path / "club.db")
    with sqlite.reading() as connection:
        assert own_ratings.of(connection, "u1") != []
    publish(sqlite, declared)
    with sqlite.reading() as connection:
        assert own_ratings.of(connection, "u1") == []
        assert people.joined_at(connection, "u1") == 0


def test_a_restore_charges_deleted_ratings_too(sqlite: Database) -> None:
    declared = establish(sqlite)
    add_items(sqlite, films())
    with sqlite.writing() as connection:
        people.new_person(connection, "bob")
        own_ratings.put(connection, "bob", "100", 5.0, 0.1)
    publish(sqlite, declared)
    with sqlite.writing() as connection:
        own_ratings.remove(connection, "bob", "100")
    charge_in_full(sqlite, declared)
    with sqlite.writing() as connection:
        own_ratings.put(connection, "bob", "100", 5.0, 1.0)
    with sqlite.reading() as connection:
        [spend] = ledger.spends_of(connection, hashes_of_one(connection, "bob", ["100"])).values()
    assert (spend.level, spend.spent, spend.release) == (1.0, 1.0, None)
    assert preview(sqlite, declared)["spending"] == 0


def test_what_an_older_version_knew_of_a_restore_is_kept(sqlite: Database) -> None:
    """It wrote down the numbers that were used elsewhere, and had no generation."""
    declared = establish(sqlite)
    add_items(sqlite, films())
    with sqlite.writing() as connection:
        connection.execute(sa.delete(settings).where(settings.c.name == generation.GENERATION))
        connection.execute(sa.insert(settings).values(name="numbers used elsewhere", value=5))
    Path(f"{sqlite.url.database}.generation").unlink()
    with sqlite.reading() as connection:
        assert generation.was_restored(connection)
    entry, _ = publish(sqlite, declared)
    assert entry.number == 6
    with sqlite.reading() as connection:
        assert generation.was_restored(connection)
        certificate = Release.from_files(ledger.files(connection, 6)).certificate
    assert certificate.status == "conditional"
    assert any("restored from an older copy" in text for text in certificate.assumptions)
