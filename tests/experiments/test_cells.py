"""Cells: named by what they depend on, kept whole, run once, whatever happens in between."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.data.ratings import Ratings
from discreet.evaluate.crossval import cross_validate
from discreet.evaluate.judge import Judging
from discreet.experiments.cells import CDF_AT, Cell, Job, Store, options, run_cells
from discreet.experiments.run import find_source
from discreet.experiments.source import Source
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.tally import Tally


@pytest.fixture
def source(small: Ratings, tmp_path: Path) -> Source:
    small.to_frame().write_parquet(tmp_path / "small.parquet")
    return find_source(str(tmp_path / "small.parquet"))


def tally(source: Source, epsilon: float, folds: int = 3) -> list[Cell]:
    job = Job(source, "Tally", privacy=options(uniform=epsilon))
    return [Cell(job, fold, folds) for fold in range(folds)]


def test_a_name_says_what_a_result_depends_on_and_nothing_else(source: Source) -> None:
    [cell, *_] = tally(source, 0.5)
    moved = replace(cell, job=replace(cell.job, source=replace(source, ratings="/elsewhere")))
    assert moved.name == cell.name
    others: list[Cell] = [
        replace(cell, fold=1),
        replace(cell, seed=1),
        replace(cell, job=replace(cell.job, privacy=options(uniform=0.6))),
        replace(cell, job=replace(cell.job, options=options(threshold=0.5))),
        replace(cell, job=replace(cell.job, source=replace(source, fingerprint="other"))),
    ]
    assert len({cell.name, *(other.name for other in others)}) == 6


def test_a_change_of_the_code_names_cells_anew(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    [cell, *_] = tally(source, 0.5)
    before = cell.name
    monkeypatch.setattr("discreet.experiments.cells.code_of", lambda _: "changed")
    assert cell.name != before
    assert cell.code == "changed"


def test_a_split_by_time_depends_on_times_and_a_random_one_does_not(source: Source) -> None:
    [cell, *_] = tally(source, 0.5)
    later = replace(cell, job=replace(cell.job, source=replace(source, times="others")))
    assert cell.name == later.name
    last, later_last = (replace(c, split="last") for c in (cell, later))
    assert len({cell.name, last.name, later_last.name}) == 3
    judged = [replace(cell, lists=Judging(top)) for top in (5, 10)]
    assert len({cell.name, *(other.name for other in judged)}) == 3


def test_a_cell_judges_lists_as_cross_validation_does(small: Ratings, source: Source) -> None:
    [cell, *_] = tally(source, 0.5)
    mine = replace(cell, lists=Judging(5, "consumed")).measure()
    spec = PrivacySpec.uniform(0.5)
    theirs = cross_validate(Tally(), small, spec, folds=3, top=5, target="consumed")
    for name in ("ndcg@5", "ndcg@5_margin", "recall@10", "novelty@5", "coverage@5"):
        assert mine[name] == pytest.approx(theirs[name][0])
    assert mine["diversity@5"] is None  # there is no item table


def test_the_fingerprint_is_of_the_table(small: Ratings, source: Source, tmp_path: Path) -> None:
    frame = small.to_frame()
    frame.write_csv(tmp_path / "same.csv")
    changed = frame.with_columns(rating=pl.lit(3.0))
    changed.write_parquet(tmp_path / "changed.parquet")
    assert find_source(str(tmp_path / "changed.parquet")).fingerprint != source.fingerprint


def test_a_cell_is_a_fold_of_cross_validation(small: Ratings, source: Source) -> None:
    mine = [cell.measure() for cell in tally(source, 0.5)]
    theirs = cross_validate(Tally(), small, PrivacySpec.uniform(0.5), folds=3)
    np.testing.assert_allclose([m["rmse"] for m in mine], theirs["rmse"].to_numpy())
    assert len(mine[0]["cdf"]) == len(CDF_AT)
    assert mine[0]["cdf"][20] == pytest.approx(theirs["cdf_1"][0], abs=1e-6)


def test_a_scheme_that_diverges_has_no_numbers(source: Source) -> None:
    result = Cell(Job(source, "PMF", options(solver="gradient", gamma=1e6)), 0, 3).measure()
    assert "diverges" in result["diverged"]
    assert "rmse" not in result


def test_nothing_that_is_there_runs_again(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "cells")
    seen: list[tuple[str, int, int]] = []
    assert run_cells(tally(source, 0.5) * 2, store, workers=1) == 3
    before = {p: p.stat().st_mtime_ns for p in store.folder.iterdir()}
    assert run_cells(tally(source, 0.5), store, progress=lambda *a: seen.append(a)) == 0
    assert seen == [("cells", 3, 3)]
    assert run_cells(tally(source, 0.5) + tally(source, 0.6), store, workers=1) == 3
    assert all(p.stat().st_mtime_ns == t for p, t in before.items())
    monkeypatch.setattr(Cell, "measure", lambda _: pytest.fail("ran again"))
    table = store.table(tally(source, 0.5))
    assert table["rmse"].null_count() == 0


def test_a_torn_file_counts_as_missing(source: Source, tmp_path: Path) -> None:
    store, [cell, *_] = Store(tmp_path / "cells"), tally(source, 0.5)
    store.put(cell, {"rmse": 1.0})
    assert store.get(cell) == {"rmse": 1.0}
    (store.folder / f"{cell.name}.json").write_text('{"rm')
    assert store.get(cell) is None
    assert store.table([cell])["rmse"].null_count() == 1


REPRODUCE = "from discreet.cli import main; main()"
KILLED_AFTER_FIVE = f"""
import os, signal
from discreet.experiments import processes
finished = processes.as_completed

