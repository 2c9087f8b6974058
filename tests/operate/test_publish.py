"""Publishing from the database: once, within a lifetime's budget, visible or without a trace."""

import datetime
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import sqlalchemy as sa

from discreet.database import catalogue, ledger, mark, opinions, people
from discreet.database.connection import Database
from discreet.database.declaration import Declaration, establish, ledger_key
from discreet.database.schema import metadata, spends
from discreet.errors import DataError, DiscreetError, LedgerError, SpecError
from discreet.io.tables import read_ratings
from discreet.items import Items
from discreet.operate.assess import assess
from discreet.operate.copies import back_up, charge_in_full
from discreet.operate.publish import preview, publish, read_moment
from discreet.operate.tables import Imported, add_items, add_ratings
from discreet.privacy.ledger import Ledger
from discreet.privacy.spec import PrivacySpec
from discreet.ratings import Ratings
from discreet.release import Release
from discreet.schemes.publish import publish as publish_to_folder
from discreet.schemes.tally import Tally
from tests.databases import filled, films


def import_ratings(
    database: Database, declared: Declaration, table: Path, *, replace: bool = False
) -> Imported:
    ratings = read_ratings(table, scale=declared.rating_scale)
    return add_ratings(database, declared, ratings, replace=replace)


def released(database: Database) -> Release:
    with database.reading() as connection:
        return Release.from_files(ledger.files(connection, ledger.latest(connection)))


def spent(database: Database) -> dict[str, float]:
    with database.reading() as connection:
        return ledger.summary(connection)


def test_it_equals_publishing_with_a_ledger_file(
    database: Database, small: Ratings, tmp_path: Path
) -> None:
    declared = filled(database, small.subset(small.user < 25))
    table = small.to_frame().with_columns(pl.col("item").cast(pl.String)).drop("timestamp")
    twin = Ratings.from_frame(table)
    book, spec = Ledger(tmp_path / "ledger.db"), PrivacySpec.column(default=declared.usual_level)
    for people_so_far in (25, 40):
        add_ratings(database, declared, small.subset(small.user < people_so_far))
        publish(database, declared, seed=3)
        publish_to_folder(
            Tally(items=films()), twin.subset(twin.user < people_so_far), spec,
            out=tmp_path / "release", ledger=book, seed=3,
        )  # fmt: skip
        assert released(database).files() == Release.load(tmp_path / "release").files()
    for name, value in book.summary().items():
        assert spent(database)[name] == pytest.approx(value, rel=1e-12)


def test_a_rating_is_counted_once_and_never_beyond_its_level(database: Database) -> None:
    declared = establish(database)
    add_items(database, films())
    with database.writing() as connection:
        people.new_person(connection, "ann")
        opinions.put(connection, "ann", "100", 5.0, 0.3)
    assert preview(database, declared)["total"] == pytest.approx(0.3)
    publish(database, declared)
    assert spent(database)["total"] == pytest.approx(0.3, abs=1e-5)
    for rating, level, total in (
        (1.0, 0.3, 0.3),
        (1.0, 0.1, 0.3),
        (1.0, 1.0, 1.0),
        (2.0, 1.0, 1.0),
    ):
        with database.writing() as connection:
            opinions.remove(connection, "ann", "100")
            opinions.put(connection, "ann", "100", rating, level)
        publish(database, declared)
        assert spent(database)["total"] == pytest.approx(total, abs=1e-5)
        assert spent(database)["largest"] <= declared.max_level
    assert preview(database, declared)["spending"] == 0


def test_erasing_gives_no_budget_back_and_leaves_only_hashes(database: Database) -> None:
    declared = establish(database)
    add_items(database, films())
    with database.writing() as connection:
        people.new_person(connection, "ann")
        opinions.put(connection, "ann", "100", 5.0, 0.3)
    publish(database, declared)
    with database.writing() as connection:
        people.erase(connection, "ann")
    publish(database, declared)
    assert spent(database)["pairs"] == 1
    assert spent(database)["total"] == pytest.approx(0.3, abs=1e-5)
    with database.reading() as connection:
        for table in metadata.sorted_tables:
            assert "'ann'" not in str(connection.execute(sa.select(table)).all())


