"""A metric is one function and one line in a table: results, files and columns follow."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.cli import app
from discreet.data.ratings import Ratings
from discreet.evaluate import metrics
from discreet.evaluate.crossval import cross_validate
from discreet.evaluate.judge import Judging
from discreet.evaluate.lists import MARGIN, RANKINGS, ListMetric, Lists, headings
from discreet.evaluate.metrics import ERRORS, Metric
from discreet.experiments import cells
from discreet.experiments.run import find_source, sweep
from discreet.experiments.source import Source
from discreet.schemes.bias import Bias


def worst(predicted: Any, actual: Any) -> float:
    return float(metrics.errors(predicted, actual).max())


def hit_rate(lists: Lists) -> float:
    return float(lists.hits.any(axis=1).mean())


def in_this_process(
    work: Callable[..., None], calls: Sequence[tuple[Any, ...]], _side_by_side: int
) -> Iterator[None]:
    """Spawned processes would not know of what a test adds to a table."""
    for call in calls:
        yield work(*call)


@pytest.fixture
def worst_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line that a new metric needs; in this process, where sweeps then run as well."""
    monkeypatch.setitem(ERRORS, "worst", Metric(worst, "worst error"))
    monkeypatch.setattr(cells, "each_in_a_process", in_this_process)


@pytest.fixture
def table(small: Ratings, tmp_path: Path) -> Path:
    small.to_frame().write_parquet(tmp_path / "small.parquet")
    return tmp_path / "small.parquet"


def contents(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def swept(source: Source, out: Path, lists: Judging | None = None) -> pl.DataFrame:
    return sweep(source, ["bias"], [], out, folds=2, workers=1, lists=lists, baselines=False)


def test_cells_keep_what_they_always_kept_under_the_same_names(table: Path, tmp_path: Path) -> None:
    job = cells.Job(find_source(str(table)), "Bias")
    store = cells.Store(tmp_path / "cells")
    cells.run_cells([cells.Cell(job, fold, 2) for fold in range(2)], store, workers=1)
    for result in contents(tmp_path / "cells"):
        cost = ["fit_seconds", "fit_megabytes"]
        kept = ["rmse", "rmse_clipped", "mae", "cdf", "mechanism", "seconds"]
        assert [name for name in result if name not in cost] == kept
        assert set(result) == {*kept, *cost}


@pytest.mark.usefixtures("worst_error")
def test_a_line_in_the_table_makes_a_column_of_cross_validation(small: Ratings) -> None:
    found = cross_validate(Bias(), small, folds=2)
    assert found.columns[1:5] == ["rmse", "mae", "worst", "cdf_0.5"]
    assert (found["worst"] >= found["rmse"]).all()


@pytest.mark.usefixtures("worst_error")
def test_a_sweep_keeps_it_and_measures_what_was_kept_without_it(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, store = find_source(str(table)), cells.Store(tmp_path / "cells")
    all_cells = [cells.Cell(cells.Job(source, "Bias"), fold, 2) for fold in range(2)]
    with monkeypatch.context() as before:
        before.delitem(ERRORS, "worst")
        swept(source, tmp_path)
        old = store.table(all_cells)
    assert "worst" not in old.columns
    swept(source, tmp_path)
    assert all("worst" in result for result in contents(store.folder))
    new = store.table(all_cells)
    assert (new["worst"] >= new["rmse"]).all()
    assert new.drop("worst", "seconds").equals(old.drop("seconds"))
    assert cells.run_cells(all_cells, store) == 0


@pytest.mark.usefixtures("worst_error")
def test_the_command_line_shows_it_under_its_heading(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(RANKINGS, "hit_rate", ListMetric(hit_rate, "hit rate"))
    monkeypatch.setenv("COLUMNS", "200")
    words = ["evaluate", str(table), "--scheme", "bias", "--top", "3", "--folds", "2"]
    words.append("--no-baselines")
    app([*words, "--out", str(tmp_path / "rows.csv")], standalone_mode=False)
    shown = capsys.readouterr().out
    heads = ("RMSE", "MAE", "worst error", "|error| ≤ 0.5", "≤ 2", "fit s", "NDCG@3", "hit rate@3")
    places = [shown.index(head) for head in heads]
    assert places == sorted(places)
    rows = pl.read_csv(tmp_path / "rows.csv")
    assert f"{rows['worst'].mean():.4f}" in shown
    assert f"{rows['hit_rate@3'].mean():.3f}" in shown


def test_a_new_figure_of_lists_is_kept_by_sweeps_as_well(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "each_in_a_process", in_this_process)
    source = find_source(str(table))
    old = swept(source, tmp_path, Judging(3))
    assert "hit_rate@3" not in old.columns
    monkeypatch.setitem(RANKINGS, "hit_rate", ListMetric(hit_rate, "hit rate"))
    new = swept(source, tmp_path, Judging(3))
    assert (new["hit_rate@3"] >= new["ndcg@3"]).all()
    assert new["ndcg@3"].equals(old["ndcg@3"])


def test_every_figure_of_cross_validation_has_a_heading(small: Ratings) -> None:
    found = cross_validate(Bias(), small, folds=2, top=5)
    others = ("fold", "fit_seconds", "status", "mechanism")
    figures = [c for c in found.columns if c not in others and not c.endswith(MARGIN)]
    assert figures == [*metrics.headings(), *headings(5)]