def five(futures):
    for number, future in enumerate(finished(futures)):
        if number == 5:
            os.killpg(0, signal.SIGKILL)
        yield future

processes.as_completed = five
{REPRODUCE}
"""


def reproduce(out: Path, table: Path, code: str = REPRODUCE) -> tuple[int, str]:
    """How it ended and what it said; two at a time, however many cores there are."""
    words = ["--data", table, "--figure", "2", "--folds", "2", "--workers", "2", "--out", out]
    process = subprocess.run(
        [sys.executable, "-c", code, "reproduce", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env=os.environ | {"COLUMNS": "120", "NO_COLOR": "1"}, check=False,
    )  # fmt: skip
    return process.returncode, process.stdout


def test_killed_in_the_middle_it_goes_on_and_ends_the_same(small: Ratings, tmp_path: Path) -> None:
    """kill -9 of the command and all its workers, then again: nothing done is done twice."""
    table = tmp_path / "ratings.parquet"
    many = [small.to_frame().with_columns(user=pl.lit(f"{k}-") + pl.col("user")) for k in range(40)]
    pl.concat(many).drop("epsilon").write_parquet(table)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    status, said = reproduce(whole, table)
    assert status == 0, said
    assert reproduce(killed, table, KILLED_AFTER_FIVE)[0] == -signal.SIGKILL
    done = {p: p.stat().st_mtime_ns for p in (killed / "cells").glob("*.json")}
    assert 5 <= len(done) < len(list((whole / "cells").glob("*.json")))
    assert not (killed / "report.html").exists()
    status, shown = reproduce(killed, table)
    assert status == 0, shown
    assert f"{len(list((whole / 'cells').glob('*.json'))) - len(done)} cells run" in shown
    assert all(path.stat().st_mtime_ns == then for path, then in done.items())
    one, other = (pl.read_parquet(f / "results.parquet").drop("seconds") for f in (whole, killed))
    assert one.equals(other)


INTERRUPTED = """
import os, signal, sys
from concurrent import futures
from discreet.cli import main
from discreet.experiments import processes

def interrupting(some):
    os.killpg(0, signal.SIGINT)  # of the group, as Ctrl-C: workers that start too
    return futures.as_completed(some)

processes.as_completed = interrupting
if __name__ == "__main__":
    sys.argv = ["discreet", "sweep", "club", "--workers", "2", "--out", sys.argv[1]]
    main()
"""


def test_workers_that_are_starting_leave_an_interrupt_to_who_started_them(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, tmp_path / "interrupted.py", tmp_path / "out"],
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert "what was done is kept" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_while_the_command_line_is_imported_is_told_in_words() -> None:
    script = """
import importlib.abc, sys

class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "discreet.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from discreet.__main__ import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr.strip() == "Interrupted: no file was left half-written."
