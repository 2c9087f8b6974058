"""discreet operate: the operator's commands on a database."""

import json
import subprocess
from pathlib import Path

import pytest

from discreet.database.connection import Database
from discreet.database.declaration import establish
from tests.cli import running


def run(url: str, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    if given:  # a secret that is typed is asked for at a terminal, which tests do not have
        return running.run_apart("operate", *words, given=given, DISCREET_DATABASE=url)
    return running.run("operate", *words, DISCREET_DATABASE=url)


@pytest.fixture
def url(tmp_path: Path) -> str:
    database = Database(tmp_path / "club.db")
    establish(database)
    database.close()
    return str(tmp_path / "club.db")


def test_a_table_can_be_looked_at_and_nothing_is_imported(url: str, tmp_path: Path) -> None:
    items, ratings = tmp_path / "items.csv", tmp_path / "ratings.csv"
    items.write_text("item,title,year,genres\n1,One,1990,Drama|War\n2,Two,1991,War\n")
    looked = json.loads(run(url, "items", str(items), "--look", "--json").stdout)
    assert (looked["rows"], looked["new"]) == (2, 2)
    assert looked["first"][0] == {
        "item": "1", "title": "One", "year": 1990, "genres": ["Drama", "War"]
    }  # fmt: skip
    ratings.write_text("user,item,rating\nann,1,5\n")
    unknown = run(url, "ratings", str(ratings), "--look")
    assert "import the item table first" in unknown.stderr  # as an import would say
    run(url, "items", str(items))
    assert json.loads(run(url, "items", str(items), "--look", "--json").stdout)["new"] == 0
    seen = run(url, "ratings", str(ratings), "--look").stdout
    assert seen.startswith("1 ratings of 1 items by 1 people.")
    assert "title One" in seen
    assert json.loads(run(url, "preview", "--json").stdout)["ratings"] == 0


def test_a_recommender_is_operated_from_the_command_line(url: str, tmp_path: Path) -> None:
    items, ratings = tmp_path / "items.csv", tmp_path / "ratings.csv"
    items.write_text("item,title\n1,One\n2,Two\n3,Three\n")
    ratings.write_text("member;item;rating;epsilon\nann;1;5;0.3\nann;2;1;1\nbob;1;3;0.1\n")
    assert run(url, "items", str(items)).stdout == "3 new items in the catalogue.\n"
    items.write_text("item,title,critics_score\n1,One,7\n")
    left_out = run(url, "items", str(items))
    assert "--public-column critics_score" in left_out.stderr
    vouched = run(url, "items", str(items), "--public-column", "critics_score", "--json")
    assert (json.loads(vouched.stdout), vouched.stderr) == ({"new": 0, "left_out": []}, "")
    assert "ratings table" in run(url, "items", str(ratings), "--separator", ";").stderr
    words = ["--columns", "user=member", "--separator", ";"]
    assert run(url, "ratings", str(ratings), *words).stdout == "3 ratings read.\n"
    preview = json.loads(run(url, "preview", "--json").stdout)
    assert preview["spending"] == 3
    assert "noise must be one of" in run(url, "publish", "--noise", "loud").stderr
    published = run(url, "publish", "--no-assess", "--noise", "opendp")
    assert published.stdout.startswith("Release 1 is out")
    ledger = run(url, "ledger")
    assert "3 pairs" in ledger.stdout
    assert "Secret" in ledger.stdout
    assert "0 of 3 ratings" in run(url, "preview").stdout
    person = run(url, "person", "ann").stdout.splitlines()
    assert person[0].startswith("discreet-person-")
    assert person[1] == "Shown once: keep it safe."
    assert "Ended" in run(url, "revoke", given=person[0] + "\n").stdout
    assert "nobody has this token" in run(url, "revoke", given=person[0] + "\n").stderr
    assert run(url, "erase", "bob").stdout.startswith("Erased")
    assert "was erased" in run(url, "person", "bob").stderr
    assert run(url, "backup", str(tmp_path / "copy.db")).returncode == 0
    assert "nothing to declare" in run(url, "moved").stdout
    copy = str(tmp_path / "copy.db")
    assert "say 'discreet operate moved'" in run(copy, "publish").stderr
    assert json.loads(run(copy, "moved", "--json").stdout) == {"moved": True}
    assert "2 ratings are charged" in run(url, "restored").stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["publish"], "the catalogue is empty"),
        (["token", "king"], "role must be one of"),
        (["items", "nothing.csv"], "nothing.csv"),
        (["person", "a\nb"], "letters that can be shown"),
    ],
)
def test_a_refusal_is_one_line_without_a_traceback(url: str, words: list[str], reason: str) -> None:
    ended = run(url, *words)
    assert ended.returncode == 1
    assert reason in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    ended = run(str(tmp_path / "none.db"), "ledger")
    assert ended.returncode == 1
    assert "check the path" in ended.stderr
