"""Ledger files that are really copied, really put back, and whose publisher is really killed."""

import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.errors import LedgerError
from discreet.privacy.beside import place_of, same_place
from discreet.privacy.history import Restore
from discreet.publishing.file_ledger import VISIBLE, FileLedger
from tests.publishing.ledgers import put


@pytest.fixture
def club(tmp_path: Path) -> Path:
    """A folder in which a ledger and its releases lie."""
    (tmp_path / "club").mkdir()
    return tmp_path / "club"


def opened(folder: Path) -> FileLedger:
    return FileLedger(folder / "ledger.db")


def early(ratings: Ratings) -> Ratings:
    return ratings.subset(ratings.user < 20)


def put_back(copy: Path, place: Path) -> None:
    """As `cp -r copy/. place` does it: what is there is written over, and stays the same file."""
    shutil.copytree(copy, place, dirs_exist_ok=True)


def test_a_plain_copy_publishes_nowhere(club: Path, small: Ratings, tmp_path: Path) -> None:
    put(opened(club), early(small))
    (tmp_path / "other").mkdir()
    shutil.copy(club / "ledger.db", tmp_path / "other")
    shutil.copytree(club / "release", tmp_path / "other" / "release")
    with pytest.raises(LedgerError, match="is a copy"):
        put(opened(tmp_path / "other"), small)
    put(opened(club), small)  # the original goes on
    assert opened(club).history(3).whole


def test_a_copy_of_everything_publishes_nowhere(club: Path, small: Ratings, tmp_path: Path) -> None:
    put(opened(club), early(small))
    shutil.copytree(club, tmp_path / "other")
    with pytest.raises(LedgerError, match="is a copy, or was put back"):
        put(opened(tmp_path / "other"), small)
    club.rename(tmp_path / "renamed")  # no copy at all: nothing has to be declared
    put(opened(tmp_path / "renamed"), small)
    assert opened(tmp_path / "renamed").history(3).whole


def test_an_older_state_of_everything_is_noticed(
    club: Path, small: Ratings, tmp_path: Path
) -> None:
    put(opened(club), early(small))
    shutil.copytree(club, tmp_path / "copy")
    put(opened(club), small)
    put_back(tmp_path / "copy", club)
    with pytest.raises(LedgerError, match="was put back"):
        put(opened(club), small)


def test_what_a_restored_ledger_has_forgotten_is_not_counted_again_and_is_named(
    club: Path, small: Ratings, tmp_path: Path
) -> None:
    put(opened(club), early(small))
    shutil.copytree(club, tmp_path / "copy")
    lost = small.subset(small.user >= 35)
    kept = small.subset(small.user < 35)
    put(opened(club), small)
    shutil.copy(tmp_path / "copy" / "ledger.db", club)
    shutil.rmtree(club / "release")
    shutil.copytree(tmp_path / "copy" / "release", club / "release")
    ledger = opened(club)
    with pytest.raises(LedgerError, match="no move"):
        ledger.moved()
    assert ledger.restored(kept) == len(kept)
    put(ledger, small)  # those who were lost have given their ratings again
    assert [r.number for r in ledger.releases()] == [1, 3]  # 2 is out in the world already
    assert (ledger.spends(kept).epsilon == np.inf).all()
    again = ledger.spends(lost).epsilon  # B2: counted a second time, which nobody can know...
    assert (again > 0).all()
    history = ledger.history(3)
    assert [restore.known for restore in history.restores] == [1]  # ...and every later one says
    assert not history.whole
    assert np.isfinite(list(ledger.summary().values())).all()
    put(ledger, small)
    assert ledger.history(5).restores == history.restores
    assert ledger.history(5).generation == history.generation


def test_a_moved_ledger_goes_on_once_that_is_declared(
    club: Path, small: Ratings, tmp_path: Path
) -> None:
    put(opened(club), early(small))
    shutil.copytree(club, tmp_path / "other")
    ledger, before = opened(tmp_path / "other"), opened(club).history(2)
    assert ledger.moved()
    put(ledger, small)
    after = ledger.history(3)
    assert after.generation != before.generation
    assert len(after.moves) == 1
    assert after.whole
    assert not ledger.moved()  # there is nothing to declare any more
    assert ledger.history(3) == after


