"""discreet ledger: what is declared about a ledger's file."""

import shutil
from pathlib import Path

import pytest

from discreet.data.ratings import Ratings
from discreet.errors import LedgerError
from discreet.publishing.file_ledger import FileLedger
from tests.cli.running import run
from tests.publishing.ledgers import put


def test_a_restored_or_moved_ledger_is_declared_from_the_command_line(
    tmp_path: Path, small: Ratings
) -> None:
    club, copy = tmp_path / "club", tmp_path / "copy"
    club.mkdir()
    put(FileLedger(club / "ledger.db"), small.subset(small.user < 20))
    shutil.copytree(club, copy)
    assert "nothing to declare" in run("ledger", "moved", str(club / "ledger.db")).stdout
    with pytest.raises(LedgerError, match="say 'discreet ledger moved"):
        put(FileLedger(copy / "ledger.db"), small)
    assert "names this move" in run("ledger", "moved", str(copy / "ledger.db")).stdout
    put(FileLedger(copy / "ledger.db"), small)
    small.to_frame().write_parquet(tmp_path / "ratings.parquet")
    words = ["ledger", "restored", str(club / "ledger.db"), str(tmp_path / "ratings.parquet")]
    said = run(*words, "--after", "7").stdout
    assert said.startswith(f"{len(small)} ratings are charged in full, and later certificates name")
    put(FileLedger(club / "ledger.db"), small)
    assert FileLedger(club / "ledger.db").releases()[-1].number == 8
    shown = run("inspect", str(club / "ledger.db")).stdout
    assert f"{len(small)} more were charged" in shown
    assert "from a copy that knew release" in shown
    ended = run("ledger", "moved", str(tmp_path / "nothing.db"))
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: no ledger")
