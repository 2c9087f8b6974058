"""One person, or rating, moves no statistic by more than its noise was made for."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.audit.neighbours import numbered
from discreet.field import FIELD, find_field
from discreet.field.alternating import clip_rows
from discreet.field.am_ssp import AMSSP
from discreet.field.biases_alone import NoisyBiases
from discreet.field.dpals import DPALS
from discreet.field.dpsgd import DPSGD
from discreet.field.frank_wolfe import FrankWolfe
from discreet.field.implicit import ImplicitALS
from discreet.field.mcsherry_mironov import McSherryMironov, voices
from tests.field.replaying import moves, spent

PEOPLE, ITEMS = 7, 12
PERSON = {
    "DPALS, uniform": DPALS(sampling="uniform", kept=3, factors=3, user_ridge=1e-3),
    "DPALS, tail": DPALS(sampling="tail", kept=3, factors=3, user_ridge=1e-3),
    "DPALS, adaptive": DPALS(factors=3, rounds=3, user_ridge=1e-3),
    "DPALS, biases first": DPALS(biases=True, factors=3, width=0.5, user_ridge=1e-3),
    "AM-SSP": AMSSP(factors=3, user_ridge=1e-3),
    "AM-SSP, biases first": AMSSP(biases=True, factors=3, user_ridge=1e-3),
    "DPALS for lists": ImplicitALS(factors=3, user_ridge=1e-3),
    "AM-SSP for lists": ImplicitALS(factors=3, encoder=True),
    "DP-SGD": DPSGD(factors=3, steps=3, clip=0.05),
    "Frank-Wolfe": FrankWolfe(rounds=3, length=2.0, least=0.0),
    "Frank-Wolfe, corrective": FrankWolfe(rounds=3, length=2.0, corrective=True, least=0.0),
    "Frank-Wolfe, some items": FrankWolfe(rounds=2, length=2.0, least=0.8),
    "McSherry-Mironov": McSherryMironov(factors=3, top=8, least=0.0),
    "McSherry-Mironov, some items": McSherryMironov(factors=3, least=8.0),
    "noisy biases": NoisyBiases(),
}
RATING = {
    "DP-SGD": DPSGD(unit="rating", factors=3, steps=3, clip=0.2),
    "McSherry-Mironov": McSherryMironov(unit="rating", factors=3, top=8, least=0.0),
    "noisy biases": NoisyBiases(unit="rating"),
}
HAIR = 1e-9


def extreme_table(seed, *, wild=False, few=False):
    """Ones and fives, and the last person with everything, or one rating; wild ones leave the
    scale."""
    rng = np.random.default_rng(seed)
    there = rng.random((PEOPLE, ITEMS)) < 0.6
    there[:, 0], there[-1, 1:] = True, not few
    user, item = np.nonzero(there)
    rating = rng.choice([1.0, 5.0], len(user))
    if wild:
        rating = np.where(user == PEOPLE - 1, rng.choice([-1e4, 1e4], len(user)), rating)
    return numbered(user, item, rating, 1.0, (PEOPLE, ITEMS))


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("wild", [False, True])
@pytest.mark.parametrize("name", PERSON)
def test_a_person_with_extreme_ratings_moves_no_statistic_further_than_it_may(name, wild, few):
    for seed in range(4):
        table = extreme_table(seed, wild=wild, few=few)
        found = moves(PERSON[name], table, table.subset(table.user != PEOPLE - 1))
        assert found
        assert all(move.far <= move.most * (1 + HAIR) for move in found)
        assert spent(found) <= 1 + HAIR


@pytest.mark.parametrize("name", RATING)
def test_a_rating_moves_no_statistic_further_than_it_may(name):
    for seed in range(6):
        table = extreme_table(seed, wild=seed % 2 == 1)
        found = moves(RATING[name], table, table.subset(np.arange(len(table)) < len(table) - 1))
        assert found
        assert all(move.far <= move.most * (1 + HAIR) for move in found)
        assert spent(found) <= 1 + HAIR


def test_every_scheme_with_a_gaussian_budget_is_among_these():
    """The others draw noise on single ratings, or promise nothing; sampling runs one of these."""
    kinds = {name: find_field(name) for name in FIELD}
    for unit, played in (("person", PERSON), ("rating", RATING)):
        there = {name for name, kind in kinds.items() if unit in kind.about.units}
        there -= {name for name, kind in kinds.items() if not kind.about.private}
        found = {name for name, kind in kinds.items() for s in played.values() if type(s) is kind}
        assert there - found <= {"friedman", "hua", "jorgensen"}


@pytest.mark.parametrize("name", ["DPALS, adaptive", "McSherry-Mironov"])
def test_the_bound_is_nearly_reached_so_a_smaller_one_would_be_wrong(name):
    """A person whose vector is as long as it may be moves a statistic nearly as far as it may."""
    table = extreme_table(1)
    found = moves(PERSON[name], table, table.subset(table.user != PEOPLE - 1))
    assert max(move.far / move.most for move in found) > 0.9


def test_a_mechanism_that_forgets_to_clip_is_caught(monkeypatch):
    monkeypatch.setattr("discreet.field.alternating.clip_rows", lambda U: 3 * clip_rows(U))
    table = extreme_table(0)
    found = moves(PERSON["DPALS, adaptive"], table, table.subset(table.user != PEOPLE - 1))
    assert any(move.far > move.most for move in found)
    assert spent(found) > 1


def test_one_rating_moves_a_self_normalised_covariance_by_at_most_one():
    """a a'/sqrt(2 |a|^2 + 1): what the certificate for ratings rests on, looked for by climbing."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        a = np.clip(rng.standard_normal(int(rng.integers(1, 8))) * rng.uniform(0.1, 3), -1, 1)
        without = replace_last(a)
        one, other = (matrix(values) for values in (a, without))
        assert np.sqrt(((one - other) ** 2).sum()) <= 1 + HAIR


def matrix(a):
    return np.outer(a, a) * voices(np.array([a @ a]), person=False)[0]


def replace_last(a):
    without = a.copy()
    without[-1] = 0.0
    return without


def test_an_untouched_table_moves_nothing():
    table = extreme_table(2)
    same = replace(table, rating=table.rating.copy())
    assert all(move.far == 0 for move in moves(PERSON["DPALS, adaptive"], table, same))
