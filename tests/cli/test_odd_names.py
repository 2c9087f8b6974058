"""People's own texts are shown as they are: brackets and colons in them are no markup."""

import json
from pathlib import Path

import pytest

from tests.cli.running import ok, refused

TITLES = [f"Song {k} [live]" for k in range(7)]
TITLES[1], TITLES[2], TITLES[3] = "[Rec] 1 [/x]", "[red]Rouge[/red] :smile:", "Песня [/]"
FILE, THINGS, RELEASE = "a[/]sales [red].csv", "a[/]things.csv", "a[/]release"
"""In a folder that is called a[."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder, files, columns, people and titles that Rich would take for markup."""
    folder = tmp_path_factory.mktemp("shop") / "[bold]a [b]"
    (folder / "a[").mkdir(parents=True)
    rows = [f"c[/{k}],{(k + j) % 7},{k * j % 5 + 1}" for k in range(1, 25) for j in range(1, 4)]
    (folder / FILE).write_text("\n".join(["user,item,rating", *rows]))
    things = [f"{k},{title},{k},x[{k % 2}]" for k, title in enumerate(TITLES)]
    (folder / THINGS).write_text("\n".join(["item,title,,[/b] :heart:", *things]))
    words = ("--items", THINGS, "--privacy", "uniform:1", "--out", RELEASE)
    assert "Release saved to a[/]release." in ok("fit", FILE, *words, cwd=folder)
    return folder


def test_titles_and_ids_are_listed_as_they_are(shop: Path) -> None:
    listed = ok("recommend", RELEASE, "-n", "7", cwd=shop)
    for title in TITLES:
        assert title in listed
    (shop / "mine.csv").write_text("user,item,rating\nc[/1],1,5\n[red],2,4\n")
    listed = ok("recommend", RELEASE, "--ratings", "mine.csv", cwd=shop)
    assert "c[/1]" in listed
    assert "[red]" in listed


def test_columns_and_files_are_named_as_they_are(shop: Path) -> None:
    told = ok("inspect", THINGS, cwd=shop)
    assert "[/b] :heart:" in told
    assert "column 3" in told
    assert "[/b] :heart:" in ok("inspect", RELEASE, cwd=shop)
    told = ok("evaluate", FILE, "--no-baselines", "--privacy", "uniform:1", cwd=shop)
    assert f"Errors: {FILE}" in told


def test_what_a_program_reads_is_the_same(shop: Path) -> None:
    listed = json.loads(ok("recommend", RELEASE, "-n", "7", "--json", cwd=shop))
    assert sorted(row["title"] for row in listed) == sorted(TITLES)


def test_an_error_says_it_as_it_is(shop: Path) -> None:
    assert "[/nowhere] :x:" in refused("fit", "[/nowhere] :x:", cwd=shop)
    assert "'[/d]'" in refused("fit", FILE, "--columns", "user=[/d]", cwd=shop)
