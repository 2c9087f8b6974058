"""Without noise every scheme is its plain method; and with less noise none gets worse."""

import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.evaluate.judge import judge_lists
from discreet.field import FIELD, find_field
from discreet.field.alternating import Rounds, alternate_privately, decode, unpack
from discreet.field.budget import GaussianBudget
from discreet.field.covariance import leading, most_rated, noisy_covariance
from discreet.field.friedman import perturbed
from discreet.field.hua import Hua
from discreet.field.roster import ROSTER, tuned
from discreet.field.svdpp import SVDpp
from discreet.field.weights import normalised, weigh_ratings
from discreet.kernels.compute import Compute
from discreet.kernels.moments import add_moments, add_products, add_sums
from discreet.privacy.noise import Randomness
from discreet.schemes import SCHEMES
from discreet.schemes.base import Run
from tests.field.test_sensitivity import extreme_table
from tests.test_docs import anchors_of

DOCS = Path(__file__).parents[2] / "docs"
ALONE = Compute(threads=1)


def unlimited():
    return GaussianBudget.unlimited(Randomness(0))


def plain_alternating(table, w, y, V, how):
    """The same rounds in NumPy, item by item and person by person, without any budget."""
    for _ in range(how.rounds):
        U = np.zeros((len(table.users), V.shape[1]))
        for i in range(len(U)):
            own = slice(table.ptr[i], table.ptr[i + 1])
            rows = V[table.item[own]]
            U[i] = np.linalg.solve(
                rows.T @ rows + how.user_ridge * np.eye(V.shape[1]), rows.T @ y[own]
            )
        U /= np.maximum(np.sqrt((U**2).sum(axis=1)), 1)[:, None]
        V = np.zeros_like(V)
        for j in range(len(V)):
            of_item = table.item == j
            rows, weights = U[table.user[of_item]], w[of_item]
            left = (rows * weights[:, None]).T @ rows + how.item_ridge * np.eye(V.shape[1])
            V[j] = np.linalg.solve(left, rows.T @ (weights * y[of_item]))
    return V


def test_alternating_without_noise_is_weighted_least_squares():
    table = extreme_table(0)
    rng = np.random.default_rng(0)
    w = normalised(rng.random(len(table)), table.ptr)
    y, V = rng.uniform(-1, 1, len(table)), rng.standard_normal((len(table.items), 3))
    how = Rounds(3, 1.0, 0.5, user_ridge=0.5, item_ridge=0.2, noise_ridge=1.0)
    found = alternate_privately(table, w, y, V, how, unlimited(), Run(Randomness(0), ALONE))
    np.testing.assert_allclose(found, plain_alternating(table, w, y, V, how), rtol=1e-6, atol=1e-9)


def test_an_encoder_of_public_columns_ends_at_the_joint_optimum():
    """At the optimum T is the ridge regression of V, and V solves its own equations given T."""
    rng = np.random.default_rng(1)
    rows, public = rng.standard_normal((30, 20, 2)), rng.standard_normal((30, 3))
    A = np.einsum("jna,jnb->jab", rows, rows)
    a, b = np.triu_indices(2)
    packed = A[:, a, b] * np.where(a == b, 1, np.sqrt(2))
    np.testing.assert_allclose(unpack(packed), A)
    right = rng.standard_normal((30, 2))
    V = decode(packed, right, 0.5, public, 2.0)
    T = np.linalg.solve(public.T @ public + 2.0 * np.eye(3), public.T @ V)
    again = np.linalg.solve(A + 0.5 * np.eye(2), (right + 0.5 * public @ T)[..., None])[..., 0]
    np.testing.assert_allclose(again, V, atol=1e-6)


def test_a_covariance_without_noise_is_itself_and_its_directions_are_eigenvectors():
    x = np.random.default_rng(2).standard_normal((40, 700))
    C = x.T @ x
    same = noisy_covariance(np.triu(C), 1.0, unlimited(), 1.0, "covariance")
    np.testing.assert_allclose(same, C)
    values, axes = leading(C, 3, np.random.default_rng(0))  # by power steps
    np.testing.assert_allclose(values, np.linalg.eigvalsh(C)[::-1][:3], rtol=1e-2)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-9)


def test_items_have_a_covariance_that_stand_out_from_its_noise():
    counts = np.array([5.0, 80.0, 9.0, 20.0, 8.0])
    assert most_rated(counts, 3).tolist() == [-1, 0, 1, 2, -1]
    assert most_rated(counts, 5, above=8.5).tolist() == [-1, 0, 1, 2, -1]
    assert most_rated(counts, 5, above=1e3).tolist() == [-1, 0, -1, 1, -1]  # two are kept
    assert (most_rated(counts, 5, above=0.0) >= 0).all()