def test_a_publication_without_ratings_is_a_publication(database: Database) -> None:
    declared = establish(database)
    with pytest.raises(DataError, match="catalogue is empty"):
        publish(database, declared)
    add_items(database, films())
    for number in (1, 2):
        entry, moment = publish(database, declared)
        assert entry.number == number
        assert assess(database, declared, moment, number) is None
    assert spent(database)["pairs"] == 0


def test_the_catalogue_may_grow(database: Database, small: Ratings) -> None:
    declared = filled(database, small)
    publish(database, declared)
    new = Items.from_frame(pl.DataFrame({"item": ["900"], "title": ["A new film"]}))
    assert add_items(database, new) == 1
    assert add_items(database, new) == 0
    with database.writing() as connection:
        opinions.put(connection, "u1", "900", 5.0, 1.0)
    before = spent(database)["pairs"]
    publish(database, declared)
    assert len(released(database).items) == 31
    assert spent(database)["pairs"] == before + 1


def test_of_two_publishers_one_wins(database: Database, small: Ratings) -> None:
    declared = filled(database, small)
    import discreet.operate.publish as module

    read, faster = module.read_moment, []

    def overtaken(*words: object) -> module.Moment:
        moment = read(*words)  # type: ignore[arg-type]
        if not faster:
            faster.append("somebody")
            assert publish(database, declared)[0].number == 1
        return moment

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "read_moment", overtaken)
        with pytest.raises(LedgerError, match="another publisher was first"):
            publish(database, declared)
    levels = PrivacySpec.column().levels(small)
    assert spent(database)["total"] == pytest.approx(levels.sum(), abs=1e-3)  # paid once


def test_chorus_is_published_where_a_delta_was_declared(database: Database, small: Ratings) -> None:
    declared = filled(database, small, delta=1e-6, levels=(1.0, 4.0))
    publish(database, declared)
    assert released(database).certificate.scheme == "Chorus"
    assert released(database).certificate.delta == 1e-6


def test_the_assessment_is_kept_for_the_operator(database: Database, small: Ratings) -> None:
    declared = filled(database, small)
    entry, moment = publish(database, declared)
    found = assess(database, declared, moment, entry.number)
    assert found is not None
    with database.reading() as connection:
        assert ledger.assessment(connection, 1) == found
        assert ledger.assessment(connection, 2) is None
    assert all(0 < error < 4 for _, error in found["uniform"])


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ("ann,100,9,0.1", "rating must be within the scale"),
        ("ann,100,4,7", "epsilon must be within the declared max_level"),
        ("ann,100,4,0", "epsilon must be finite and > 0"),
        ("ann,nothing,4,0.1", "'nothing' is not in the catalogue"),
        ("ann,100,4,0.1\nann,100,3,0.1", "two ratings of one pair"),
        (f"{'a' * 300},100,4,0.1", "1 to 200 letters"),
    ],
)
def test_a_bad_table_is_refused_as_a_whole(
    sqlite: Database, tmp_path: Path, rows: str, error: str
) -> None:
    declared = establish(sqlite)
    add_items(sqlite, films())
    table = tmp_path / "ratings.csv"
    table.write_text(f"user,item,rating,epsilon\nzoe,101,3,0.1\n{rows}\n")
    with pytest.raises(DiscreetError, match=error):
        import_ratings(sqlite, declared, table)
    assert len(read_moment(sqlite, declared).ratings) == 0


def test_an_import_keeps_what_people_said_unless_told(sqlite: Database, tmp_path: Path) -> None:
    declared = establish(sqlite)
    add_items(sqlite, films())
    table = tmp_path / "ratings.csv"
    table.write_text("user,item,rating\nann,100,5\nann,101,5\n")
    with sqlite.writing() as connection:
        people.new_person(connection, "ann")
        opinions.put(connection, "ann", "100", 1.0, 1.0)
    assert import_ratings(sqlite, declared, table) == (2, 0)
    with sqlite.reading() as connection:
        assert {o.item: (o.rating, o.epsilon) for o in opinions.of(connection, "ann")} == {
            "100": (1.0, 1.0), "101": (5.0, declared.usual_level),
        }  # fmt: skip
    import_ratings(sqlite, declared, table, replace=True)
    with sqlite.reading() as connection:
        own = opinions.of(connection, "ann")
        # Replaced, but at the smaller level of the two: nobody's is raised behind their back.
        assert {(o.rating, o.epsilon) for o in own} == {(5.0, declared.usual_level)}


