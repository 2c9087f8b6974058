from typing import Any

import numpy as np
import pytest

from discreet.release.scoring import (
    FoldIn,
    ItemScores,
    Own,
    People,
    fold_in,
    score_pairs,
    top_n,
    typical_person,
)


def item_scores(items: int = 7, d: int = 3, seed: int = 0) -> ItemScores:
    rng = np.random.default_rng(seed)
    return ItemScores(rng.normal(3, 0.3, items), rng.normal(size=(items, d)), rng.normal(size=d))


def bare(coefficients: Any) -> People:
    return People(coefficients)


def owned(ptr: Any, items: Any) -> Own:
    return Own(np.array(ptr), np.array(items, dtype=np.int32), np.zeros(len(items)))


def test_fold_in_is_the_ridge_regression_it_says() -> None:
    s, rng = item_scores(), np.random.default_rng(1)
    ptr, items = np.array([0, 4, 4, 7]), np.array([0, 2, 5, 6, 1, 2, 3], dtype=np.int32)
    ratings = rng.uniform(1, 5, 7)
    people = fold_in(s, Own(ptr, items, ratings), FoldIn(0.5, 0.2)).coefficients
    for p in range(3):
        own = slice(ptr[p], ptr[p + 1])
        V, y = s.factors[items[own]], ratings[own] - s.base[items[own]]
        penalty = (0.5 + 0.2 * len(y)) * np.eye(3)
        expected = s.prior + np.linalg.solve(V.T @ V + penalty, V.T @ (y - V @ s.prior))
        np.testing.assert_allclose(people[p], expected, rtol=1e-9)
    assert (people[1] == s.prior).all()  # no ratings: the prior


@pytest.mark.parametrize("block", [1, 20, 1 << 22])
def test_top_n_is_a_sort_whatever_the_block(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.release.scoring.SCORE_BLOCK", block)
    s, rng = item_scores(items=9), np.random.default_rng(2)
    people = rng.normal(size=(5, 3))
    ptr, items = np.array([0, 2, 2, 5, 5, 5]), np.array([0, 8, 1, 2, 3])
    who, what, score = top_n(s, bare(people), owned(ptr, items), 4)
    for p in range(5):
        scores = s.base + s.factors @ people[p]
        scores[items[ptr[p] : ptr[p + 1]]] = -np.inf
        assert what[who == p].tolist() == np.argsort(-scores, kind="stable")[:4].tolist()
        np.testing.assert_allclose(score[who == p], np.sort(scores)[::-1][:4])


def test_somebody_who_rated_nearly_everything_gets_what_is_left() -> None:
    s = item_scores(items=4)
    who, what, _ = top_n(s, bare(np.zeros((1, 3))), owned([0, 3], [0, 1, 3]), 10)
    assert (who.tolist(), what.tolist()) == ([0], [2])
    none = top_n(s, bare(np.zeros((0, 3))), owned([0], []), 3)
    assert [len(part) for part in none] == [0, 0, 0]


def test_ties_go_to_the_earlier_item() -> None:
    flat = ItemScores(np.zeros(6), np.zeros((6, 2)), np.zeros(2))
    _, what, _ = top_n(flat, bare(np.zeros((1, 2))), owned([0, 0], []), 6)
    assert what.tolist() == [0, 1, 2, 3, 4, 5]


def test_the_typical_person_predicts_about_the_middle_of_the_scale() -> None:
    rng = np.random.default_rng(0)
    V = np.array([2.0, 1.0, 0.5]) + 0.1 * rng.normal(size=(200, 3))
    assert abs((V @ typical_person(V, 3.0)).mean() - 3.0) < 0.05
    assert (typical_person(np.zeros((4, 2)), 3.0) == 0).all()


def test_family_effects_are_shrunk_means_of_residuals_grouping_by_grouping() -> None:
    families = (
        np.array([0, 0, 1, -1, 1, -1, 0], dtype=np.int32),
        np.array([0, 1, 1, 1, -1, 0, 0], dtype=np.int32),
    )
    s = item_scores()._replace(families=families)
    own = Own(np.array([0, 3, 6]), np.array([0, 2, 3, 1, 2, 4], np.int32), np.arange(1.0, 7.0))
    people = fold_in(s, own, FoldIn(2.0))
    plain = fold_in(s._replace(families=()), own, FoldIn(2.0))
    who, what = np.repeat([0, 1], 7), np.tile(np.arange(7), 2)
    expected = score_pairs(s._replace(families=()), plain, who, what)
    for p in (0, 1):
        mine = slice(own.ptr[p], own.ptr[p + 1])
        items = own.items[mine]
        residual = own.ratings[mine] - expected[7 * p + items]
        for codes in families:
            effect = {
                g: residual[codes[items] == g].sum() / ((codes[items] == g).sum() + 1.5)
                for g in set(codes[items]) - {-1}
            }
            expected[7 * p : 7 * p + 7] += [effect.get(g, 0.0) for g in codes]
            residual = residual - [effect.get(g, 0.0) for g in codes[items]]
    np.testing.assert_allclose(score_pairs(s, people, who, what), expected, rtol=1e-10)
    # The ranking adds the same effects as the pairs do.
    listed, item, score = top_n(s, people, own, 7, exclude_rated=False)
    np.testing.assert_allclose(score, expected[7 * listed + item], rtol=1e-10)
