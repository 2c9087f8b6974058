"""Databases that are really copied, really put back, and whose publisher is really killed."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from discreet.data.ratings import Ratings
from discreet.database import erasures, generation, ledger, people
from discreet.database.connection import Database, now
from discreet.database.declaration import Declaration, establish, opened
from discreet.database.schema import settings
from discreet.errors import LedgerError
from discreet.operate.copies import charge_in_full
from discreet.operate.releases import publish
from discreet.privacy.history import HOUR, History
from tests.databases import filled
from tests.operate.test_publish import spent


@pytest.fixture
def club(small: Ratings, tmp_path: Path) -> Path:
    """A database in a folder of its own, with a release."""
    (tmp_path / "club").mkdir()
    database = Database(tmp_path / "club" / "club.db")
    publish(database, filled(database, small))
    database.close()
    return tmp_path / "club" / "club.db"


def history(database: Database, declared: Declaration | None = None) -> History:
    with database.reading() as connection:
        number = generation.next_number(connection)
        return generation.history(connection, declared or Declaration(), number, now())


def publish_from(path: Path) -> int:
    database, declared = opened(str(path))
    try:
        return publish(database, declared)[0].number
    finally:
        database.close()


def put_back(copy: Path, place: Path) -> None:
    """As `cp` does it: what is there is written over, and stays the same file."""
    for leftover in ("-wal", "-shm"):
        place.with_name(place.name + leftover).unlink(missing_ok=True)
    shutil.copy(copy, place)


def test_a_plain_copy_publishes_nowhere(club: Path, tmp_path: Path) -> None:
    shutil.copy(club, tmp_path / "copy.db")
    with pytest.raises(LedgerError, match="is a copy"):
        publish_from(tmp_path / "copy.db")
    assert publish_from(club) == 2  # the original goes on
    alias = tmp_path / "alias.db"
    alias.symlink_to(club)  # another name is no copy
    assert publish_from(alias) == 3


def test_a_copy_of_everything_publishes_nowhere(club: Path, tmp_path: Path) -> None:
    shutil.copytree(club.parent, tmp_path / "other")
    with pytest.raises(LedgerError, match="is a copy, or was put back"):
        publish_from(tmp_path / "other" / club.name)
    club.parent.rename(tmp_path / "renamed")  # no copy at all: nothing has to be declared
    assert publish_from(tmp_path / "renamed" / club.name) == 2


def test_a_copy_made_before_the_first_release_publishes_nowhere(
    sqlite: Database, small: Ratings, tmp_path: Path
) -> None:
    declared = filled(sqlite, small)
    sqlite.close()
    shutil.copy(tmp_path / "club.db", tmp_path / "copy.db")
    with pytest.raises(LedgerError, match="is a copy"):
        publish_from(tmp_path / "copy.db")
    publish(sqlite, declared)


def test_an_older_state_of_everything_is_noticed(club: Path, tmp_path: Path) -> None:
    shutil.copytree(club.parent, tmp_path / "copy")
    assert publish_from(club) == 2
    for path in (tmp_path / "copy").iterdir():
        put_back(path, club.with_name(path.name))
    with pytest.raises(LedgerError, match="was put back"):
        publish_from(club)


def test_a_moved_database_goes_on_once_that_is_declared(club: Path, tmp_path: Path) -> None:
    shutil.copytree(club.parent, tmp_path / "other")
    database = Database(tmp_path / "other" / club.name)
    before = history(database)
    keeper = generation.DatabaseKeeper(database)
    assert keeper.moved()
    assert publish_from(tmp_path / "other" / club.name) == 2
    after = history(database)
    assert after.generation != before.generation
    assert len(after.moves) == 1
    assert after.whole
    assert not keeper.moved()  # there is nothing to declare any more
    assert history(database) == after
    database.close()


def test_an_older_copy_is_no_move(club: Path, tmp_path: Path) -> None:
    shutil.copy(club, tmp_path / "copy.db")
    publish_from(club)
    put_back(tmp_path / "copy.db", club)
    database = Database(club)
    with pytest.raises(LedgerError, match="no move"):
        generation.DatabaseKeeper(database).moved()
    database.close()


CRASH = """
import os, signal, sys
from importlib import import_module
from discreet.database.declaration import opened
from discreet.database.erasures import erase
from discreet.database.writer import Writer
from discreet.operate.releases import publish
moment, module, *names = sys.argv[2].split(" ")
holder = import_module(module)
for name in names[:-1]:
    holder = getattr(holder, name)
before = getattr(holder, names[-1])
def killed(*words):
    if moment == "after":
        before(*words)
    os.kill(os.getpid(), signal.SIGKILL)
