from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.errors import DivergenceError
from discreet.kernels.compute import Compute
from discreet.release.release import Release
from discreet.schemes.pmf import sgd
from discreet.schemes.pmf.pmf import PMF
from tests.conftest import random_ratings


@pytest.mark.parametrize(("many", "groups"), [(1000, 8), (900, 16)])
def test_a_pass_takes_every_rating_once_and_a_round_shares_nobody_and_nothing(
    many: int, groups: int
) -> None:
    data = random_ratings(60, 40, 900, seed=1)
    with patch.object(sgd, "_MANY", many):
        blocks = sgd.Blocks.of(data, 2.0, np.float32, np.random.default_rng(0), threads=2)
    assert blocks.bands == groups
    rows, cols, r = blocks.records
    taken = []
    for shift in range(blocks.bands):
        round_ = [np.arange(lo, hi) for lo, hi in blocks.round(shift)]
        taken += round_
        for side in (rows, cols):
            members = [set(side[block]) for block in round_]
            assert sum(map(len, members)) == len(set().union(*members))
    assert sorted(np.concatenate(taken)) == list(range(len(data)))
    order = np.lexsort((cols, rows))
    assert (rows[order] == data.user).all()
    assert (cols[order] == data.item).all()
    assert (r[order] == data.rating - 2).all()


def test_training_lowers_the_error_pass_by_pass(small: Ratings) -> None:
    trace = PMF(factors=3, solver="sgd", passes=6).fit(small, seed=0).trace
    errors = [point.rmse for point in trace]
    assert [point.step for point in trace] == [1, 2, 3, 4, 5, 6]
    assert errors == sorted(errors, reverse=True)


def test_the_same_ratings_on_another_scale_give_the_same_model(small: Ratings) -> None:
    tenfold = replace(small, rating=10 * small.rating + 1000, scale=RatingScale(1010, 1050))
    one, other = (
        PMF(factors=3, solver="sgd", dtype="float64").fit(data, seed=0).predict_ratings(data)
        for data in (small, tenfold)
    )
    np.testing.assert_allclose(10 * one + 1000, other, rtol=1e-9)


def test_somebody_without_ratings_gets_what_others_like(small: Ratings) -> None:
    release = PMF(factors=3, solver="sgd").fit(small, seed=0).release
    order = small.by_item
    means = np.add.reduceat(order.values, order.ptr[:-1]) / np.diff(order.ptr)
    assert np.corrcoef(release.typical_scores, means)[0, 1] > 0.3


def test_a_step_that_ends_in_infinity_is_named() -> None:
    data = random_ratings(5, 5, 8, seed=0)
    with pytest.raises(DivergenceError, match="gamma = 1e\\+30 diverges"):
        PMF(factors=2, solver="sgd", gamma=1e30, passes=1).fit(data, seed=0)


def test_numbers_of_any_kind_can_be_saved(small: Ratings, tmp_path: Path) -> None:
    scheme = PMF(factors=2, solver="sgd", lambda_u=np.float32(0.5), passes=np.int64(2))
    scheme.fit(small, seed=0).release.save(tmp_path / "release")
    assert Release.load(tmp_path / "release").fold_in.ridge_per_rating == 0.5


def test_more_factors_than_registers_hold_do_as_well(small: Ratings) -> None:
    model = PMF(factors=140, solver="sgd").fit(small, seed=0, compute=Compute(threads=2))
    assert model.trace[-1].rmse < model.trace[0].rmse
