"""Without noise every scheme is its plain method, written again in NumPy, person by person."""

from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.field.biases import noisy_biases
from discreet.field.budget import GaussianBudget
from discreet.field.dpsgd import DPSGD
from discreet.field.frank_wolfe import FrankWolfe
from discreet.field.implicit import ImplicitALS, choice_values
from discreet.field.jorgensen import Jorgensen
from discreet.field.mcsherry_mironov import McSherryMironov
from discreet.kernels.compute import Compute
from discreet.privacy.noise import Randomness
from discreet.schemes.base import Run
from discreet.schemes.catalogue import to_train_on
from tests.field.test_sensitivity import extreme_table

ALONE = Compute(threads=1)


def learnt(scheme, table):
    """A fit without any noise: the model, and where it started from."""
    randomness = Randomness(0)
    budget = GaussianBudget.unlimited(randomness)
    certificate = scheme.certificate(dc.PrivacySpec.uniform(1.0), 1.0, randomness)
    return scheme.learn(to_train_on(table, None), budget, certificate, Run(randomness, ALONE))


def directions(scheme, table, monkeypatch, module):
    """The item vectors that a scheme with biases first would serve people on."""
    found = []
    whole = module.release_directions

    def listening(data, items, known, V, ridge, certificate):
        found.append(np.array(V))
        return whole(data, items, known, V, ridge, certificate)

    monkeypatch.setattr(module, "release_directions", listening)
    learnt(scheme, table)
    return found[-1]


def residuals(table, unit, own_level):
    """A matrix of what mean and effects leave, in quarters of the scale; and noiseless counts."""
    randomness = Randomness(0)
    known = noisy_biases(
        table, None, unit, GaussianBudget.unlimited(randomness), 0.5, Run(randomness, ALONE)
    )
    base = known.effects.mean + known.effects.item_effects
    R, there = np.zeros((2, len(table.users), len(table.items)))
    for i, j, r in zip(table.user, table.item, table.rating, strict=True):
        R[i, j], there[i, j] = (np.clip(r, 1, 5) - base[j]) / 1.0, 1
    if own_level:
        for i in range(len(R)):
            R[i] -= there[i] * R[i].sum() / (there[i].sum() + 5)
    return R, there, known.effects.counts


@pytest.mark.parametrize("unit", ["person", "rating"])
def test_mcsherry_mironov_is_the_low_rank_of_a_weighted_covariance(unit, monkeypatch):
    import discreet.field.mcsherry_mironov as module

    table = extreme_table(7)
    scheme = McSherryMironov(unit=unit, factors=3, width=1.2, balance=0.3, shrink=2.0)
    V = directions(scheme, table, monkeypatch, module)
    R, there, counts = residuals(table, unit, unit == "person")
    C = np.zeros((len(counts), len(counts)))
    for row, own in zip(R, there, strict=True):
        x = np.clip(row / 1.2, -1, 1) * own
        C += np.outer(x, x) / (max(x @ x, 1) if unit == "person" else np.sqrt(2 * x @ x + 1))
    D = counts + 2.0
    values, axes = np.linalg.eigh(C * np.outer(D**-0.3, D**-0.3))
    kept = (axes * np.sqrt(np.maximum(values, 0)) * (D**-0.7)[:, None])[:, -3:]
    kept /= np.sqrt(((kept**2).sum(axis=1) * counts).sum() / counts.sum())
    np.testing.assert_allclose(V @ V.T, kept @ kept.T, atol=1e-7)


@pytest.mark.parametrize("clip", [100.0, 0.05])
def test_dp_sgd_for_persons_is_clipped_gradient_descent(clip, monkeypatch):
    import discreet.field.dpsgd as module

    table = extreme_table(8)
    given = {"factors": 2, "steps": 3, "clip": clip, "learning_rate": 0.4, "user_ridge": 0.7}
    found = directions(DPSGD(**given, width=1.0, shrink=3.0), table, monkeypatch, module)
    R, there, counts = residuals(table, "person", True)
    V = Randomness(0).training.standard_normal((len(counts), 2)) / np.sqrt(2)
    for step in range(3):
        gradient = np.zeros_like(V)
        for row, own in zip(np.clip(R, -1, 1), there, strict=True):
            inner = V * own[:, None]
            u = np.linalg.solve(inner.T @ V + 0.7 * np.eye(2), inner.T @ row)
            u /= max(np.linalg.norm(u), 1)
            own_gradient = np.outer((V @ u - row) * own, u)
            length = np.linalg.norm(own_gradient)
            gradient += own_gradient * min(1, 10 * clip / max(length, 1e-12))
        V = V - 0.4 * (1 - step / 3) * gradient / ((counts + 3.0)[:, None] / 1.6)
    np.testing.assert_allclose(found, V, atol=1e-7)


