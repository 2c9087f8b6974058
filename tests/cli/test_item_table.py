"""discreet inspect on an item table: what each column is used for, as a person reads it."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from discreet.data.features import encode
from discreet.readers.datasets import load_items
from tests.cli.running import ok, refused

PAGE = Path(__file__).parents[2] / "docs/item-tables.md"


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table that the page shows."""
    [table] = re.findall(r"```csv\n(.*?)```", PAGE.read_text(), re.DOTALL)
    path = tmp_path_factory.mktemp("items") / "items.csv"
    path.write_text(table)
    return path


def test_the_page_shows_what_the_command_prints(items: Path) -> None:
    [shown] = re.findall(r"```console\n\$ (.*?)```", PAGE.read_text(), re.DOTALL)
    command, *lines = shown.splitlines()
    printed = ok(*command.split()[1:], cwd=items.parent, COLUMNS="80")
    assert [line.rstrip() for line in printed.splitlines()] == lines


def test_reasons_are_wrapped_between_words_on_a_narrow_terminal(tmp_path: Path) -> None:
    path = tmp_path / "items.parquet"
    names = {"a_rather_long_name_of_a_column": pl.Series(["en", "de"] * 9), "[red]": pl.lit(1)}
    pl.DataFrame({"item": range(18)}).with_columns(**names).write_parquet(path)
    printed = ok("inspect", path, COLUMNS="80")
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    assert "[red]" in printed
    words = {word for line in lines for word in re.findall(r"[a-z]{2,}", line.split("│")[-1])}
    whole = " ".join(use["why"] for use in json.loads(ok("inspect", path, "--json")))
    assert "items" in words
    assert set(re.findall(r"[a-z]{2,}", whole)) <= words


def test_a_narrow_terminal_cuts_nothing_off_the_reasons(items: Path) -> None:
    printed = ok("inspect", items, COLUMNS="60").split("\n\n")[0]
    reasons = "".join(line.split("│")[-1] for line in printed.splitlines())
    assert "--public-column num_ratings" in " ".join(reasons.split())
    assert "…" not in ok("inspect", items, COLUMNS="45")


def test_a_table_without_a_title_is_told_how_to_name_one(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item,Titel\n1,Turm\n2,Koch\n")
    said = "--item-columns title=NAME"
    assert said in ok("inspect", "items.csv", cwd=tmp_path)
    assert said not in ok("inspect", "items.csv", "--item-columns", "title=Titel", cwd=tmp_path)


def test_a_path_that_is_not_there_is_not_taken_for_a_release(tmp_path: Path) -> None:
    assert "no file or folder" in refused("inspect", tmp_path / "items.csv")


def test_json_tells_the_features_that_schemes_are_given(items: Path) -> None:
    uses = json.loads(ok("inspect", items, "--json", "--family", "author"))
    told = [name for use in uses for name in use["features"]]
    loaded = load_items(str(items))
    features = encode(loaded, len(loaded), ("author",))
    assert sorted(told) == sorted([*features.numbers, *features.flags, *features.families])
    assert tuple(use["column"] for use in uses if use["features"]) == features.columns
    assert [use["column"] for use in uses if not use["published"]] == ["num_ratings"]


def test_a_column_that_is_vouched_for_is_used_and_published(items: Path) -> None:
    uses = json.loads(ok("inspect", items, "--json", "--public-column", "num_ratings"))
    [use] = [use for use in uses if use["column"] == "num_ratings"]
    assert use["used_as"] == "number"
    assert use["published"]


def test_a_data_set_s_item_table_is_shown_by_its_name() -> None:
    assert "15 values, such as 'Drama'" in ok("inspect", "club")


def test_a_ratings_table_is_refused_with_what_to_do(items: Path, tmp_path: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("user,item,rating\nann,a1,5\n")
    told = refused("inspect", ratings)
    assert "this looks like a ratings table" in told
    assert "give a table with one row for each item and nothing about people" in told
    assert "no column 'series' to group items by" in refused("inspect", items, "--family", "series")


def test_options_of_item_tables_go_with_no_release(tmp_path: Path) -> None:
    told = refused("inspect", tmp_path, "--family", "author")
    assert "--family, --public-column and --item-columns go with an item table" in told


def test_genres_in_one_string_are_read_as_lists(items: Path, tmp_path: Path) -> None:
    assert load_items(str(items)).frame["genres"].to_list()[0] == ["Crime", "Drama"]
    path = tmp_path / "late.csv"
    rows = [f"{k},{1950 + k % 60},Drama" for k in range(10_050)]
    path.write_text("\n".join(["item,year,genres", *rows, "x,unknown,Drama|War"]) + "\n")
    late = load_items(str(path))
    assert late.frame["genres"].to_list()[-1] == ["Drama", "War"]
    assert set(encode(late, len(late)).numbers) == {"year"}
