"""Item effects from noisy tallies: counts, means, features and doubts, where truth is known."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from discreet.data.features import Features
from discreet.data.scale import RatingScale
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.release.tallies import Tallies
from discreet.schemes.counts import CountBeliefs, believe, bin_edges, count_odds
from discreet.schemes.design import design
from discreet.schemes.effects import Effects, estimate

STARS = RatingScale(1, 5)
NOTHING = Features({}, {}, {})


class World(NamedTuple):
    """A table of votes whose truth is known, in stars from the middle."""

    counts: Any
    deserved: Any
    tallies: Tallies

    def effects(self, features: Features = NOTHING) -> Effects:
        return estimate(self.tallies, STARS, features, 1.0)


def world(
    *, items: int = 3000, rate: float = 3.0, level: float = 1.0, epsilon: float = 0.1,
    quality: Any = 0.3, seed: int = 0, shared: bool = False,
) -> World:  # fmt: skip
    """Few ratings each: as in a shop with a long tail."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.5, rate / 0.5, items))
    deserved = level + quality * rng.standard_normal(items)
    sums = counts * deserved + 0.8 * np.sqrt(counts) * rng.standard_normal(items)
    in_favour = np.clip((2 * counts + sums) / 4, 0, counts)
    noise = rng.laplace(0, 1 / epsilon, (2, items))
    if shared:  # REPLACE: counts are public
        noise[0] = -noise[1]
    votes = np.rint((np.stack([counts - in_favour, in_favour]) + noise) * ONE_VOTE)
    return World(counts, deserved, Tallies(*votes.astype(np.int64), np.full(items, 2 / epsilon**2)))


def test_counts_are_judged_by_the_distribution_of_all() -> None:
    """To take a noisy count at its word, or for nothing below zero, makes favourites of noise."""
    made = world()
    believed = believe(made.tallies, threads=1).means
    plain = np.maximum(np.add(*made.tallies.votes()), 0.0)
    assert np.square(believed - made.counts).mean() < np.square(plain - made.counts).mean() / 4
    assert abs(believed.sum() / made.counts.sum() - 1) < 0.25
    assert plain.sum() > 2 * made.counts.sum()


def test_the_distribution_of_counts_is_found() -> None:
    made = world(rate=30.0, epsilon=1.0)
    against, in_favour = made.tallies.votes()
    edges = bin_edges(400.0, 1.0)
    C = against + in_favour
    odds = count_odds(C, np.ones(len(C)), edges, np.argsort(C))
    true = np.histogram(made.counts, edges)[0] / len(made.counts)
    assert odds.sum() == pytest.approx(1)
    apart = np.abs(np.cumsum(odds) - np.cumsum(true))
    assert apart[edges[1:] > 4].max() < 0.05  # below, noise of scale 1 does not tell


def test_without_noise_a_count_is_itself() -> None:
    counts = np.array([0, 1, 2, 7, 40, 1000, 123_456])
    votes = counts * ONE_VOTE // 2
    beliefs = believe(Tallies(votes, counts * ONE_VOTE - votes, np.full(7, 1e-9)), threads=1)
    np.testing.assert_allclose(beliefs.means, counts, atol=0.02)


def test_under_replace_counts_are_public() -> None:
    made = world()
    exact = Tallies(made.tallies.against, made.tallies.in_favour, np.ones(3000), shared_noise=True)
    expected = np.maximum(np.add(*made.tallies.votes()), 0.0)
    assert (believe(exact, threads=2).means == expected).all()


def of_item(beliefs: CountBeliefs, j: int) -> list[Any]:
    """What is believed of one item, row by row: counts, base, noise and popularity."""
    group, lane = np.argwhere(beliefs.groups.order == j)[0]
    own = slice(*beliefs.groups.ptr[group : group + 2])
    return [values[own, lane] for values in beliefs[1:5]]


