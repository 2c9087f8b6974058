"""The command line as a person uses it: its output, its exit status."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from discreet.cli.schemes import build
from discreet.data.ratings import Ratings
from discreet.readers.club import Club
from tests.cli.running import ok, refused, run


@pytest.fixture(scope="module")
def table(small: Ratings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "ratings.csv"
    small.to_frame().write_csv(path)
    return path


@pytest.fixture(scope="module")
def release(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fit") / "release"
    ok("fit", table, "--scheme", "pdp-pmf", "--gamma", "5", "-d", "4", "--out", folder)
    return folder


def test_every_command_explains_itself_with_an_example() -> None:
    overview = ok("--help")
    for command in ("demo", "fit", "recommend", "evaluate", "inspect", "data"):
        assert command in overview
    for command in ("demo", "fit", "recommend", "evaluate", "inspect"):
        text = ok(command, "--help")
        assert re.search(r"Examples?:\n +discreet " + command, text), text
    assert ok("--version").startswith("discreet ")


def test_the_demo_does_the_whole_job(tmp_path: Path) -> None:
    shown = ok("demo", "--out", tmp_path / "demo", COLUMNS="80")
    for name in ("PMF", "DP-PMF", "PDP-PMF", "synthetic", "unproven", "a perfect predictor"):
        assert name in shown
    for name in ("noisy popularity", "EASE, not private", "a perfect list", "A newcomer"):
        assert name in shown
    titles = re.findall(r"^([1-8])  \w", shown, re.MULTILINE)
    assert titles == 2 * list("12345678")  # before any rating, and after some
    told = [line for line in shown.splitlines() if re.search(r"\d$|%$|─$|★$", line)]
    assert len(told) > 20
    assert max(map(len, told)) <= 80
    for name in ("errors.png", "lists.png"):
        assert (tmp_path / "demo" / name).stat().st_size > 10_000
    assert "operating system" in ok("inspect", tmp_path / "demo" / "release")


def test_fit_inspect_and_recommend_belong_together(
    table: Path, release: Path, tmp_path: Path
) -> None:
    shown = ok("inspect", release)
    assert "PDP-PMF, printed" in shown
    assert "epsilons of all ratings of one person add up" in shown
    certificate = json.loads(ok("inspect", release, "--json"))
    assert certificate["promise"]["status"] == "unproven"
    assert "## printed" in ok("inspect", release, "--proof")
    assert "--proof goes with a release" in refused("inspect", table, "--proof")
    (tmp_path / "mine.csv").write_text("item,rating\n101,5\n102,1\n")
    lines = ok("recommend", release, "--ratings", tmp_path / "mine.csv", "-n", "3")
    assert len(re.findall(r"^ *[123] ", lines, re.MULTILINE)) == 3
    out = tmp_path / "lists.parquet"
    ok("recommend", release, "--ratings", table, "--out", out, "-n", "2")
    lists = pl.read_parquet(out)
    assert lists.columns == ["user", "item", "rank", "score", "title"]
    assert lists.height == 80
    one = ok("recommend", release, "--ratings", table, "--user", "u3", "-n", "2")
    both = lists.filter(pl.col("user") == "u3")["item"].to_list()
    assert re.findall(r"^ *[12] +. +(\d+)", one, re.MULTILINE) == both
    assert ok("recommend", release)  # nobody's ratings: the same list for everybody


def test_the_sampler_can_be_chosen_for_tally(table: Path, tmp_path: Path) -> None:
    shown = " ".join(ok("fit", table, "--noise", "opendp", "--out", tmp_path / "r").split())
    assert "(OpenDP)" in shown
    assert "# Exact noise" in ok("inspect", tmp_path / "r", "--proof")
    said = refused("fit", table, "--noise", "opendp", "--delta", "1e-6", "--out", tmp_path / "c")
    assert "goes with Tally only" in said


def test_fit_prints_no_secret_unless_asked(table: Path, tmp_path: Path) -> None:
    words = ("fit", table, "--scheme", "pdp-pmf", "--gamma", "5", "-d", "2", "--k1", "3")
    words += ("--out", tmp_path / "r")
    plain = run(*words)
    assert "400" not in plain.stdout + plain.stderr  # the number of ratings
    assert "RMSE" not in plain.stdout
    traced = ok(*words, "--trace")
    assert "training RMSE" in traced
    assert "for you" in traced


def test_evaluate_compares_and_warns(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    shown = ok(
        "evaluate", table, "--scheme", "bias", "--scheme", "pmf", "--scheme", "pdp-pmf",
        "--gamma", "5", "-d", "3", "--folds", "3", "--top", "5", "--out", out, "--no-baselines",
    )  # fmt: skip
    assert "means over 3 folds" in shown
    assert "spends privacy that no certificate counts" in shown
    assert pl.read_csv(out).height == 9
    assert "held out" in ok("evaluate", table, "--scheme", "bias", "--by-time", "0.2")


def test_evaluate_shows_baselines_in_two_tables_of_80_columns(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.parquet"
    words = ("evaluate", table, "--scheme", "tally", "--hold-out", "0.3", "--out", out)
    shown = ok(*words, COLUMNS="80")
    errors, lists = shown.split("Lists: ")
    for row in ("own mean", "biases", "PMF by SGD", "not private", "RMSE"):
        assert row in errors
    for row in ("popularity, not private", "noisy popularity", "item-kNN", "EASE", "NDCG@10"):
        assert row in lists
    tables = [line for line in shown.splitlines() if re.search(r"\d$|%$|─$", line)]
    assert len(tables) > 10
    assert max(map(len, tables)) <= 80
    assert "diversity" not in re.findall("^scheme.*", lists, re.MULTILINE)[0]  # no item table
    rows = pl.read_parquet(out)
    assert rows["scheme"].n_unique() == rows.height == 8
    assert rows.filter(pl.col("scheme") == "EASE")["rmse"].null_count() == 1


def test_evaluate_says_which_baselines_are_left_out_and_why(small: Ratings, tmp_path: Path) -> None:
    table = tmp_path / "levelless.csv"
    small.to_frame().drop("epsilon").write_csv(table)
    shown = ok("evaluate", table, "--scheme", "bias")
    assert "Left out: noisy popularity (no privacy levels were given)." in shown


@pytest.mark.parametrize("split", ["time", "last"])
def test_evaluate_holds_out_what_came_last(table: Path, split: str) -> None:
    words = ("evaluate", table, "--scheme", "tally", "--no-baselines", "--split", split)
    shown = ok(*words, "--target", "consumed")
    assert {"time": "the latest 10% held out", "last": "everybody's last"}[split] in shown
    assert "all of the held-out records" in shown
    assert "--folds goes with --split random" in refused(*words, "--folds", "3")


def test_a_repeated_fit_with_a_seed_gives_the_same_release(table: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        ok(
            "fit",
            table,
            "--scheme",
            "pdp-pmf",
            "--gamma",
            "5",
            "-d",
            "2",
            "--seed",
            "3",
            "--out",
            tmp_path / name,
        )
    for file in ("items.arrow", "model.json", "certificate.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    shown = ok("inspect", tmp_path / "a")
    assert re.search(r"^status +seeded: protects nobody \(\w+ without a seed\) *$", shown, re.M)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "nowhere.csv"], "error: no file or folder nowhere.csv"),
        (["fit", "TABLE", "--privacy", "sometimes"], "error: --privacy must be"),
        (["fit", "TABLE", "--privacy", "uniform:-1"], "error: epsilon must be finite and > 0"),
        (["fit", "TABLE", "--privacy", "groups:f_x=1"], "error: --privacy groups has no 'f_x'"),
        (["fit", "TABLE", "--max-level", "0.5"], "error: epsilon must be within the declared"),
        (["fit", "TABLE", "--threshold", "0"], "error: threshold must be > 0: got 0.0"),
        (
            ["fit", "TABLE", "--privacy", "uniform:0.5"],
            "error: --privacy uniform:0.5 would replace",
        ),
        (["fit", "TABLE", "--privacy", "uniform:0.5", "--max-level", "2"], "error: --max-level,"),
        (["fit", "TABLE", "--separator", ""], "error: a separator must be at least one character"),
        (["evaluate", "TABLE", "--folds", "3", "--by-time", "0.1"], "error: choose one of --folds"),
        (["fit", "TABLE", "--ledger", "release/l.db"], "error: the ledger .* lies in the release"),
        (["fit", "TABLE", "--scale", "0-10"], "error: --scale must be LO:HI"),
        (["fit", "TABLE", "--gamma", "5"], "error: --gamma does not go with --scheme tally, only"),
        (["fit", "TABLE", "--threshold", "mean"], "error: Tally's threshold is a declared"),
        (["fit", "TABLE", "--scheme", "pmf", "--ledger", "x"], "error: --ledger goes with"),
        (["fit", "TABLE", "--threshold", "much"], "error: --threshold must be a number or 'mean'"),
        (
            ["fit", "TABLE", "--scheme", "pmf", "-d", "0"],
            "error: factors must be a whole number >= 1: got 0",
        ),
        (
            ["fit", "TABLE", "--scheme", "pdp-pmf", "--gamma", "5000"],
            "error: gamma = 5000 diverges",
        ),
        (["fit", "TABLE", "--scale", "2:5"], "error: .*rating must be within the scale 2..5"),
        (["fit", "TABLE", "--columns", "user"], "error: --columns needs NAME=VALUE"),
        (["fit", "TABLE", "--columns", "user=who"], "error: .*no column 'who'"),
        (["fit", "TABLE", "--scheme", "dp-pmf"], "error: DP-PMF needs one level for everybody"),
        (["fit", "TABLE", "--items", "none.csv"], "error: no file or folder none.csv"),
        (["fit", "ml-20m"], "error: data set 'ml-20m' is not here. Fetch it with"),
        (["recommend", "nowhere"], "error: nowhere is not a release"),
        (["inspect", "/"], "error: / is not a whole release"),
        (["recommend", "RELEASE", "--out", "x.docx"], "error: cannot tell the format of x.docx"),
        (["recommend", "RELEASE", "--ratings", "TABLE", "--user", "ghost"], "error: unknown user"),
        (["evaluate", "TABLE", "--hold-out", "2"], "error: the test fraction must be"),
        (["data", "path", "ml-20m"], "error: data set 'ml-20m' is not here"),
        (["data", "get", "netflix"], "error: data set 'netflix' cannot be fetched"),
    ],
)
def test_a_mistake_is_one_line_without_a_traceback(
    words: list[str], message: str, table: Path, release: Path, tmp_path: Path
) -> None:
    filled = [{"TABLE": str(table), "RELEASE": str(release)}.get(w, w) for w in words]
    nothing = {"DISCREET_DATA": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    assert re.match(message, refused(*filled, cwd=tmp_path, **nothing))


def test_fit_checks_its_output_folder_before_it_trains(table: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    message = refused(
        "fit", table, "--scheme", "pmf", "--solver", "gradient", "--out", tmp_path / "file" / "r"
    )
    assert "cannot write the release" in message
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis").write_text("")
    assert "other things than a release" in refused("fit", table, "--out", tmp_path / "full")


@pytest.mark.parametrize(
    ("solver", "field"),
    [(None, "sweeps"), ("als", "sweeps"), ("sgd", "passes"), ("gradient", "passes")],
)
def test_k1_is_what_the_solver_counts(solver: str | None, field: str) -> None:
    given = {"k1": 3} if solver is None else {"solver": solver, "k1": 3}
    (scheme,) = build(["pmf"], given, None)
    assert getattr(scheme, field) == 3


def test_a_failed_fit_leaves_the_old_release_whole(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    ok("fit", table, "--scheme", "pdp-pmf", "--gamma", "5", "-d", "2", "--out", folder)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    refused("fit", table, "--scheme", "pdp-pmf", "--gamma", "5000", "--out", folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_data_sets_are_listed_with_their_places(club: Club, tmp_path: Path) -> None:
    club.ratings.to_frame().write_parquet(tmp_path / "ml-1m.parquet")
    shown = ok("data", "list", DISCREET_DATA=str(tmp_path))
    assert "embedded" in shown
    assert "ml-25m" in shown
    path = ok("data", "path", "ml-1m", DISCREET_DATA=str(tmp_path))
    assert path.strip() == str(tmp_path / "ml-1m.parquet")
