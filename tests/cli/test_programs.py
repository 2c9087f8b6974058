"""What programs, shells and narrow terminals get: rows, values that complete, whole words."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer

from discreet.cli import app, compare
from discreet.cli.audit import with_a_file
from discreet.data.ratings import Ratings
from discreet.experiments.statements import Verdict
from discreet.schemes.tally import Tally
from tests.cli.running import ok, refused, run

WIDEST = 78
"""Of an example: 80 columns without a line that a terminal wraps."""


def commands(command: Any, *path: str) -> list[tuple[str, ...]]:
    found = [path]
    for name, inner in getattr(command, "commands", {}).items():
        found += commands(inner, *path, name)
    return found


COMMANDS = commands(typer.main.get_command(app))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_examples_stand_on_lines_of_their_own_that_fit(command: tuple[str, ...]) -> None:
    told = ok(*command, "--help", COLUMNS="80")
    assert "\\b" not in told
    assert "\b" not in told
    examples = told.partition("Example")[2].partition("\n\n")[0].splitlines()[1:]
    assert all(len(line) <= WIDEST for line in examples)
    assert all("discreet" in line for line in examples if line.strip())


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("fit --scheme ch", "chorus"),
        ("fit --unit p", "person"),
        ("fit ml-1", "ml-1m"),
        ("evaluate --repeats l", "last"),
        ("recommend x --rank-by lik", "likely"),
        ("compare --unit p", "person"),
        ("compare --data ml-1", "ml-100k"),
        ("data get ml-1", "ml-100k"),
        ("help tab", "tables"),
        ("plan --purpose l", "lists"),
    ],
)
def test_the_shell_completes_values(line: str, value: str) -> None:
    words = {"COMP_WORDS": f"discreet {line}", "COMP_CWORD": str(len(line.split()))}
    done = run(_DISCREET_COMPLETE="complete_bash", **words)
    assert value in done.stdout.split()


def test_data_sets_are_listed_in_whole_words_and_for_programs(tmp_path: Path) -> None:
    (tmp_path / "ml-1m.parquet").touch()
    told = ok("data", "list", COLUMNS="80", DISCREET_DATA=str(tmp_path))
    [line] = [line for line in told.splitlines() if "ml-1m " in line]
    assert line.split("│")[1].strip() == "here"
    assert max(map(len, told.partition("\n\n")[0].splitlines())) <= 80
    found = json.loads(ok("data", "list", "--json", DISCREET_DATA=str(tmp_path)))
    places = {row["name"]: row["place"] for row in found}
    assert places["ml-1m"] == str(tmp_path / "ml-1m.parquet")
    assert places["club"] is None


def test_a_comparison_s_table_fits_80_columns_in_whole_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    labels = ["McSherry-Mironov covariance", "Input perturbation (SGD)", "Tally"]
    levels = ("0.1", "1", "5", "10", "20", "none")
    rows = [
        {"label": label, "level": level, "rmse": 0.9123, "ndcg@10": 0.2}
        for label in labels
        for level in levels
    ]
    monkeypatch.setattr("discreet.experiments.verdicts.means", lambda _: pl.DataFrame(rows))
    compare._show(levels[:-1], pl.DataFrame())
    told = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in told.splitlines()) <= 80
    for word in ("McSherry-Mironov", "perturbation", "RMSE", "NDCG@10"):
        assert word in told


def test_a_sample_of_people_is_told_to_programs_or_not_at_all(
    small: Ratings, tmp_path: Path
) -> None:
    small.to_frame().write_csv(tmp_path / "r.csv")
    words = ("data", "reduce", "r.csv", "--users", "5", "--out", "some.csv")
    assert json.loads(ok(*words, "--json", cwd=tmp_path))["people"] == 5
    assert ok(*words, "--quiet", cwd=tmp_path) == ""


def test_lists_in_a_file_need_no_words(small: Ratings, tmp_path: Path) -> None:
    Tally().fit(small, seed=1).release.save(tmp_path / "release")
    assert ok("recommend", "release", "--out", "lists.csv", "-q", cwd=tmp_path) == ""
    assert (tmp_path / "lists.csv").is_file()


def test_verdicts_on_the_paper_are_rows_for_programs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    verdict = Verdict(*("some words" for _ in Verdict._fields))
    done = tmp_path / "report.html", [verdict], 0
    monkeypatch.setattr("discreet.experiments.run.reproduce", lambda *_, **__: done)
    words = ("reproduce", "--data", "club")
    assert json.loads(ok(*words, "--json", cwd=tmp_path)) == [verdict._asdict()]
    assert ok(*words, "--quiet", cwd=tmp_path) == ""


def test_an_audit_prints_rows_or_writes_them(tmp_path: Path) -> None:
    words = ("audit", "--scheme", "tally", "--fits", "20")
    rows = json.loads(ok(*words, "--json", cwd=tmp_path))
    assert {row["scheme"] for row in rows} == {"Tally"}
    assert ok(*words, "--json", "rows.json", "--quiet", cwd=tmp_path) == ""
    assert len(json.loads((tmp_path / "rows.json").read_text())) == len(rows)
    assert with_a_file(["--field", "--json"]) == ["--field", "--json", "-"]
    assert "give --json a file" in refused("audit", "--paper", "club", "--json")