@pytest.mark.parametrize("items", [1, 7, 8, 9, 3000])
def test_every_item_is_in_a_group_that_reaches_its_count(items: int) -> None:
    made = world(items=items, epsilon=0.5)
    beliefs, C = believe(made.tallies, threads=1), np.add(*made.tallies.votes())
    assert set(beliefs.groups.order.reshape(-1)) == set(range(items))
    assert len(beliefs.groups.ptr) == -(-items // 8) + 1
    for j in range(min(items, 50)):
        n, base, noise, popularity = of_item(beliefs, j)
        assert beliefs.means[j] == pytest.approx((n * base).sum() / base.sum())
        assert (np.diff(n) > 0).all()
        # Twenty scales of the noise each way, up to the width of a bin.
        reached = n[base > 1e-100]
        assert reached[0] <= 1.3 * max(C[j] - 40, 0.0) + 0.4
        assert (C[j] + 40) / 1.3 - 0.4 <= reached[-1] <= 1.3 * (C[j] + 40) + 0.4
        assert (noise >= 8 / 0.5**2).all(), "that of S, were A + B without any"
        np.testing.assert_allclose(popularity, np.log1p(n / 12))


def test_neighbours_do_not_widen_what_an_item_s_count_may_be() -> None:
    """Bins far away would explain the sum of a disliked hit, were they let in for a neighbour."""
    found = []
    for counts in ([50, 49, 51, 50, 5000], [50, 5000]):
        votes = np.array(counts) * ONE_VOTE // 2
        beliefs = believe(Tallies(votes, votes, np.full(len(counts), 0.125)), threads=1)
        n, base, noise, _ = of_item(beliefs, 0)
        found.append((n[base > 1e-100], noise[base > 1e-100]))
    for among_equals, beside_a_larger in zip(*found, strict=True):
        np.testing.assert_allclose(among_equals, beside_a_larger)
    assert np.ptp(found[0][0]) < 2 * 20 * 0.25 + 0.3 * 60


def test_beliefs_are_the_same_on_two_threads() -> None:
    one, two = (believe(world(items=9000, epsilon=0.5).tallies, threads) for threads in (1, 2))
    assert len(one.groups.ranges(2)) > 1
    for a, b in zip(one[1:], two[1:], strict=True):
        assert (a == b).all()


def test_a_belief_is_the_noise_s_density_over_a_bin() -> None:
    """Probability, mean and the noise of S, by adding up the density in ten thousand steps."""
    C, s = np.array([3.05, -2.0, 40.0]), np.array([0.5, 2.0, 3.0])
    votes = np.rint(C * ONE_VOTE).astype(np.int64)
    beliefs = believe(Tallies(votes, np.zeros(3, np.int64), 2 * s**2), threads=1)
    edges = bin_edges(float((C + 20 * s).max()), 0.5)
    odds = count_odds(C, s, edges, np.argsort(C))
    for j in range(3):
        n, base, noise, _ = of_item(beliefs, j)
        place = np.searchsorted(edges, n, "right") - 1
        counts = edges[place, None] + np.diff(edges)[place, None] * (np.arange(10_000) + 0.5) / 1e4
        a = np.abs(C[j] - counts) / s[j]
        density = (1 + a) * np.exp(-a)
        expected = odds[place] * density.mean(axis=1)
        base, expected = base / base.sum(), expected / expected.sum()
        likely = base > 1e-6
        np.testing.assert_allclose(base[likely], expected[likely], rtol=1e-3)
        means = (density * counts).sum(axis=1) / density.sum(axis=1)
        np.testing.assert_allclose(n[likely], means[likely], rtol=1e-3)
        # B - A given A + B = x away: even up to x, then exponential.
        x = np.abs(C[j] - n)[likely, None]
        d = np.linspace(0, 60 * s[j] + x[:, 0], 200_001).T
        weight = np.exp(-np.maximum(d - x, 0) / s[j])
        square = 4 * (weight * d**2).sum(axis=1) / weight.sum(axis=1)
        np.testing.assert_allclose(noise[likely], square, rtol=1e-2)


def test_an_item_without_noise_is_exact_beside_noisy_ones() -> None:
    """As in a catalogue that grew: a group may have items whose noise differs by far."""
    C, variance = np.array([0.0, 1.0, 12.0, 2.5, -3.0]), np.array([0, 0, 0, 200.0, 200.0])
    votes = np.rint(C * ONE_VOTE).astype(np.int64)
    tallies = Tallies(np.zeros(5, np.int64), votes, variance)
    np.testing.assert_allclose(believe(tallies, threads=1).means[:3], C[:3], atol=0.02)
    assert np.isfinite(estimate(tallies, STARS, NOTHING, 1.0).item_effects).all()


@pytest.mark.parametrize("level", [-1.2, 0.0, 1.0, 1.8])
def test_the_mean_is_not_drawn_to_the_middle(level: float) -> None:
    effects = world(level=level, rate=20.0).effects()
    assert effects.mean == pytest.approx(3 + level, abs=0.25)


def test_nothing_known_is_the_usual_mean_and_a_doubt_that_says_so() -> None:
    empty = Tallies(*np.zeros((2, 3), np.int64), np.full(3, 1e6))
    effects = estimate(empty, STARS, NOTHING, 1.0)
    assert effects.mean == pytest.approx(3.6, abs=0.15)
    sure = world(epsilon=5.0).effects()
    assert effects.mean_doubt > 0.4 > 0.01 > sure.mean_doubt
    ridges = [(1 / design(e, STARS, NOTHING)[1][0, 0]) ** 2 for e in (effects, sure)]
    assert ridges[0] < 0.5 * ridges[1], "where the mean is in doubt, one's own level counts more"


def test_rare_items_are_not_drawn_to_the_middle() -> None:
    made = world(level=1.5, epsilon=0.3, quality=0.1)
    effects = made.effects()
    rare = made.counts == 0
    assert abs((effects.mean + effects.item_effects)[rare].mean() - 4.5) < 0.15


def test_features_explain_no_more_than_effects_vary() -> None:
    """A film of 1898 among those of our days: the line through the others ends far outside."""
    rng = np.random.default_rng(1)
    year = np.concatenate([rng.normal(1990, 8, 2990), np.full(10, 1700.0)])
    made = world(quality=0.0, level=0.5, epsilon=1.0, rate=20.0)
    tilted = made.counts * 0.02 * (year - 1990)
    tilted[-10:] = 0
    shift = np.rint(tilted / 4 * ONE_VOTE).astype(np.int64)
    tallies = Tallies(
        made.tallies.against - shift, made.tallies.in_favour + shift, made.tallies.noise_variance
    )
    effects = estimate(tallies, STARS, Features({"year": year}, {}, {}), 1.0)
    usual = np.abs(effects.item_effects[:2990])
    assert usual.std() > 0.03, "the year tells something"
    assert np.abs(effects.item_effects[-10:]).max() < np.quantile(usual, 0.99) + 0.3


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_doubts_are_as_large_as_errors(epsilon: float, shared: bool) -> None:
    made = world(epsilon=epsilon, rate=15.0, shared=shared)
    effects = made.effects()
    error = effects.mean + effects.item_effects - (3 + made.deserved)
    share = np.mean(np.abs(error) <= np.sqrt(effects.doubts))
    # 0.68, or more where noise hides how much effects vary: they may be taken to vary more.
    assert 0.6 < share < (0.95 if epsilon == 0.1 else 0.8)
    assert np.mean(np.abs(error) <= 2 * np.sqrt(effects.doubts)) > 0.9