def test_kernels_agree_with_numpy():
    table, rng = extreme_table(3), np.random.default_rng(3)
    U, w, y = rng.standard_normal((len(table.users), 3)), *rng.random((2, len(table)))
    order = table.by_item
    A, b, sums = np.zeros((len(table.items), 6)), *np.zeros((2, len(table.items), 3))
    w_items, y_items = table.in_item_order(w), table.in_item_order(y)
    add_moments(0, len(A), order.ptr, order.cols, w_items, y_items, U, A, b)
    add_sums(0, len(A), order.ptr, order.cols, w_items, U, sums)
    place = np.arange(len(table.items)) - 2  # two items are not counted
    place[place < 0] = -1
    scale = rng.random(len(U))
    C = np.zeros((len(place) - 2,) * 2)
    add_products(table.ptr, table.item, place, y, scale, C)
    dense = np.zeros((len(U), len(table.items)))
    dense[table.user, table.item] = y
    expected = (dense * scale[:, None]).T @ dense
    np.testing.assert_allclose(C, np.triu(expected[2:, 2:]), atol=1e-12)
    for j in range(len(A)):
        rows = table.item == j
        u = U[table.user[rows]]
        np.testing.assert_allclose(unpack(A[j : j + 1])[0], (u * w[rows][:, None]).T @ u)
        np.testing.assert_allclose(b[j], u.T @ (w[rows] * y[rows]))
        np.testing.assert_allclose(sums[j], u.T @ w[rows])


@pytest.mark.parametrize("sampling", ["uniform", "tail", "adaptive"])
def test_the_squares_of_a_persons_weights_sum_to_at_most_one(sampling):
    table = extreme_table(4)
    coins, counts = np.random.default_rng(0).random((2, len(table)))
    w = weigh_ratings(table, sampling, 9 * counts[: len(table.items)], 4, 0.25, coins)
    squares = np.bincount(table.user, weights=w**2)
    assert (squares <= 1 + 1e-9).all()
    assert squares.max() > 0.99


def test_infinite_epsilon_leaves_ratings_and_objectives_as_they_are():
    table = extreme_table(5)
    assert (perturbed(table, math.inf, Randomness(0)).rating == table.rating).all()
    budget = GaussianBudget(math.inf, Randomness(0), (math.inf, 0.0))
    assert not Hua(factors=2).noise(4, 4.0, budget).any()


def test_none_of_the_field_is_offered_for_publishing():
    assert not set(FIELD) & set(SCHEMES)
    for name in FIELD:
        about = find_field(name).about
        assert not about.publishes
        assert not about.proven


@pytest.mark.parametrize("name", FIELD)
def test_every_certificate_names_a_section_that_says_what_is_proven(name):
    kind, table = find_field(name), extreme_table(6)
    assert kind.about.audited or not kind.about.private
    for parameters in kind.about.audited:
        model = kind(**parameters).fit(table, dc.PrivacySpec.uniform(1.0), compute=ALONE)
        page, section = model.release.certificate.provenance.theorem.proof.split("#")
        assert section in anchors_of((DOCS / page).read_text())


def club_loss(name, given, epsilon, split, items, seed):
    """RMSE, or of what makes lists alone -NDCG@10."""
    model = find_field(name)(items=items, **given).fit(
        split.train, dc.PrivacySpec.uniform(epsilon), seed=seed, compute=ALONE
    )
    if not hasattr(model, "predict_ratings"):
        return -judge_lists(model, split, items)["ndcg@10"]
    predicted = model.predict_ratings(split.test, clip=True)
    return float(np.sqrt(np.mean((predicted - split.test.rating) ** 2)))


@pytest.mark.parametrize("entry", ROSTER, ids=lambda entry: entry.key)
def test_more_epsilon_does_better(entry):
    """Means over three draws; from almost no budget to a generous one errors fall, or lists get
    better, by more than the chance of draws, which is some thousandths: 0.005 at least."""
    club = dc.cinema_club()
    split = dc.hold_out(club.ratings.of_some_people(500), 0.2, seed=1)
    unit = entry.units[0]
    means = []
    for epsilon in (0.05, 100.0):
        given = tuned(entry, unit, epsilon, 1e-5, 500)[0]
        runs = [club_loss(entry.name, given, epsilon, split, club.items, s) for s in range(3)]
        means.append(np.mean(runs))
    assert means[1] < means[0] - 0.005


def test_svdpp_beats_biases_and_predicts_for_everybody():
    club = dc.cinema_club()
    split = dc.hold_out(club.ratings, 0.1, seed=2)
    errors = []
    for scheme in (SVDpp(items=club.items, factors=10, passes=8, gamma=0.01), dc.Bias()):
        predicted = scheme.fit(split.train, seed=0).predict_ratings(split.test, clip=True)
        assert np.isfinite(predicted).all()
        errors.append(np.sqrt(np.mean((predicted - split.test.rating) ** 2)))
    assert errors[0] < errors[1]
