"""Ranking: by what, among which items, how varied; filters over a public item table."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.items import Items
from discreet.errors import DataError, DiscreetError, ParameterError
from discreet.release.lists import Candidates, chance_of_liking, reranked, varied
from discreet.release.ranking import BEST, RANKINGS, Ranking

FILMS = Items.as_published(
    pl.DataFrame(
        {
            "item": [1, 2, 3, 4, 5],
            "title": ["Harbour", "Harbour II", "Salt, Wind", "Snow", None],
            "year": [1985, 1990, 1995, 1999, None],
            "genres": [["Action"], ["Action", "Comedy"], ["comedy"], [], None],
            "labels": ["Noir", "noir, war", "War; Sport", "film|Noir", None],
            "here": [True, False, True, None, True],
        }
    )
)


def among(which: Any) -> list[int]:
    allowed = Ranking(among=which).allowed(FILMS)
    assert allowed is not None
    return [k + 1 for k in np.flatnonzero(allowed)]


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ([1, 4], [1, 4]),
        (["3", "99"], [3]),  # ids are the same if their texts are; what is unknown is passed over
        (pl.Series([5]), [5]),
        ([], []),
        ({}, [1, 2, 3, 4, 5]),
        ({"genres": "Comedy"}, [2, 3]),
        ({"genres": ["Action", "Comedy"]}, [1, 2, 3]),
        ({"genres": []}, []),
        ({"labels": "noir"}, [1, 2, 4]),
        ({"labels": {"sport", "film"}}, [3, 4]),
        ({"title": "salt, wind"}, [3]),  # the whole, although it has a comma
        ({"title": "Harbour"}, [1]),
        ({"year": 1990}, [2]),
        ({"year": ["1985", 1999.0]}, [1, 4]),
        ({"year": (1990, 1999)}, [2, 3, 4]),
        ({"year": (None, 1990)}, [1, 2]),
        ({"year": (1991, None)}, [3, 4]),
        ({"year": (None, None)}, [1, 2, 3, 4]),  # nobody knows when the last is from
        ({"here": True}, [1, 3, 5]),
        ({"here": [False]}, [2]),
        ({"genres": "Comedy", "year": (1991, None)}, [3]),
        (pl.col("year") > 1986, [2, 3, 4]),
        (pl.col("genres").list.contains("Action"), [1, 2]),
        (pl.col("here"), [1, 3, 5]),
    ],
)
def test_filters_name_the_items_they_say(which: Any, expected: list[int]) -> None:
    assert among(which) == expected
    if not (isinstance(which, dict) and len(which) != 1):
        ruled_out = Ranking(without=which).allowed(FILMS)
        assert ruled_out is not None
        assert [k + 1 for k in np.flatnonzero(~ruled_out)] == expected


def test_without_rules_out_whatever_has_any_of_it() -> None:
    allowed = Ranking(without={"genres": "Comedy", "year": (None, 1985)}).allowed(FILMS)
    assert allowed is not None
    assert allowed.tolist() == [False, False, False, True, True]
    nothing = Ranking(without={}).allowed(FILMS)
    assert nothing is not None
    assert nothing.all()
    both = Ranking(among={"genres": "Action"}, without=[2]).allowed(FILMS)
    assert both is not None
    assert both.tolist() == [True, False, False, False, False]
    assert BEST.allowed(FILMS) is None  # all may be listed


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("Comedy", "must be a list of items, a mapping of columns or an expression: got 'Comedy'"),
        (7, "must be a list of items"),
        ({"colour": "red"}, "knows no column 'colour' of its items, only 'item', 'title', 'year'"),
        ({"year": "old"}, "'year' is a column of numbers.*got 'old'"),
        ({"year": [1990, None]}, "'year' is a column of numbers.*got None"),
        ({"year": (1990, 1995, 1999)}, "a range is a pair of numbers.*as a list"),
        ({"year": (1990, "new")}, "'year' is a column of numbers.*got 'new'"),
        ({"title": ("a", "b")}, "a range is a pair of numbers, for a column of numbers"),
        (pl.col("colour") == "red", "cannot be asked of the item table"),
        (pl.col("year"), "must say true or false of every item"),
        (pl.lit(value=True), "must say true or false of every item"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(which: Any, words: str) -> None:
    for wish in ("among", "without"):
        with pytest.raises((ParameterError, DataError), match=f"{wish}.*{words}"):
            Ranking(**{wish: which}).allowed(FILMS)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda x: st.lists(x, max_size=3) | st.tuples(x, x),
    max_leaves=4,
)


@given(st.sampled_from(FILMS.frame.columns), ANYTHING)
def test_whatever_is_asked_of_a_column_is_answered_or_refused(column: str, wanted: Any) -> None:
    try:
        allowed = Ranking(among={column: wanted}).allowed(FILMS)
    except DiscreetError:
        return
    assert allowed is not None
    assert allowed.shape == (5,)


@pytest.mark.parametrize("wrong", [{"by": "stars"}, {"by": None}, {"diversity": -0.1},
                                   {"diversity": float("nan")}, {"diversity": 11}])  # fmt: skip
def test_a_ranking_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="must be"):
        Ranking(**wrong).check()
    for by in RANKINGS:
        Ranking(by=by, diversity=10).check()


def some_candidates(people: int = 40, most: int = 30, items: int = 50) -> tuple[Candidates, Any]:
    rng = np.random.default_rng(0)
    listed = np.stack([rng.permutation(items)[:most] for _ in range(people)]).astype(np.int32)
    scores = -np.sort(rng.exponential(1, (people, most)).astype(np.float32), axis=1)
    listed[1, 4:], scores[1, 4:] = -1, -np.inf  # somebody with four items left
    listed[2], scores[2] = -1, -np.inf
    flags = (rng.random((items, 6)) < 0.4).astype(np.float32)
    return Candidates(listed, scores), flags / np.maximum(
        np.linalg.norm(flags, axis=1, keepdims=True), 1e-9
    )


def likeness(found: Candidates, profiles: Any) -> float:
    """The mean product of two items of a list, over all lists of two and more."""
    of_lists = []
    for row in found.items:
        rows = profiles[row[row >= 0]]
        k = len(rows)
        if k > 1:
            of_lists.append(((rows @ rows.T).sum() - np.square(rows).sum()) / (k * (k - 1)))
    return float(np.mean(of_lists))


@pytest.mark.parametrize("diversity", [0.5, 3.0])
@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_varied_lists_are_chosen_item_by_item(
    diversity: float, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.release.lists._VARIED_AT_ONCE", at_once)
    found, profiles = some_candidates()
    got = varied(found, 5, diversity, profiles)
    for p in range(len(found.items)):
        pool = [int(k) for k in found.items[p] if k >= 0]
        score = dict(zip(pool, found.scores[p].astype(float), strict=False))
        expected: list[int] = []
        while pool and len(expected) < 5:
            costs = {j: sum(profiles[j] @ profiles[k] for k in expected) for j in pool}
            expected.append(max(pool, key=lambda j: score[j] - diversity / 5 * costs[j]))
            pool.remove(expected[-1])
        assert got.items[p].tolist() == expected + [-1] * (5 - len(expected))
        np.testing.assert_allclose(got.scores[p][: len(expected)], [score[j] for j in expected])


def test_more_diversity_makes_lists_less_alike_on_average() -> None:
    found, profiles = some_candidates(people=400)
    plain = varied(found, 5, 0.0, profiles)
    assert (plain.items == found.items[:, :5]).all()
    alike = [likeness(varied(found, 5, d, profiles), profiles) for d in (0, 0.5, 2, 10)]
    assert alike == sorted(alike, reverse=True)
    assert alike[-1] < 0.7 * alike[0]


def test_nobody_has_no_lists() -> None:
    nobody = Candidates(np.zeros((0, 9), np.int32), np.zeros((0, 9), np.float32))
    assert varied(nobody, 3, 1.0, np.ones((4, 2))).items.shape[0] == 0


def test_liking_moves_what_one_would_like_up() -> None:
    """The chance is a logistic function of the rating above the mean: one half at the mean."""
    above = np.array([-40.0, -1.0, 0.0, 1.0, 40.0])
    chance = chance_of_liking(3.5 + above, 3.5, 1.0)
    np.testing.assert_allclose(np.exp(chance[1:4]), 1 / (1 + np.exp(-2.4 * above[1:4])))
    assert chance[0] == pytest.approx(-96)
    assert chance[4] == pytest.approx(0)
    np.testing.assert_allclose(chance_of_liking(7 + 2.25 * above, 7, 2.25), chance)  # another scale
    found = Candidates(
        np.array([[7, 3, 5, -1]], np.int32), np.array([[0.0, -0.1, -0.2, -np.inf]], np.float32)
    )
    best = reranked(found, np.array([[-2.0, -0.2, -1.0, 9.0]]))
    assert best.items.tolist() == [[3, 5, 7, -1]]
    np.testing.assert_allclose(best.scores[0, :3], [-0.24, -0.9, -1.4], rtol=1e-6)
