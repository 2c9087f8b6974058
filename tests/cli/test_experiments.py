"""discreet reproduce, sweep, plan and data reduce as a person uses them."""

from pathlib import Path

import polars as pl
import pytest

from discreet.data.ratings import Ratings
from tests.cli.running import ok, refused, run


@pytest.fixture
def table(small: Ratings, tmp_path: Path) -> Path:
    small.to_frame().write_parquet(tmp_path / "mine.parquet")
    return tmp_path / "mine.parquet"


def test_a_table_of_one_s_own_is_reproduced_and_the_report_grows(
    table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ("--folds", "2", "--out", out)
    shown = ok("reproduce", "--data", table, "--figure", "2", *words)
    assert "PDP-PMF stays below DP-PMF" in shown
    assert "computed from the ratings themselves" in shown.replace("\n", " ")
    assert "0 cells run" in ok("reproduce", "--data", table, "--figure", "2", *words)
    ok("reproduce", "--data", table, "--figure", "3", *words)
    results = pl.read_parquet(out / "results.parquet")
    assert set(results["figure"]) == {"2", "3"}
    assert set(results["data"]) == {"mine"}
    assert {"Tally", "Chorus", "PMF, no privacy"} <= set(results["series"])
    assert (out / "figures" / "mine-2.svg").exists()


def test_what_cannot_be_reproduced_is_said(table: Path, tmp_path: Path) -> None:
    assert "2, 3, 4 or 5" in refused("reproduce", "--data", table, "--figure", "7")
    assert "not here" in refused("reproduce", "--data", "ml-1m", DISCREET_DATA=str(tmp_path),
                                 XDG_CACHE_HOME=str(tmp_path))  # fmt: skip
    assert "bring theirs along" in refused("reproduce", "--data", "club", "--items", "x.csv")
    assert "workers must be" in refused("reproduce", "--data", "club", "--workers", "0")
    assert "tally has none" in refused("sweep", table, "--scheme", "tally", "--factors", "2")


def test_a_sweep_measures_a_grid_and_warns(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = ok(
        "sweep", table, "--scheme", "tally", "--scheme", "pdp-pmf", "--scheme", "pmf",
        "--epsilons", "0.5,1", "--thresholds", "0.5,1", "--factors", "2", "--folds", "2",
        "--out", out,
    )  # fmt: skip
    assert "spends privacy that no certificate counts" in shown.replace("\n", " ")
    found = pl.read_csv(out / "sweep.csv")
    schemes = found.filter(pl.col("scheme").is_in(["Tally", "PDP-PMF", "PMF"]))
    assert schemes.height == 4 + 4 + 1
    assert schemes["ndcg@10"].is_null().equals(schemes["diverged"])  # some PDP-PMF do
    beside = found.filter(pl.col("mechanism") == "not private")["scheme"]
    assert {"own mean", "biases", "PMF by SGD", "popularity", "item-kNN", "EASE"} <= set(beside)
    noisy = found.filter(pl.col("scheme") == "noisy popularity")
    assert noisy["epsilon"].to_list() == [0.5, 1]
    assert noisy["rmse"].null_count() == 2
    assert (out / "sweep.svg").exists()
    assert (out / "lists.svg").exists()
    assert "numbers with commas" in refused("sweep", table, "--epsilons", "a,b")
    assert "must be > 0" in refused("sweep", table, "--epsilons", "0")


def test_a_sweep_by_time_has_one_split_and_goes_without_baselines(
    table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ("--scheme", "tally", "--epsilons", "1", "--no-baselines", "--out", out)
    for split in ("time", "last"):
        shown = ok("sweep", table, *words, "--split", split, "--target", "consumed", "--top", "5")
        assert "NDCG@5" in shown
        found = pl.read_csv(out / "sweep.csv")
        assert found["scheme"].to_list() == ["Tally"]
        assert found["rmse_std"].null_count() == 1
    assert len(list((out / "cells").glob("*.json"))) == 2
    timeless = tmp_path / "timeless.csv"
    pl.read_parquet(table).drop("timestamp").write_csv(timeless)
    assert "needs a timestamp column" in refused("sweep", timeless, *words, "--split", "last")


def test_a_sweep_reads_events_and_any_columns(table: Path, tmp_path: Path) -> None:
    plays = tmp_path / "plays.csv"
    frame = pl.read_parquet(table).select(who="user", what="item", hours="rating")
    frame.write_csv(plays, separator=";")
    words = ("--columns", "user=who", "--columns", "item=what", "--separator", ";", "--folds", "2")
    shown = ok(
        "sweep", plays, *words, "--columns", "weight=hours", "--events", "--quantity", "linear:5",
        "--epsilons", "1", "--out", tmp_path / "events",
    )  # fmt: skip
    assert "Errors" not in shown
    found = pl.read_csv(tmp_path / "events" / "sweep.csv")
    assert {"Tally", "popularity", "noisy popularity", "item-kNN", "EASE"} <= set(found["scheme"])
    assert found["rmse"].null_count() == found.height
    more = ("--columns", "rating=hours", "--scale", "0:10", "--scheme", "tally", "--no-baselines")
    ok("sweep", plays, *words, *more, "--epsilons", "1", "--out", tmp_path / "ratings")
    clicks = tmp_path / "clicks.csv"
    frame.drop("hours").write_csv(clicks, separator=";")
    message = refused("sweep", clicks, *words, "--events", "--scheme", "pmf", cwd=tmp_path)
    assert "learns from ratings" in message


def test_netflix_is_reduced_to_some_people(tmp_path: Path) -> None:
    raw = tmp_path / "netflix"
    raw.mkdir()
    lines = ["1:", *[f"{u},{1 + u % 5},2005-01-01" for u in range(1, 41)]]
    lines += ["2:", *[f"{u},3,2005-01-02" for u in range(1, 41, 2)]]
    (raw / "combined_data_1.txt").write_text("\n".join(lines) + "\n")
    one, two, other = (tmp_path / f"{name}.parquet" for name in ("one", "two", "other"))
    ok("data", "reduce", raw, "--users", "10", "--out", one)
    ok("data", "reduce", raw, "--users", "10", "--out", two)
    ok("data", "reduce", raw, "--users", "10", "--seed", "5", "--out", other)
    frame = pl.read_parquet(one)
    assert frame["user"].n_unique() == 10
    assert frame.equals(pl.read_parquet(two))
    assert not frame.equals(pl.read_parquet(other))
    assert "there are only 40" in refused("data", "reduce", raw, "--users", "99", "--out", one)


PLAN = ("--declare", "1,2", "--times", "2", "--first", "5000", "--arriving", "500")


def test_a_plan_is_played_on_the_club_and_advises_a_number(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out, figure = tmp_path / "plan.csv", tmp_path / "plan.svg"
    shown = ok("plan", *PLAN, "--out", out, "--figure", figure)
    assert "as played on club" in shown
    assert "Declare --publications" in shown
    assert "5,500" in shown
    assert pl.read_csv(out).shape == (4, 4)
    assert figure.read_text().lstrip().startswith("<?xml")


def test_a_plan_tries_another_share_for_tallies() -> None:
    words = ("--declare", "2", "--times", "1", "--first", "5000")
    usual, more = (ok("plan", *words, *given) for given in ((), ("--pure-share", "0.8")))
    assert "Declare --publications 2 --pure-share 0.8:" in more.replace("\n", " ")
    rows = [[line for line in told.splitlines() if "5,000" in line] for told in (usual, more)]
    assert len(rows[0]) == len(rows[1]) == 1
    assert rows[0] != rows[1]


def test_a_plan_of_events_says_that_it_goes_by_lists() -> None:
    shown = ok("plan", "--events", *PLAN)
    assert "NDCG@10 of lists to expect" in shown
    assert "the best lists on average" in shown.replace("\n", " ")
    assert "RMSE" not in shown


def test_a_plan_looks_at_secret_ratings_only_if_it_is_told_to(table: Path) -> None:
    told = refused("plan", table)
    assert "is no public data set" in told
    assert "--on-secret-ratings" in told
    words = ("--declare", "2", "--times", "1", "--quiet")
    done = run("plan", table, *words, "--on-secret-ratings")
    assert done.returncode == 0
    assert "computed from the ratings themselves" in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--declare", "often"), "--declare must be whole numbers"),
        (("--declare", "0"), "publications must be"),
        (("--first", "999999"), "the table has"),
        (("--privacy", "uniform:-1"), "-1"),
        (("--pure-share", "1"), "pure_share must be from 0.01 to 0.99"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(words: tuple[str, ...], told: str) -> None:
    assert told in refused("plan", *words)


def test_a_figure_that_cannot_be_drawn_is_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("discreet.cli.extras.missing", lambda _: ["matplotlib"])
    assert "--figure needs matplotlib" in refused("plan", "--figure", "plan.svg")
