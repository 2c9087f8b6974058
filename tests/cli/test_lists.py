"""Lists at the command line: by what they are ranked, among which items, how varied."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.cli.parse import item_filter
from discreet.errors import ParameterError
from discreet.release.release import Release
from tests.cli.running import ok, refused
from tests.release.handmade import genres_of, handmade

COUNT = 40


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = genres_of(COUNT).with_columns(
        title=pl.format("Film {}", "item"), year=1980 + pl.col("item") % 20
    )
    counts = np.linspace(400, 20, COUNT)
    liked = np.where(np.arange(COUNT) % 3, 0.4, 0.9)
    made = handmade(counts * liked, counts * (1 - liked), frame=frame, effects=3 * (liked - 0.6))
    return made.save(tmp_path_factory.mktemp("lists") / "release")


@pytest.fixture(scope="module")
def mine(release: Path) -> Path:
    path = release.parent / "mine.csv"
    path.write_text("item,rating\n1,5\n5,4\n9,5\n2,1\n")
    return path


def listed(release: Path, mine: Path, *words: str) -> pl.DataFrame:
    out = release.parent / "found.parquet"
    ok("recommend", release, "--ratings", mine, "--out", out, *words)
    return pl.read_parquet(out)


@pytest.mark.parametrize(
    ("words", "wishes"),
    [
        ((), {}),
        (("--rank-by", "likely", "-n", "7"), {"rank_by": "likely", "n": 7}),
        (("--rank-by", "liked", "--include-rated"), {"rank_by": "liked", "exclude_rated": False}),
        (
            ("--among", "genres=Comedy", "--among", "genres=drama", "--among", "year=..1990"),
            {"among": {"genres": ["Comedy", "drama"], "year": (None, 1990)}},
        ),
        (
            ("--without", "genres=Comedy", "--without", "year=1990..", "--diversity", "0.5"),
            {"without": {"genres": "Comedy", "year": (1990, None)}, "diversity": 0.5},
        ),
    ],
)
def test_the_command_line_lists_what_the_library_lists(
    release: Path, mine: Path, words: tuple[str, ...], wishes: dict[str, Any]
) -> None:
    expected = Release.load(release).recommend([1, 5, 9, 2], [5, 4, 5, 1], **wishes)
    found = listed(release, mine, *words)
    assert found.columns == ["item", "rank", "score", "title"]
    assert found["item"].to_list() == expected["item"].to_list()
    np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-5)


def test_lists_are_shown_with_titles_and_errors(release: Path, mine: Path) -> None:
    shown = ok("recommend", release, "--ratings", mine, "-n", "2", "--errors")
    assert "Film " in shown
    assert "error" in shown
    shown = ok("recommend", release, "-n", "3", "--rank-by", "likely")
    nobody = Release.load(release).recommend(n=3, rank_by="likely")["item"]
    assert {k for k in range(COUNT) if f"Film {k} " in shown} == set(nobody)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rank-by", "stars"), "error: rank_by must be one of 'best', 'likely', 'liked': got"),
        (("--diversity", "-1"), "error: diversity must be between 0 and 10: got -1.0"),
        (("--among", "colour=red"), "error: among: the release knows no column 'colour'"),
        (("--without", "year=old"), "error: without: 'year' is a column of numbers"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(
    release: Path, words: tuple[str, ...], said: str
) -> None:
    assert refused("recommend", release, *words).startswith(said)


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        (["genres"], "--among must be COLUMN=VALUE or COLUMN=LOW..HIGH: got 'genres'"),
        (["=Comedy"], "--among must be COLUMN=VALUE"),
        (["genres="], "--among must be COLUMN=VALUE"),
        (["year=old..new"], "--among: a range is two numbers, as in year=1990..1999"),
        (["year=1990..1999", "year=2005"], "one range of 'year' or several values"),
        (["year=2005", "year=1990..1999"], "one range of 'year' or several values"),
        (["year=..1980", "year=1990.."], "one range of 'year' or several values"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused(wishes: list[str], said: str) -> None:
    with pytest.raises(ParameterError, match=said.replace(".", r"\.")):
        item_filter(wishes, "--among")


def test_filters_are_read_as_columns_with_values_or_a_range() -> None:
    assert item_filter(None, "--among") is None
    assert item_filter([], "--among") is None
    assert item_filter(["year=1990..", "title=A = B"], "--among") == {
        "year": (1990, None), "title": ["A = B"],
    }  # fmt: skip
