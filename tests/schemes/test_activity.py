"""Chorus' probe about people: docs/proofs/chorus.md#what-the-probe-costs, exercised."""

from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.ratings import Ratings
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.base import Run
from discreet.schemes.chorus.activity import FEW, people_beyond, weight_beyond
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.chorus.weighing import PERSON_NORM, PersonWeighing
from tests.conftest import random_ratings

RUN = Run(Randomness(0))


@given(st.integers(0, 2**31), st.integers(0, 10 * ONE_VOTE))
def test_one_record_moves_the_two_sums_by_its_weight_in_all(seed: int, enough: int) -> None:
    ratings, rng = random_ratings(6, 12, 30, seed=seed), np.random.default_rng(seed)
    weights = rng.integers(0, ONE_VOTE + 1, len(ratings)).astype(np.int32)
    whole = weight_beyond(lambda _: weights, enough, ratings)
    assert whole.sum() == weights.sum(dtype=np.int64)
    for k in range(len(ratings)):
        rest = np.arange(len(ratings)) != k
        less = weight_beyond(lambda _, rest=rest: weights[rest], enough, ratings.subset(rest))
        assert np.abs(whole - less).sum() == weights[k]
        assert (whole >= less).all()


@pytest.mark.parametrize("t", [0.5, 3.0])
def test_one_person_moves_them_by_the_norm_of_their_votes(t: float) -> None:
    ratings = random_ratings(40, 60, 900, seed=3)
    scheme = Chorus(unit="person", delta=1e-6, threshold=t)
    spec = PrivacySpec.column()
    budget = scheme.budget(ratings, spec, spec.levels, RUN)
    how = PersonWeighing(budget.allowance, RUN.compute)
    moved = partial(people_beyond, how.vote_weights, FEW)
    whole = moved(how.counted(ratings))
    assert (whole > 0).all()
    for person in range(len(ratings.users)):
        own = how.counted(ratings.subset(ratings.user == person))
        less = moved(how.counted(ratings.subset(ratings.user != person)))
        votes = how.vote_weights(own).astype(float)
        assert np.abs(whole - less).sum() <= np.linalg.norm(votes) <= PERSON_NORM * ONE_VOTE


def few_and_many(each: int, people: int) -> Ratings:
    """Everybody rates as many of the same 200 items: popular ones, whoever rated them."""
    rng = np.random.default_rng(0)
    item = np.concatenate([rng.choice(200, each, replace=False) for _ in range(people)])
    user = np.repeat(np.arange(people), each)
    rating = rng.integers(1, 6, len(user)).astype(float)
    return Ratings.from_frame(pl.DataFrame({"user": user, "item": item, "rating": rating}))


@pytest.mark.parametrize(
    ("unit", "neighbours"),
    [("rating", n) for n in Neighbours] + [("person", Neighbours.ADD_REMOVE)],
)
def test_factors_are_bought_where_people_have_enough_ratings(
    unit: str, neighbours: Neighbours
) -> None:
    """As many ratings of as many items; only how they are spread over people differs."""
    scheme = Chorus(unit=unit, neighbours=neighbours, delta=1e-6)
    spec = PrivacySpec.uniform(8.0)
    bought = [
        any(
            name.startswith("factor")
            for name in scheme.fit(table, spec, seed=1).release.factor_names
        )
        for table in (few_and_many(10, 12_000), few_and_many(100, 1200))
    ]
    assert bought == [False, True]


def test_under_replace_who_rated_what_is_public_and_costs_nothing() -> None:
    ratings, spec = few_and_many(30, 10), PrivacySpec.uniform(1.0)
    budget = Chorus(delta=1e-6, neighbours=Neighbours.REPLACE).budget(
        ratings, spec, spec.levels, RUN
    )
    assert budget.activity(0.0).tolist() == [10 * FEW, 10 * (30 - FEW)]
    paid = replace(budget, run=Run(Randomness(5))).activity(0.005)
    assert (paid != budget.activity(0.0)).all()


def test_few_are_few_ratings_of_the_weight_that_is_declared() -> None:
    """At a quarter of the largest level a rating is a quarter of a vote, and 20 of them are 5."""
    ratings, spec = few_and_many(30, 10), PrivacySpec.uniform(1.0)
    scheme = Chorus(delta=1e-6, neighbours=Neighbours.REPLACE, threshold=4.0)
    up_to_few, beyond = scheme.budget(ratings, spec, spec.levels, RUN).activity(0.0)
    assert up_to_few == pytest.approx(10 * FEW / 4, abs=1e-3)
    assert beyond == pytest.approx(10 * (30 - FEW) / 4, abs=1e-3)
