from dataclasses import replace

import numpy as np

from discreet.ratings import Ratings
from discreet.scale import RatingScale
from discreet.schemes.pmf import PMF
from discreet.schemes.sgd import Blocks
from tests.conftest import random_ratings


def test_a_pass_takes_every_rating_once_and_a_round_shares_nobody_and_nothing() -> None:
    data = random_ratings(60, 40, 900, seed=1)
    blocks = Blocks.of(data, 2.0, np.float32, np.random.default_rng(0), threads=2)
    rows, cols, r = blocks.records
    taken = []
    for shift in range(blocks.groups):
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


def test_lists_for_somebody_without_ratings_differ_from_item_to_item(small: Ratings) -> None:
    release = PMF(factors=3, solver="sgd").fit(small, seed=0).release
    assert len(np.unique(release.typical_scores)) > 1


def test_more_factors_than_registers_hold_do_as_well(small: Ratings) -> None:
    model = PMF(factors=140, solver="sgd", threads=2).fit(small, seed=0)
    assert model.trace[-1].rmse < model.trace[0].rmse