def test_an_import_does_not_undo_what_people_decided(database: Database, tmp_path: Path) -> None:
    declared = establish(database)
    add_items(database, films())
    table = tmp_path / "ratings.csv"
    table.write_text("user,item,rating\nann,100,5\nann,101,5\nbob,100,5\nzoe,100,5\n")
    import_ratings(database, declared, table)
    with database.writing() as connection:
        opinions.remove(connection, "ann", "100")
        people.erase(connection, "bob")
    for replace in (False, True):
        assert import_ratings(database, declared, table, replace=replace) == (4, 2)
        moment = read_moment(database, declared)
        assert moment.ratings.users.values.to_list() == ["ann", "zoe"]
        assert len(moment.ratings) == 2
    with database.writing() as connection:
        opinions.put(connection, "ann", "100", 1.0, 0.1)  # their own change of mind counts
    assert import_ratings(database, declared, table) == (4, 2)
    assert len(read_moment(database, declared).ratings) == 3


def test_nobody_gets_the_id_of_somebody_who_was_erased(database: Database) -> None:
    establish(database)
    with database.writing() as connection:
        people.new_person(connection, "ann")
        people.erase(connection, "ann")
    with database.writing() as connection, pytest.raises(DataError, match="was erased"):
        people.new_person(connection, "ann")


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
    with sqlite.writing() as connection:
        people.erase(connection, "u1")
    mark.note_erased(sqlite, "u1")
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


def test_to_say_the_same_again_is_no_change(database: Database) -> None:
    establish(database)
    add_items(database, films())
    with database.writing() as connection:
        people.new_person(connection, "ann")
        first = opinions.put(connection, "ann", "100", 4.0, 0.1)
        assert opinions.put(connection, "ann", "100", 4.0, 0.1) == first
        assert opinions.put(connection, "ann", "100", 4.0, 0.3).revision != first.revision


def test_the_server_is_told_to_be_durable(database: Database) -> None:
    with database.reading() as connection:
        if database.sqlite:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        else:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


@pytest.mark.parametrize(
    "table",
    [
        {"item": ["z"], "genres": ["Drama"]}, {"item": ["z"], "year": [float("inf")]},
        {"item": ["z"], "year": ["unknown"]}, {"item": ["z"], "title": [7]},
        {"item": ["z"], "rating": [5]}, {"item": ["z"], "User": ["ann"]},
        {"item": ["a\x00b"]}, {"item": ["z" * 300]}, {"item": ["z"], "title": ["a\x00b"]},
        {"item": ["z"], "when": [datetime.date(2020, 1, 1)]},
    ],
)  # fmt: skip
def test_an_item_table_that_does_not_go_with_the_catalogue_is_refused(
    sqlite: Database, table: dict[str, list[object]]
) -> None:
    declared = establish(sqlite)
    add_items(sqlite, films())
    with pytest.raises(DataError):
        add_items(sqlite, Items.from_frame(pl.DataFrame(table)))
    assert len(read_moment(sqlite, declared).items) == 30


def test_mending_an_item_keeps_what_the_table_does_not_name(database: Database) -> None:
    establish(database)
    add_items(database, films())
    add_items(database, Items.from_frame(pl.DataFrame({"item": ["100"], "year": [2001]})))
    with database.reading() as connection:
        items = catalogue.read(connection)
    assert items is not None
    assert items.frame.row(0, named=True) == {
        "item": "100", "title": "Film 0", "year": 2001, "genres": ["Drama"],
    }  # fmt: skip


def test_levels_that_are_not_offered_never_reach_a_publication(sqlite: Database) -> None:
    declared = establish(sqlite)
    add_items(sqlite, films())
    with sqlite.writing() as connection:
        people.new_person(connection, "ann")
        opinions.put(connection, "ann", "100", 5.0, 3.0)  # the service would have refused it
    with pytest.raises(SpecError):
        publish(sqlite, declared)
    with sqlite.reading() as connection:
        assert ledger.latest(connection) == 0


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
        last = connection.scalar(sa.select(sa.func.max(spends.c.release))) or 0
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
