"""One's own mean beside the regression: who is steady, who is usual, and what a list keeps."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.release.own_mean import OwnLevel, judge_own_means

LEVEL = OwnLevel(mean=3.5, ridge=4.0)


def judged(ratings: Any, residual: Any, penalty: float = 0.0) -> Any:
    """One person's, on five stars."""
    ratings, residual = np.array(ratings, float), np.array(residual, float)
    return judge_own_means(
        np.array([0, len(ratings)]), ratings, residual, np.array([penalty]), LEVEL, 1.0
    )


def test_whoever_always_gives_the_same_is_predicted_by_their_mean() -> None:
    found = judged([5.0] * 30, np.random.default_rng(0).normal(0, 0.5, 30))
    assert found.trust[0] < 1e-6
    assert found.means[0] == pytest.approx(5.0, abs=0.02)
    assert found.mixed(np.array([0, 0]), np.array([1.0, 4.0])) == pytest.approx([5, 5], abs=0.05)


def test_whoever_the_regression_explains_is_left_to_it() -> None:
    rng = np.random.default_rng(0)
    taste, chance = rng.normal(0, 0.8, 60), rng.normal(0, 0.8, 60)
    found = judged(3.5 + taste + chance, chance - chance.mean(), penalty=2.0)
    assert found.trust[0] > 0.999
    assert abs(found.shift[0]) < 0.01


def test_one_rating_says_nothing_about_steadiness() -> None:
    found = judged([5.0], [1.2])
    assert found.trust[0] > 0.9
    assert found.shift[0] == pytest.approx(0.0, abs=0.05)
    assert found.means[0] == pytest.approx(3.5 + 1.5 / 5)


def test_nobody_without_ratings_is_mixed() -> None:
    found = judge_own_means(np.array([0, 0]), np.zeros(0), np.zeros(0), np.zeros(1), LEVEL, 1.0)
    assert (found.trust, found.shift) == ([1.0], [0.0])


def test_the_shift_makes_of_one_ridge_another() -> None:
    """A level S/(n + 4) has left S/n - S/(n + 4); who varies little is drawn by less than 4."""
    n, S = 20, 18.0
    found = judged([3.5 + S / n] * n, [S / n - S / (n + 4.0)] * n)
    level = S / (n + 4.0) + found.shift[0]
    smaller = S / level - n
    assert 0 < smaller < 0.5
    assert found.means[0] == pytest.approx(3.5 + S / (n + smaller))


@pytest.fixture(scope="module")
def everybody_steady() -> dc.Ratings:
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(200), 20)
    item = np.concatenate([rng.choice(80, 20, replace=False) for _ in range(200)])
    return dc.Ratings.from_frame(
        pl.DataFrame({"user": user, "item": item, "rating": np.full(4000, 4.0)}), scale=(1, 5)
    )


def test_a_table_of_fours_is_predicted_as_such_whatever_the_noise(
    everybody_steady: dc.Ratings,
) -> None:
    for epsilon in (0.03, 0.3):
        model = dc.Tally().fit(everybody_steady, dc.PrivacySpec.uniform(epsilon), seed=1)
        users, items = np.arange(200).repeat(80), np.tile(np.arange(80), 200)
        assert np.sqrt(np.square(model.predict(users, items) - 4).mean()) < 0.05


def test_a_list_keeps_its_order(everybody_steady: dc.Ratings) -> None:
    release = dc.Tally().fit(everybody_steady, dc.PrivacySpec.uniform(0.3), seed=1).release
    mine = release.recommend([1, 2, 3], [4, 4, 4], n=20)
    scores = release.predict([1, 2, 3], [4, 4, 4], mine["item"])
    np.testing.assert_allclose(mine["score"], scores, atol=1e-6)
