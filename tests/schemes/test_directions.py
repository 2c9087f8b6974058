"""Chorus after the noise: empirical Bayes against its plain form, item by item."""

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.privacy.fixedpoint import GRID
from discreet.schemes.chorus import directions
from discreet.schemes.chorus.directions import (
    CHOICE_MEMORY,
    LIKING_MEMORY,
    DirectionEstimator,
    Heard,
    Memory,
    within_the_ball,
)

Array = NDArray[np.float64]
SPREAD = np.array([[1.0, 0.3, 0.0], [0.3, 0.4, 0.1], [0.0, 0.1, 0.05]])
CLIP, WEIGHT_RATIO, SIGMA = 0.55, 0.7, 2.0


def plain_spread(X: Array, R: Array, Omega: Array) -> Array:
    """EM with every item's own noise: X_j ~ N(0, Omega) + N(0, R_j I)."""
    for _ in range(directions.EM_STEPS):
        total = np.zeros_like(Omega)
        for x, r in zip(X, R, strict=True):
            gain = Omega @ np.linalg.inv(Omega + r * np.eye(len(Omega)))
            mean = gain @ x
            total += np.outer(mean, mean) + Omega - gain @ Omega
        Omega = total / len(X)
    return Omega


def some_rows(count: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    R = np.sort(1 / np.exp(rng.normal(3, 2, count)))
    # By Cholesky's factor, of which there is one: others hang on the library's signs.
    true = rng.standard_normal((count, 3)) @ np.linalg.cholesky(SPREAD).T
    return true + np.sqrt(R)[:, None] * rng.standard_normal((count, 3)), R


def grouped(X: Array, R: Array, groups: int) -> tuple[Array, Array, Array]:
    rows, noise = np.array_split(X, groups), np.array_split(R, groups)
    squares = np.stack([x.T @ x for x in rows])
    return squares, np.array([r.mean() for r in noise]), np.array([len(r) for r in noise])


def test_with_as_many_groups_as_items_it_is_plain_em() -> None:
    X, R = some_rows(60)
    found = directions.spread(*grouped(X, R, 60), np.eye(3))
    np.testing.assert_allclose(found, plain_spread(X, R, np.eye(3)), rtol=1e-9, atol=1e-12)


def test_groups_of_items_with_like_noise_change_little() -> None:
    """Over seeds they change 0.4% at most, and a single group at least ten times as much."""
    X, R = some_rows(1500)
    start = directions.first_spread(*grouped(X, R, directions.NOISE_BINS))
    exact = plain_spread(X, R, start)
    changed = [
        np.abs(directions.spread(*grouped(X, R, count), start) - exact).max() / exact.max()
        for count in (directions.NOISE_BINS, 1)
    ]
    assert changed[0] < 0.01 < changed[1]


def test_the_spread_is_found() -> None:
    """The largest entry has a deviation of sqrt(2/n) = 0.01; a spread off by a tenth is refused."""
    groups = grouped(*some_rows(20_000), directions.NOISE_BINS)
    start = directions.first_spread(*groups)
    found = directions.spread(*groups, start)
    np.testing.assert_allclose(start, SPREAD, atol=0.08)
    np.testing.assert_allclose(found, SPREAD, atol=0.05)
    assert np.abs(1.1 * found - SPREAD).max() > 0.05


def test_no_signal_is_no_spread_but_a_number() -> None:
    _, R = some_rows(2000)
    noise = np.sqrt(R)[:, None] * np.random.default_rng(6).standard_normal((len(R), 3)) / 2
    groups = grouped(noise, R, directions.NOISE_BINS)
    found = directions.spread(*groups, directions.first_spread(*groups))
    assert np.isfinite(found).all()
    assert np.abs(found).max() < 1e-3


def rounds(items: int, factors: int, count: int) -> tuple[Array, list[tuple[Array, Array]]]:
    """Noisy counts, some of them too small to be heard, and rounds of sums and what was fed in."""
    rng = np.random.default_rng(7)
    counts = np.maximum(np.exp(rng.normal(2, 2, items)) - 1, 0)
    taste = rng.standard_normal((items, factors)) * np.linspace(3, 1, factors)
    heard = []
    for _ in range(count):
        fed = taste @ rng.standard_normal((factors, factors)) / 3 + rng.standard_normal(taste.shape)
        sums = counts[:, None] * (0.4 * taste + fed / 9 + 0.2)
        heard.append((sums + SIGMA * rng.standard_normal(sums.shape), fed))
    return counts, heard


def plain_expected(Y: Array, R: Array, F: Array, seen: Array) -> Array:
    """Ridge regression of rows on public columns: they explain a tenth of how rows differ."""
    differ = max((((Y**2).mean(axis=1) - R) / R**2).sum() / (1 / R**2).sum(), 1e-12)
    W = 1 / (R + differ)
    F = F - W @ F[seen] / W.sum()
    X = F[seen]
    ridge = (W[:, None] * X**2).sum() / W.sum() / (0.1 * differ)
    gram = X.T @ (W[:, None] * X) + ridge * np.eye(F.shape[1])
    return F @ np.linalg.solve(gram, X.T @ (W[:, None] * Y))


def plain_directions(
    counts: Array, heard: list[tuple[Array, Array]], memory: Memory, public: Array
) -> Heard:
    """What the last rounds show, with a row for every item at each step."""
    last = heard[-memory.rounds :]
    seen, fed = counts > 0.5, last[-1][1]
    c, d = counts[seen], fed.shape[1]
    Y = np.hstack([sums[seen] / (SIGMA * c[:, None]) for sums, _ in last])
    chance = 0.5 * CLIP**2 * directions.VECTOR_SQUARE * WEIGHT_RATIO / (d * SIGMA**2)
    R = 1 / c**2 + chance / c
    g = (Y / R[:, None]).sum(axis=0) / (1 / R).sum()
    prior = np.tile(g, (len(counts), 1))
    if public.shape[1]:
        prior += plain_expected(Y - g, R, public, seen)
    order, rest = np.argsort(R), Y - prior[seen]
    start = directions.first_spread(*grouped(rest[order], R[order], len(R)))
    Omega = plain_spread(rest, R, start)
    m, doubt = np.empty_like(Y), np.zeros_like(Omega)
    for j, (y, at) in enumerate(zip(Y, prior[seen], strict=True)):
        gain = Omega @ np.linalg.inv(Omega + R[j] * np.eye(len(Omega)))
        m[j] = at + gain @ (y - at)
        doubt += c[j] / c.sum() * (Omega - gain @ Omega)
    beta, mean = SIGMA * m[:, -d:], c @ m / c.sum()
    fade = np.repeat(memory.fade ** np.arange(len(last) - 1.0, -1.0, -1.0), d)
    faded = (m - mean) * fade
    values, Q = np.linalg.eigh((faded * c[:, None]).T @ faded / c.sum())
    axes = fade[:, None] * Q[:, ::-1][:, :d] / np.sqrt(values[::-1][:d])
    z, error, root = (m - mean) @ axes, axes.T @ doubt @ axes, np.sqrt(c)[:, None]
    A = np.linalg.lstsq(fed[seen] * root, z * root, rcond=None)[0]
    strength = z.T @ (c[:, None] * beta) @ A / c.sum()
    values, P = np.linalg.eigh((strength + strength.T) / 2)
    values, P = np.maximum(values[::-1], 0), P[:, ::-1]
    true = 1 / (1 + np.diag(P.T @ error @ P))
    everybody = (prior - mean) @ axes @ P
    everybody[seen] = z @ P
    return Heard(everybody, values, true)


@pytest.mark.parametrize("memory", [LIKING_MEMORY, CHOICE_MEMORY])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("columns", [0, 4])
def test_sums_over_items_conclude_what_every_item_would(
    count: int, memory: Memory, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directions, "NOISE_BINS", 1000)
    counts, heard = rounds(120, 2, count)
    assert (counts < 0.5).any()
    public = (np.random.default_rng(8).random((120, columns)) < 0.3) * 1.0
    estimator = DirectionEstimator(counts, 2, CLIP, WEIGHT_RATIO, memory, public)
    for sums, fed in heard:
        found = estimator.update(sums, SIGMA, fed)
    plain = plain_directions(counts, heard, memory, public)
    signs = np.sign((found.z * plain.z).sum(axis=0))  # nothing says which end of it is which
    np.testing.assert_allclose(found.z * signs, plain.z, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.values, plain.values, rtol=1e-8)
    np.testing.assert_allclose(found.true, plain.true, rtol=1e-8)
    sizes = directions.FIRST_SIZE * plain.true * plain.values / plain.values[0]
    np.testing.assert_allclose(found.directions.sizes, sizes, rtol=1e-8)


def test_what_an_item_is_tells_where_nobody_was_heard() -> None:
    """Items of a kind that points one way: those too rare to be heard are taken to do so too."""
    rng = np.random.default_rng(9)
    kind = np.repeat([1.0, -1.0], 100)
    counts = np.where(np.arange(200) % 4, 200.0, 0.2)
    fed = np.column_stack([kind, np.zeros(200)]) + 0.1 * rng.standard_normal((200, 2))
    sums = counts[:, None] * np.column_stack([kind, np.zeros(200)])
    public = (kind > 0)[:, None] * 1.0
    shown = []
    for known in (public, None):
        estimator = DirectionEstimator(counts, 2, CLIP, WEIGHT_RATIO, CHOICE_MEMORY, known)
        z = estimator.update(sums + SIGMA * rng.standard_normal((200, 2)), SIGMA, fed).z[:, 0]
        unheard = counts < 0.5
        shown.append(abs(np.corrcoef(z, kind)[0, 1]))
        assert np.ptp(z[unheard & (kind > 0)]) < 1e-9
        assert (abs(z[unheard][0] - z[unheard][-1]) > 0.1) == (known is not None)
    assert shown[0] > shown[1] + 0.01


def test_nobody_heard_shows_nothing() -> None:
    found = DirectionEstimator(np.zeros(7), 2, CLIP, WEIGHT_RATIO, LIKING_MEMORY).update(
        np.ones((7, 2)), 1.0, np.ones((7, 2))
    )
    assert not found.z.any()
    assert not found.directions.sizes.any()


def estimator(counts: Array) -> DirectionEstimator:
    return DirectionEstimator(counts, 3, CLIP, WEIGHT_RATIO, LIKING_MEMORY)


def test_weak_directions_are_fed_in_louder_as_far_as_they_are_signal() -> None:
    heard = Heard(np.ones((2, 4)), np.array([16.0, 1.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0, 1.0]))
    quietest = directions.LEAST_VALUE**-directions.EVENED
    np.testing.assert_allclose(heard.evened[0], [1.0, 2.0, 1.0, quietest])


def test_a_direction_fed_in_twice_counts_once() -> None:
    counts, [(sums, fed)] = rounds(300, 3, 1)
    fed[:, 2] = fed[:, 1]
    sizes = estimator(counts).update(sums, SIGMA, fed).directions.sizes
    assert np.isfinite(sizes).all()
    fed[:, 2] += 1e-5 * fed[:, 0]
    again = estimator(counts).update(sums, SIGMA, fed).directions.sizes
    np.testing.assert_allclose(again, sizes, rtol=1e-2, atol=1e-6)


def test_what_explains_nothing_has_no_size() -> None:
    counts, [(sums, fed)] = rounds(300, 3, 1)
    found = estimator(counts).update(sums, SIGMA, np.full_like(fed, 0.5))
    assert found.directions.sizes.max() < 1e-3 * directions.FIRST_SIZE


@pytest.mark.parametrize("d", [1, 2, 3, 4, 8, 32])
@pytest.mark.parametrize("size", [1e-200, 1e-8, 1.0, 1e150])
def test_what_is_fed_in_is_never_longer_than_one(d: int, size: float) -> None:
    """In integers, as the rounds use it: the proof of Chorus rests on it."""
    rng = np.random.default_rng(d)
    z = size * rng.standard_normal((3000, d))
    z[::7] = size * np.sign(z[::7])  # with four factors exactly one long
    z[::11], z[::13, 0] = 0, size
    fed = np.trunc(within_the_ball(z, rng.random(len(z))) * GRID).astype(np.int64)
    assert max((fed.astype(object) ** 2).sum(axis=1)) <= GRID**2
