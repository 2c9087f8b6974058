import numpy as np
import polars as pl
import pytest

from discreet.errors import ParameterError
from discreet.evaluate.judge import Judging
from discreet.experiments.compare import Asked, _beside_others, _best, _cells
from discreet.experiments.compare_report import build_page, charts
from discreet.experiments.memory import Memory
from discreet.experiments.source import Source
from discreet.experiments.verdicts import means, verdicts


def results(ours, others):
    rows = [("Chorus for ratings", "1", k + 1, v) for k, v in enumerate(ours)]
    rows += [("DPALS", "1", k + 1, v) for k, v in enumerate(others)]
    frame = pl.DataFrame(rows, schema=["label", "level", "split", "rmse"], orient="row")
    return frame.with_columns(
        pl.lit(None, pl.Float64).alias("ndcg@10"),
        seconds=pl.lit(1.0),
        megabytes=pl.lit(2.0),
        mechanism=pl.lit("conditional"),
        list_people=pl.lit(None, pl.Int64),
        code=pl.lit("0123456789abcdef"),
    )


@pytest.mark.parametrize(
    ("ours", "others", "words"),
    [
        ((0.90, 0.91, 0.92), (0.95, 0.96, 0.97), "ahead"),
        ((0.95, 0.96, 0.97), (0.90, 0.91, 0.92), "behind"),
        ((0.90, 0.96, 0.92), (0.95, 0.90, 0.95), "not told apart"),
        ((0.90,), (0.95,), "ahead, one split"),
    ],
)
def test_verdicts_follow_from_paired_splits(ours, others, words):
    (verdict,) = verdicts(results(ours, others))
    assert verdict.words == words
    assert verdict.ahead == pytest.approx(np.mean(others) - np.mean(ours))


def test_an_interval_is_students():
    found = means(results((0.90, 0.91, 0.95), (1.0, 1.0, 1.0)))
    margin = found.filter(pl.col("label") == "DPALS")["rmse_margin"][0]
    assert margin == pytest.approx(0.0)
    ours = found.filter(pl.col("label") != "DPALS")["rmse_margin"][0]
    assert ours == pytest.approx(4.303 * np.std([0.90, 0.91, 0.95], ddof=1) / np.sqrt(3))


def test_curves_are_drawn_of_levels_and_lines_of_what_has_none():
    table = pl.concat(
        [
            results((0.9,), (1.0,)),
            results((0.8,), (0.9,)).with_columns(level=pl.lit("5")),
            results((0.7,), (0.7,)).with_columns(label=pl.lit("SVD++"), level=pl.lit("none")),
        ]
    )
    error, lists, _ = charts(means(table))
    assert dict(error.curves)["DPALS"] == [(1.0, 1.0), (5.0, 0.9)]
    assert dict(error.lines) == {"SVD++": 0.7}
    assert not lists.curves


def test_of_several_parameters_those_count_that_do_better_on_all_splits_together():
    rows = [("A", (0.9, 0.8)), ("B", (0.70, 0.95)), ("B", (0.80, 0.84)), ("C", (None, None))]
    table = pl.DataFrame(
        [
            (number, label, "1", k, rmse, None)
            for number, (label, errors) in enumerate(rows)
            for k, rmse in enumerate(errors)
        ],
        schema={"row": pl.Int64, "label": pl.String, "level": pl.String, "split": pl.Int64,
                "rmse": pl.Float64, "ndcg@10": pl.Float64}, orient="row",
    )  # fmt: skip
    assert _best(table)["rmse"].to_list() == [0.9, 0.8, 0.80, 0.84, None, None]
    lists = table.with_columns(pl.col("rmse").alias("ndcg@10"), rmse=pl.lit(None, pl.Float64))
    assert _best(lists)["ndcg@10"].to_list() == [0.9, 0.8, 0.70, 0.95, None, None]


@pytest.mark.parametrize(
    ("unit", "levels", "splits", "match"),
    [
        ("household", ["1"], 3, "unit"),
        ("person", ["paper"], 3, "level for each rating"),
        ("person", ["much"], 3, "--epsilons"),
        ("person", ["-1"], 3, "--epsilons"),
        ("person", [], 3, "at least one level"),
        ("person", ["1"], 11, "up to 10 splits"),
    ],
)
def test_what_cannot_be_compared_is_refused(unit, levels, splits, match):
    with pytest.raises(ParameterError, match=match):
        Asked.of(Source("club", "club", "club"), unit, levels, 1e-5, splits)


def test_a_page_names_every_private_scheme_with_its_promise():
    asked = Asked.of(Source("club", "club", "club"), "rating", ["paper", "1"], 1e-5, 1)
    page = build_page(asked, results((0.9,), (1.0,)))
    for row in asked.rows():
        if row.level != "none":
            assert f"<strong>{row.label}</strong>" in page
    assert "unproven" in page
    assert "conditional" in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_memory_is_what_the_work_took():
    memory = Memory()
    if memory.before is None:
        pytest.skip("nobody keeps count of peaks here")
    taken = np.ones(8_000_000)  # 61 MiB
    assert memory.megabytes() > 40
    del taken


def rows_of(**given):
    asked = Asked.of(Source("club", "club", "club"), "person", ["1"], 1e-5, 1, **given)
    return asked, [row.label for row in asked.rows()]


def test_one_row_can_be_run_alone_and_another_left_out():
    asked, labels = rows_of(only=["Chorus for lists"])
    assert labels == ["Chorus for lists"]
    assert "Chorus for lists" not in asked.left_out()
    asked, labels = rows_of(without=["EASE"])
    assert "EASE" not in labels
    assert "Chorus" in labels
    assert asked.left_out()["EASE"] == "left out by --without"
    with pytest.raises(ParameterError, match="row must be one of"):
        rows_of(only=["Chorus for everything"])


def test_a_row_that_runs_again_takes_its_place_among_the_others(tmp_path):
    before = results((0.9, 0.91), (1.0, 1.1))
    before.write_csv(tmp_path / "results.csv")
    ours = before.filter(pl.col("label") == "Chorus for ratings")
    again = ours.with_columns(pl.lit(0.8).alias("rmse"), pl.lit("changed").alias("code"))
    table = _beside_others(again, ["Chorus for ratings"], tmp_path / "results.csv")
    others = table.filter(pl.col("label") == "DPALS")
    assert others["rmse"].to_list() == [1.0, 1.1]
    assert table.filter(pl.col("label") != "DPALS")["rmse"].to_list() == [0.8, 0.8]


def test_lists_of_some_people_only_are_recorded():
    asked, _ = rows_of(list_people=100)
    (cell,) = _cells(asked, next(row for row in asked.rows() if row.label == "Chorus for lists"))
    assert cell.lists == Judging(people=100)
    with pytest.raises(ParameterError, match="--list-people"):
        rows_of(list_people=0)
