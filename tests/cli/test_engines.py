"""discreet fit --engine stream as a person uses it."""

from pathlib import Path

import pytest

from discreet.data.ratings import Ratings
from discreet.release.release import Release
from tests.cli.running import ok, refused


@pytest.fixture
def table(small: Ratings, tmp_path: Path) -> Path:
    small.to_frame().write_parquet(tmp_path / "ratings.parquet")
    return tmp_path / "ratings.parquet"


def test_a_streamed_fit_is_the_fit(table: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    words = ("--delta", "1e-4", "-d", "2", "--seed", "3")
    ok("fit", table, *words, "--out", one)
    shown = ok("fit", table, *words, "--out", other, "--engine", "stream")
    assert "Chorus" in shown
    digests = {Release.load(path).certificate.digest for path in (one, other)}
    assert len(digests) == 1


def test_what_does_not_stream_is_said(table: Path, tmp_path: Path) -> None:
    stream = ("--engine", "stream", "--out", tmp_path / "r")
    assert "goes with --scheme tally or chorus" in refused("fit", table, "--scheme", "pmf", *stream)
    assert "goes without --ledger" in refused("fit", table, "--ledger", tmp_path / "l.db", *stream)
    assert "--override-levels" in refused("fit", table, "--privacy", "uniform:0.1", *stream)
    assert "no file or folder" in refused("fit", tmp_path / "none.parquet", *stream)
