"""discreet audit as a person uses it."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.audit import mutants
from discreet.cli import app
from discreet.data.ratings import Ratings
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.tally import Tally
from tests.audit.test_setting import even_table
from tests.cli.running import COMMAND, ok, refused


@pytest.fixture
def release(small: Ratings, tmp_path: Path) -> Path:
    Tally().fit(small, PrivacySpec.column()).release.save(tmp_path / "release")
    return tmp_path / "release"


def test_a_release_is_audited_by_what_its_certificate_names(release: Path, tmp_path: Path) -> None:
    rows, figure = tmp_path / "audit.json", tmp_path / "audit.svg"
    shown = ok(
        "audit", "--release", release, "--runs", "500", "--json", rows, "--figure", figure
    )  # fmt: skip
    assert "Tally weigh" in shown
    assert "not refuted" in shown
    assert "not that the claim is true" in shown.replace("\n", " ")
    found = json.loads(rows.read_text())
    assert [row["claimed"] for row in found] == [0.25, 1.0, 1.0, 1.0]
    assert [row["control"] for row in found] == [False, False, False, True]
    assert all(row["runs"] == 500 for row in found)
    assert figure.read_text().startswith("<?xml")


def test_an_interrupted_audit_leaves_what_it_found(tmp_path: Path) -> None:
    rows = tmp_path / "audit.json"
    process = subprocess.Popen(
        [*COMMAND, "audit", "--json", rows],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"COLUMNS": "120", "NO_COLOR": "1"},
    )  # fmt: skip
    while not rows.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    shown, errors = process.communicate()
    assert process.returncode == 130
    assert "Interrupted after" in errors
    assert "Traceback" not in errors
    found = json.loads(rows.read_text())
    assert found[0]["scheme"] in shown


def test_the_paper_s_setting_is_drawn(tmp_path: Path) -> None:
    table = tmp_path / "ratings.csv"
    figure, losses = tmp_path / "l.svg", tmp_path / "l.parquet"
    # Each of 100 items has 1% of the ratings: far from diverging at gamma = 50, but not at 200.
    even_table(100, 10).to_frame().write_csv(table)
    shown = ok("audit", "--paper", table, "--figure", figure, "--json", losses)
    assert "claimed: 0.39" in shown
    assert "in the table" in shown
    assert "gamma = 200 is left out" in shown
    assert "gamma = 100 is left out" not in shown
    assert "computed from the ratings themselves" in shown.replace("\n", " ")
    assert figure.exists()
    found = pl.read_parquet(losses)["loss"]
    assert len(found) > 100
    assert found.is_finite().all()


def test_a_table_that_the_paper_s_gamma_is_not_for_is_refused(tmp_path: Path) -> None:
    table, figure = tmp_path / "ratings.csv", tmp_path / "l.svg"
    even_table(10, 40).to_frame().write_csv(table)  # each item has 10%: far too much
    assert "gamma = 50 diverges" in refused("audit", "--paper", table, "--figure", figure)
    assert not figure.exists()


def test_mutants_are_played_and_scored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen = ("unweighted votes", "weights rounded up")
    some = tuple(m for m in mutants.MUTANTS if m.name in chosen)
    monkeypatch.setattr(mutants, "MUTANTS", some)
    rows = tmp_path / "mutants.json"
    done = CliRunner().invoke(app, ["audit", "--mutants", "--runs", "4000", "--json", str(rows)])
    assert done.exit_code == 0, done.output
    assert "Score: 1 of 2 mutants refuted" in done.output
    told = done.output.replace("\n", " ")
    assert "Too small to be heard: weights rounded up (tests/schemes/test_tally.py fails)" in told
    assert "prove little" not in told
    assert [row["case"] for row in json.loads(rows.read_text())] == list(chosen)
    assert "tables of their own" in refused("audit", "--mutants", "--release", tmp_path)


def test_what_cannot_be_audited_is_said(tmp_path: Path) -> None:
    assert "is not a release" in refused("audit", "--release", tmp_path / "none")
    assert "there is no folder" in refused("audit", "--json", tmp_path / "x" / "y.json")