database, declared = opened(sys.argv[1])
setattr(holder, names[-1], killed)
erase(Writer(database), "u1") if sys.argv[3:] else publish(database, declared)
"""
BEGUN = "before discreet.privacy.beside Beside show"
ANNOUNCED = "after discreet.database.ledger add_spends"
COMMITTED = "before discreet.privacy.beside Beside settle"


def crash(club: Path, where: str, *words: str) -> None:
    child = [sys.executable, "-c", CRASH, str(club), where, *words]
    assert subprocess.run(child, check=False).returncode == -signal.SIGKILL


@pytest.mark.parametrize("where", [BEGUN, ANNOUNCED, COMMITTED])
def test_after_a_crash_publishing_goes_on(where: str, club: Path) -> None:
    crash(club, where)
    count = 2 if where == COMMITTED else 1
    assert publish_from(club) == count + 1
    assert publish_from(club) == count + 2
    assert sorted(p.name for p in club.parent.iterdir()) == ["club.db", "club.db.generation"]


@pytest.mark.parametrize("where", [ANNOUNCED, COMMITTED])
def test_a_crash_between_the_two_writes_and_then_an_older_copy_is_noticed(
    where: str, club: Path, tmp_path: Path
) -> None:
    shutil.copy(club, tmp_path / "copy.db")
    crash(club, where)
    put_back(tmp_path / "copy.db", club)
    with pytest.raises(LedgerError, match="release 2 was published from here"):
        publish_from(club)
    database, declared = opened(str(club))
    charge_in_full(database, declared)
    assert history(database).restores[0].known == 1
    assert publish(database, declared)[0].number == 3
    database.close()


def there(club: Path) -> bool:
    database = Database(club)
    with database.reading() as connection:
        found = people.joined_at(connection, "u1") > 0
    database.close()
    return found


def test_who_leaves_while_it_crashes_has_left(club: Path, tmp_path: Path) -> None:
    shutil.copy(club, tmp_path / "copy.db")
    crash(club, "before discreet.database.people erase", "erase")
    assert there(club)
    publish_from(club)
    assert not there(club)
    shutil.copy(tmp_path / "copy.db", tmp_path / "club.db")
    shutil.copy(club.with_name("club.db.erased"), tmp_path / "club.db.erased")
    assert there(tmp_path / "club.db")
    copy = Database(tmp_path / "club.db")
    erasures.erase_again(copy)
    copy.close()
    assert not there(tmp_path / "club.db")


SEVERAL = """
import sys
from discreet.database.declaration import opened
from discreet.database.erasures import erase_again
from discreet.errors import LedgerError
from discreet.operate.releases import publish
for _ in range(4):
    database, declared = opened(sys.argv[1])
    erase_again(database)
    try:
        publish(database, declared)
    except LedgerError as error:
        assert "another publisher was first" in str(error), error
    database.close()
"""


def test_several_processes_do_not_take_each_other_for_copies(club: Path) -> None:
    children = [subprocess.Popen([sys.executable, "-c", SEVERAL, str(club)]) for _ in range(2)]
    assert [child.wait(timeout=300) for child in children] == [0, 0]
    database = Database(club)
    with database.reading() as connection:
        last = ledger.latest(connection)
    database.close()
    assert last >= 5  # at least one of them got through each time
    assert publish_from(club) == last + 1
    assert sorted(p.name for p in club.parent.iterdir()) == ["club.db", "club.db.generation"]


def test_of_two_declarations_a_publication_in_between_is_told(
    database: Database, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = filled(database, small)
    import discreet.operate.releases as module

    read = module.read_snapshot

    def read_slowly(*words: object) -> module.Snapshot:
        snapshot = read(*words)  # type: ignore[arg-type]
        monkeypatch.undo()
        charge_in_full(database, declared)
        return snapshot

    monkeypatch.setattr(module, "read_snapshot", read_slowly)
    with pytest.raises(LedgerError, match="declared in the meantime"):
        publish(database, declared)
    assert spent(database)["mean"] == pytest.approx(declared.max_level)
    assert publish(database, declared)[0].number == 1


def older(database: Database) -> None:
    """As an older version left it."""
    with database.writing() as connection:
        connection.execute(sa.delete(settings).where(settings.c.name == "generation"))


def test_a_database_of_an_older_version_gets_a_generation(
    database: Database, small: Ratings, tmp_path: Path
) -> None:
    declared = filled(database, small)
    entry = publish(database, declared)[0]
    older(database)
    if database.sqlite:
        beside = tmp_path / "club.db.generation"
        beside.unlink()
        with pytest.raises(LedgerError, match="nothing beside it says that it published"):
            publish(database, declared)
        latest = tmp_path / "club.db.latest"
        latest.write_text('{"number": 2, "digest": "0"}')
        with pytest.raises(LedgerError, match="release 2 was published from here"):
            publish(database, declared)
        latest.write_text(f'{{"number": 1, "digest": "{entry.digest}"}}')
    assert not generation.DatabaseKeeper(database).moved()  # it is where it was
    assert publish(database, declared)[0].number == 2
    assert not (tmp_path / "club.db.latest").exists()
    found = history(database)
    assert (found.since, found.whole) == (2, False)


def opened_anew(club: Path) -> None:
    database = Database(club)
    try:
        establish(database)
    finally:
        database.close()


def test_a_database_that_was_lost_is_not_begun_anew_unawares(club: Path) -> None:
    club.unlink()
    with pytest.raises(LedgerError, match="another one that was here"):
        opened_anew(club)


def test_a_schedule_that_was_not_kept_is_in_the_history(database: Database) -> None:
    declared = establish(database, {"publish_every_hours": 24})
    add = sa.insert(ledger.releases)
    times = {1: 0, 2: 24 * HOUR, 3: 30 * HOUR}
    with database.writing() as connection:
        for number, at in times.items():
            connection.execute(add.values(
                number=number, digest=str(number), scheme="tally", threshold="1", begun_at=at,
                published_at=at,
            ))  # fmt: skip
    with database.reading() as connection:
        found = generation.history(connection, declared, 4, 100 * HOUR)
    assert (found.every_hours, found.off_schedule, found.release) == (24, (3, 4), 4)
