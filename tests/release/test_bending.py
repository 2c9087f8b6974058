from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.arrays import Array
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.readers.club import Club
from discreet.release import bending
from discreet.release.bending import bend
from discreet.release.scoring import FoldIn, ItemScores, Own, fold_in, score_pairs
from discreet.release.tallies import Tallies

RIDGE = 0.9


def tallies_of(counts: Array, noise: float = 2.0) -> Tallies:
    half = np.round(counts / 2 * ONE_VOTE).astype(np.int64)
    return Tallies(half, half, np.full(len(counts), noise))


def columns(items: int, d: int = 4, seed: int = 3) -> Array:
    V = np.random.default_rng(seed).normal(size=(items, d))
    V[:, 0] = 1.0
    return V


def exact_kernel(V: Array, counts: Array, noise: float) -> Array:
    """The kernel that `bend` states, item by item, without any eigenfunction."""
    n = len(V)
    known = counts**2 / (counts**2 + 8 * noise + 20 * counts)
    weights = counts * known**2
    weights /= weights.sum()
    squares = ((V[:, None, 1:] - V[None, :, 1:]) ** 2).sum(axis=2)
    median = np.median(squares[np.triu_indices(n, 1)])
    k = 1 / (1 + squares / (2 * 0.2 * median))
    away = np.eye(n) - weights  # row j takes the weighted mean away from what it is applied to
    linear = np.outer(V[:, 0], V[:, 0]) + 0.8 * V[:, 1:] @ V[:, 1:].T
    share = min(1, (V.shape[1] - 1) / 12)
    return np.asarray(linear + 0.2 * share * RIDGE * np.outer(known, known) * (away @ k @ away.T))


def test_with_all_items_for_anchors_it_is_the_gaussian_process_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bending, "_WEAKEST", 0.0)
    rng = np.random.default_rng(1)
    counts = rng.uniform(5, 300, size=40)
    V = columns(40)
    scores = ItemScores(np.full(40, 3.0), bend(V, tallies_of(counts), RIDGE), np.zeros(44 - 1))
    mine, y = np.array([2, 5, 11, 30, 7], dtype=np.int32), np.array([5.0, 1.0, 4.0, 2.0, 3.0])
    person = fold_in(scores, Own(np.array([0, 5]), mine, y), FoldIn(RIDGE))
    predicted = score_pairs(scores, person, np.zeros(40, dtype=int), np.arange(40))
    K = exact_kernel(V, counts, 2.0)
    weights = np.linalg.solve(K[np.ix_(mine, mine)] + RIDGE * np.eye(5), y - 3.0)
    np.testing.assert_allclose(predicted, 3.0 + K[:, mine] @ weights, atol=1e-6)


def test_few_anchors_come_close_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(2).pareto(1.2, size=600) * 30
    V = columns(600, d=3)
    monkeypatch.setattr(bending, "_ANCHORS", 600)
    monkeypatch.setattr(bending, "_CURVES", 600)
    monkeypatch.setattr(bending, "_WEAKEST", 0.0)
    whole = bend(V, tallies_of(counts), RIDGE)[:, 3:]
    monkeypatch.undo()
    few = bend(V, tallies_of(counts), RIDGE)[:, 3:]
    assert 10 < few.shape[1] <= 64
    rated = counts / counts.sum()
    # The median distance between anchors is a little different, too: both are approximations.
    difference = rated @ (few @ few.T - whole @ whole.T) ** 2 @ rated
    assert difference < 0.03 * (rated @ (whole @ whole.T) ** 2 @ rated)


def test_an_item_of_which_nothing_is_known_does_not_bend() -> None:
    counts = np.array([0.0, 0.0, 50.0, 80.0, 200.0, 20.0])
    bent = bend(columns(6), tallies_of(counts), RIDGE)
    assert not bent[:2, 4:].any()
    assert bent[2:, 4:].any(axis=1).all()


def test_more_noise_bends_less() -> None:
    counts, V = np.full(30, 20.0), columns(30)
    sizes = [
        np.square(bend(V, tallies_of(counts, noise), RIDGE)[:, 4:]).sum() for noise in (0, 50, 5000)
    ]
    assert sizes[0] > 2 * sizes[1] > 20 * sizes[2]


@pytest.mark.parametrize("items", [1, 2, 5])
def test_a_table_without_votes_or_differences_stays_linear(items: int) -> None:
    V = columns(items)
    assert (bend(V, tallies_of(np.zeros(items)), RIDGE) == V).all()
    alike = np.ones((items, 3))
    bent = bend(alike, tallies_of(np.full(items, 9.0)), RIDGE)
    assert bent.shape == (items, 3)
    assert np.isfinite(bent).all()


def test_anchors_are_the_heaviest_items_and_some_of_the_rest() -> None:
    mass = np.concatenate([np.full(10, 100.0), np.full(1000, 1.0)])
    anchors = bending._spread_out(mass, 40)
    assert set(range(10)) <= set(anchors.tolist())
    assert 25 <= len(anchors) <= 40
    assert len(set(anchors.tolist())) == len(anchors)


def test_only_named_columns_with_tallies_bend(club: Club) -> None:
    release = dc.Tally(items=club.items).fit(club.ratings, dc.PrivacySpec.groups(), seed=1).release
    d = release.item_factors.shape[1]
    assert release.item_scores.factors.shape[1] > d
    for linear in (replace(release, factor_names=()), replace(release, tallies=None)):
        assert linear.item_scores.factors is linear.item_factors
    own = ["film-0001"], [5]
    assert len(release.recommend(*own)) == len(replace(release, tallies=None).recommend(*own))
