"""Events on the command line."""

import json
from pathlib import Path

import httpx2 as httpx
import polars as pl
import pytest

from discreet.release.release import Release
from tests.cli.running import run
from tests.processes import serving

PLAYS = "user_id,item,hours\nann,1,5\nann,2,1\nbob,1,40\nbob,1,3\n"
ITEMS = "item,title\n1,One\n2,Two\n3,Three\n"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    (tmp_path / "plays.csv").write_text(PLAYS)
    (tmp_path / "items.csv").write_text(ITEMS)
    return tmp_path


FIT = ("fit", "plays.csv", "--events", "--items", "items.csv", "--privacy", "uniform:1")


def test_events_are_fitted_inspected_and_recommended(tables: Path) -> None:
    words = ("--quantity", "log:10", "--columns", "weight=hours")
    done = run(*FIT, *words, cwd=tables)
    assert done.returncode == 0, done.stderr
    assert "tally-events" in done.stdout
    assert "min(1, log(1 + w)/log(1 + 10))" in done.stdout
    assert "3 items, how often each was chosen" in done.stdout
    certificate = json.loads(run("inspect", "release", "--json", cwd=tables).stdout)
    assert certificate["promise"]["status"] == "proven"
    assert certificate["provenance"]["unit"] == "event"
    assert "Events" in run("inspect", "release", "--proof", cwd=tables).stdout
    (tables / "mine.csv").write_text("item\n1\n")
    listed = run("recommend", "release", "--ratings", "mine.csv", cwd=tables)
    assert "Two" in listed.stdout
    assert "One" not in listed.stdout
    assert "One" in run("recommend", "release", cwd=tables).stdout


def test_an_engine_on_disk_makes_the_same_release(tables: Path) -> None:
    words = ("--quantity", "linear:10", "--repeats", "sum", "--seed", "1")
    run(*FIT, *words, "--out", "here", cwd=tables)
    run(*FIT, *words, "--engine", "stream", "--out", "there", cwd=tables)
    one, two = (Release.load(tables / name) for name in ("here", "there"))
    assert one.files() == two.files()


def test_lists_of_events_are_evaluated(tmp_path: Path) -> None:
    done = run("evaluate", "club", "--events", "--privacy", "uniform:1", "--out", "rows.csv",
               cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ndcg@10" in done.stdout.lower()
    assert "RMSE" not in done.stdout
    assert "ndcg@10" in pl.read_csv(tmp_path / "rows.csv").columns


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scale", "0:1"), "--events goes without --scale and --keep"),
        (("--quantity", "ten"), "a quantity is SHAPE:CAP"),
        (("--repeats", "first"), "repeats must be one of"),
        (("--columns", "weight=hours"), "was not declared"),
        (("--scheme", "pmf"), "events go with"),
        (("--neighbours", "replace"), "use add/remove neighbours"),
    ],
)
def test_what_does_not_go_with_events_is_refused(
    tables: Path, words: tuple[str, ...], said: str
) -> None:
    done = run(*FIT, *words, cwd=tables)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_rules_of_events_go_with_events(tables: Path) -> None:
    words = ("fit", "plays.csv", "--quantity", "log:10")
    assert "go with --events" in run(*words, cwd=tables).stderr


def test_an_operator_publishes_events_from_a_database(tables: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="databases need the extra serve")
    at = ("--database", "plays.db")
    begun = run("operate", "begin", *at, "--levels", "0.5,1", "--quantity", "log:10", cwd=tables)
    assert "events; an event of quantity w" in begun.stdout
    assert "3 new" in run("operate", "items", "items.csv", *at, cwd=tables).stdout
    nothing = run("operate", "export", "release", *at, cwd=tables)
    assert "nothing was published" in nothing.stderr
    read = run("operate", "events", "plays.csv", *at, cwd=tables)
    assert read.stdout == "3 events read.\n", read.stderr
    assert "operate events" in run("operate", "ratings", "plays.csv", *at, cwd=tables).stderr
    assert "Release 1 is out" in run("operate", "publish", *at, cwd=tables).stdout
    assert "saved" in run("operate", "export", "release", *at, cwd=tables).stdout
    release = Release.load(tables / "release")
    assert release.events
    assert release.certificate.status == "proven"
    with serving(tables, "--database", str(tables / "plays.db")) as served:
        found = httpx.get(f"{served.address}/api/declaration").json()
        assert (found["events"], found["scale"]) == (True, [0.0, 1.0])