def test_dp_sgd_for_ratings_is_gradient_descent_on_both_sides(monkeypatch):
    import discreet.field.dpsgd as module

    table = extreme_table(9)
    given = {"unit": "rating", "factors": 2, "steps": 2, "clip": 0.3, "learning_rate": 0.5}
    found = directions(DPSGD(**given, width=1.0, shrink=3.0), table, monkeypatch, module)
    R, there, counts = residuals(table, "rating", False)
    rng = Randomness(0).training
    V = rng.standard_normal((len(counts), 2)) / np.sqrt(2)
    U = 0.1 * rng.standard_normal((len(R), 3))
    V = np.column_stack([np.ones(len(V)), V])
    for step in range(2):
        of_items, of_people = np.zeros_like(V), np.zeros_like(U)
        for i, j in zip(*np.nonzero(there), strict=True):
            error = U[i] @ V[j] - np.clip(R[i, j], -1, 1)
            both = np.concatenate([error * U[i, 1:], error * V[j]])
            both *= min(1, 0.3 / max(np.linalg.norm(both), 1e-12))
            of_items[j, 1:] += both[:2]
            of_people[i] += both[2:]
        rate = 0.5 * (1 - step / 2)
        V -= rate * of_items / (counts + 3.0)[:, None]
        U -= rate * of_people / 53.0
    np.testing.assert_allclose(found, V[:, 1:], atol=1e-7)


@pytest.mark.parametrize("corrective", [False, True])
def test_frank_wolfe_follows_the_leading_directions_of_what_is_left(corrective):
    table = extreme_table(10)
    given = {"rounds": 3, "length": 2.0, "radius": 1.5, "fold_ridge": 0.4, "count_share": 0.1}
    model = learnt(FrankWolfe(**given, corrective=corrective), table)
    Y, there = np.zeros((2, len(table.users), len(table.items)))
    for i, j, r in zip(table.user, table.item, table.rating, strict=True):
        Y[i, j], there[i, j] = np.clip(r, 1, 5) - 3, 1
    Y -= there * (Y.sum(axis=1) / (there.sum(axis=1) + 0.5))[:, None]
    V, moved = np.zeros((len(table.items), 0)), np.zeros((len(Y), 0))
    for _ in range(3):
        left = there * (Y - moved @ V.T)
        scale = np.minimum(1, 4.0 / np.maximum((left**2).sum(axis=1), 1e-12))
        values, axes = np.linalg.eigh((left * scale[:, None]).T @ left)
        v = axes[:, -1]
        V = np.column_stack([V, v])
        if corrective:
            moved = np.stack(
                [
                    np.linalg.solve((V * own[:, None]).T @ V + 0.4 * np.eye(V.shape[1]), V.T @ y)
                    for y, own in zip(Y, there, strict=True)
                ]
            )
        else:
            step = 1.5 * 2.0 / 3 / np.sqrt(values[-1]) * (left @ v)
            moved = np.column_stack([moved * (1 - 1 / 3), step])
    found = np.asarray(model.release.item_factors)[:, 1:]
    np.testing.assert_allclose(found @ found.T, V @ V.T, atol=1e-6)
    if not corrective:
        served = model.people.coefficients[:, 1:] @ found.T
        np.testing.assert_allclose(served, moved @ V.T, atol=1e-6)


def test_implicit_als_is_weighted_least_squares_of_choices():
    table = extreme_table(11)
    scheme = ImplicitALS(factors=2, rounds=2, power=0.0, others=0.3, item_others=0.05)
    model = learnt(scheme, table)
    y, there = np.zeros((2, len(table.users), len(table.items)))
    y[table.user, table.item] = choice_values(table)
    there[table.user, table.item] = 1
    weights = there / np.sqrt(there.sum(axis=1))[:, None]
    V = Randomness(0).training.standard_normal((y.shape[1], 2))
    V[:, 0] = 1.0
    V *= 0.1
    for _ in range(2):
        ridge = 1e-12 + float((V**2).sum(axis=1).mean())
        U = []
        for row, own in zip(y, there, strict=True):
            left = (V * own[:, None]).T @ V + 0.3 * V.T @ V + ridge * np.eye(2)
            u = np.linalg.solve(left, V.T @ row)
            U.append(u / max(np.linalg.norm(u), 1))
        U = np.stack(U)
        V = np.stack(
            [
                np.linalg.solve(
                    (U * w[:, None]).T @ U + 0.05 * U.T @ U + np.eye(2), U.T @ (w * column)
                )
                for w, column in zip(weights.T, y.T, strict=True)
            ]
        )
    Z, _ = scheme._whitened(V)
    found = np.asarray(model.release.item_factors)
    np.testing.assert_allclose(found @ found.T, Z @ Z.T, atol=1e-6)


@pytest.mark.parametrize("inner", ["mcsherry-mironov", "dp-sgd"])
def test_jorgensen_with_everybody_at_the_threshold_is_the_mechanism_inside(inner, monkeypatch):
    table = extreme_table(12)
    scheme = Jorgensen(inner=inner, threshold=1.0, parameters=(("factors", 2),))
    kind = type(scheme.mechanism())

    def unlimited(scheme, epsilon, randomness):
        del scheme, epsilon
        return GaussianBudget.unlimited(randomness)

    monkeypatch.setattr(kind, "budget", unlimited)
    levels = replace(table, epsilon=np.full(len(table), 1.0))
    sampled = scheme.fit(levels, dc.PrivacySpec.column(), seed=0, compute=ALONE)
    whole = learnt(replace(scheme.mechanism()), levels)
    ours, theirs = (np.asarray(m.release.item_factors) for m in (sampled, whole))
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-6)
