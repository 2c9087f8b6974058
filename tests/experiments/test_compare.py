import numpy as np
import polars as pl
import pytest

from discreet.errors import ParameterError
from discreet.experiments.compare import Asked, means, verdicts
from discreet.experiments.compare_report import build_page, charts
from discreet.experiments.memory import Memory
from discreet.experiments.source import Source


def results(ours, others):
    rows = [("Chorus for ratings", "1", k + 1, v) for k, v in enumerate(ours)]
    rows += [("DPALS", "1", k + 1, v) for k, v in enumerate(others)]
    frame = pl.DataFrame(rows, schema=["label", "level", "split", "rmse"], orient="row")
    return frame.with_columns(
        pl.lit(None, pl.Float64).alias("ndcg@10"),
        seconds=pl.lit(1.0),
        megabytes=pl.lit(2.0),
        mechanism=pl.lit("conditional"),
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