CRASH = """
import os, signal, sys
from pathlib import Path
from discreet.privacy.beside import Beside
from tests.conftest import random_ratings
from tests.publishing.ledgers import put
from discreet import FileLedger
moment, method = sys.argv[2].split(" ")
before = getattr(Beside, method)
def killed(*words):
    if moment == "after":
        before(*words)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(Beside, method, killed)
put(FileLedger(Path(sys.argv[1]) / "ledger.db"), random_ratings(40, 30, 400, seed=1))
"""
BEGUN, ANNOUNCED, COMMITTED = "before show", "after show", "before settle"


def crash(club: Path, where: str) -> None:
    child = subprocess.run([sys.executable, "-c", CRASH, str(club), where], check=False)
    assert child.returncode == -signal.SIGKILL


@pytest.mark.parametrize("where", [BEGUN, ANNOUNCED, COMMITTED])
def test_after_a_crash_publishing_goes_on(where: str, club: Path, small: Ratings) -> None:
    put(opened(club), early(small))
    crash(club, where)
    put(opened(club), small)
    count = 3 if where == COMMITTED else 2
    assert [r.state for r in opened(club).releases()] == [VISIBLE] * count
    put(opened(club), small)
    left = sorted(path.name for path in club.iterdir())
    assert left == ["ledger.db", "ledger.db.generation", "ledger.db.lock", "release"]


@pytest.mark.parametrize("where", [ANNOUNCED, COMMITTED])
def test_a_crash_between_the_two_writes_and_then_an_older_copy_is_noticed(
    where: str, club: Path, small: Ratings, tmp_path: Path
) -> None:
    put(opened(club), early(small))
    shutil.copytree(club, tmp_path / "copy")
    crash(club, where)
    assert len(opened(club).releases()) == (2 if where == COMMITTED else 1)
    shutil.copy(tmp_path / "copy" / "ledger.db", club)
    with pytest.raises(LedgerError, match="release 2 was published from here"):
        put(opened(club), small)


def test_a_ledger_of_the_older_format_gets_a_generation(
    club: Path, small: Ratings, tmp_path: Path
) -> None:
    put(opened(club), early(small))
    with closing(sqlite3.connect(club / "ledger.db")) as database, database:
        database.execute("DELETE FROM meta WHERE name = 'generation'")
        database.execute("UPDATE meta SET value = '2' WHERE name = 'format'")
    (club / "ledger.db.generation").unlink()
    shutil.copytree(club, tmp_path / "copy")
    put(opened(club), small)
    history = opened(club).history(2)
    assert (history.since, history.restores, history.whole) == (2, (), False)
    shutil.copy(tmp_path / "copy" / "ledger.db", club)
    with pytest.raises(LedgerError, match="older copy"):
        put(opened(club), small)


def test_a_ledger_that_was_lost_is_not_begun_anew_unawares(club: Path, small: Ratings) -> None:
    put(opened(club), small)
    for path in club.glob("ledger.db"):
        path.unlink()
    shutil.rmtree(club / "release")
    with pytest.raises(LedgerError, match="another one that was here"):
        opened(club)


def test_a_file_beside_it_that_cannot_be_read_is_named(club: Path, small: Ratings) -> None:
    put(opened(club), early(small))
    (club / "ledger.db.generation").write_text("[")
    with pytest.raises(LedgerError, match="cannot be read"):
        put(opened(club), small)
    (club / "ledger.db.generation").unlink()
    opened(club).restored(small)
    put(opened(club), small)
    assert opened(club).history(3).restores == (
        Restore(day=opened(club).history(3).restores[0].day, known=1),
    )


def test_a_note_whose_writer_was_killed_half_way_stops_nobody(club: Path, small: Ratings) -> None:
    ledger = opened(club)
    put(ledger, early(small))
    half = club / ".ledger.db.generation-0123456789abcdef"
    half.touch()  # as the file is between its making and its first byte
    put(ledger, small)
    assert not half.exists()
    assert opened(club).history(3).whole


def test_a_file_that_is_made_later_has_another_birth(tmp_path: Path) -> None:
    def born() -> str:
        (tmp_path / "file").write_text("")
        place = place_of(tmp_path / "file")
        (tmp_path / "file").unlink()
        return place.split(":")[1]

    first = born()
    if not first:
        pytest.skip("this file system does not tell when a file was made")
    assert not same_place(f"17:{first}", f"17:{int(first) + 1}")  # numbers are used again
    end = time.monotonic() + 10  # clocks of file systems tick slowly
    while born() == first:
        assert time.monotonic() < end
