"""docs/proofs/margins.md in exact arithmetic: weights, people, coins, accounting, the ledger."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.accounting import delta_at_most, gaussian_mu, gaussian_weights
from discreet.privacy.fixedpoint import BUDGET_SHAVE, ONE_VOTE
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import (
    inclusion_probability,
    keep_records,
    share_among_own,
    weigh,
)
from tests.conftest import random_ratings

mp.mp.dps = 60
LEVELS = st.floats(1e-9, 200)
COINS = 2**52


def just_below(exact: Any) -> float:
    """The largest float below an exact number: where rounding up does the most harm."""
    found = float(exact)
    while mp.mpf(found) >= exact:
        found = math.nextafter(found, 0.0)
    return found


@pytest.mark.parametrize(
    ("computed", "exact", "lo", "hi", "ulps"),
    [
        (np.exp, mp.exp, -40, 0, 4),
        (np.expm1, mp.expm1, -100, -1e-9, 4),
        (np.sqrt, mp.sqrt, 1, 1e9, 4),
        (math.erfc, mp.erfc, -6, 20, 8),
        (math.exp, mp.exp, -600, 130, 4),
        (math.log, mp.log, 1e-9, 1, 4),
    ],
)
def test_functions_err_by_no_more_than_is_assumed(
    computed: Callable[[Any], Any], exact: Callable[[Any], Any], lo: float, hi: float, ulps: int
) -> None:
    """#what-is-assumed, measured on this machine at 500 points, in ulps."""
    rng = np.random.default_rng(0)
    x = rng.uniform(lo, hi, 500)
    found = [
        float(v) for v in (computed(x) if isinstance(computed, np.ufunc) else map(computed, x))
    ]
    for point, value in zip(x, found, strict=True):
        true = exact(mp.mpf(float(point)))
        assert abs(mp.mpf(value) / true - 1) <= ulps * mp.mpf(2) ** -52


@given(LEVELS, LEVELS, st.integers(1, ONE_VOTE))
def test_a_weight_is_never_above_its_level_s_share(epsilon: float, t: float, step: int) -> None:
    """#weights: W <= N min(1, eps/t), also where eps lies just below a multiple of t/N."""
    close = just_below(mp.mpf(step) * mp.mpf(t) / ONE_VOTE)
    for level in (epsilon, close, t, math.nextafter(t, 0.0)):
        weight = int(weigh(np.array([level]), t)[0])
        assert Fraction(weight, ONE_VOTE) <= min(Fraction(1), Fraction(level) / Fraction(t))
    assert weigh(np.array([t]), t)[0] == ONE_VOTE


@given(st.integers(1, 40), st.integers(1, ONE_VOTE), st.floats(0.01, 50), st.sampled_from([1, 2]))
def test_a_person_s_weights_never_exceed_the_person_s_share(
    n: int, step: int, t: float, norm: int
) -> None:
    """#people: n W <= N V omega, or n W^2 <= (N V omega)^2, as integers."""
    votes = 256 if norm == 1 else 16
    # A level for which N V omega/n^(1/norm) lies just below a whole number.
    ratio = mp.mpf(step) * mp.root(n, norm) / ONE_VOTE / votes
    level = just_below(min(ratio, mp.mpf(1)) * mp.mpf(t))
    ratings = random_ratings(1, n, n, seed=0)
    omega = np.minimum(1.0, np.full(n, level) / t)
    weights = share_among_own(ratings, omega, votes, norm)
    exact = votes * ONE_VOTE * min(Fraction(1), Fraction(level) / Fraction(t))
    assert sum(int(w) ** norm for w in weights) <= exact**norm


def inclusions(t: float) -> tuple[list[int], list[float]]:
    """Levels for which pi lies just below k/2^52: k and the level of each."""
    top = mp.expm1(mp.mpf(t))
    ks = sorted({*range(1, 60), *(2**j - 1 for j in range(6, 53))})
    return ks, [just_below(mp.log1p(mp.mpf(k) / COINS * top)) for k in ks]


@pytest.mark.parametrize("t", [0.1, 1.0, 5.3, 20.0, 33.0, 33.7, 36.5, 40.0, 100.0, 128.0])
def test_a_coin_never_keeps_a_record_too_often(t: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """#coins: of 2^52 coins at most 2^52 pi keep a record, for the exact pi."""
    ks, levels = inclusions(t)
    ratings = random_ratings(len(ks), 1, len(ks), seed=0)
    coins = (np.array(ks) - 1.0) * 2.0**-52
    monkeypatch.setattr(
        "discreet.privacy.personalise.pair_uniforms", lambda *_, **__: coins[:, None]
    )
    kept = keep_records(ratings, inclusion_probability(np.array(levels), t), Randomness(0))
    # pi < k/2^52, so coin k - 1, of which there are k up to it, must not keep it.
    assert not kept.any()


def test_only_a_level_of_t_is_certain_to_be_kept() -> None:
    """#coins: an exact pi below 1 is not answered as 1."""
    for t in np.random.default_rng(0).uniform(0.01, 3, 2000):
        near = inclusion_probability(np.array([math.nextafter(t, 0.0), t]), t)
        assert near[0] < 1 == near[1]


def tail(x: Any) -> Any:
    """P(N > x)."""
    return mp.erfc(x / mp.sqrt(2)) / 2


def exact_delta(mu: float, epsilon: Any) -> Any:
    m, e = mp.mpf(mu), mp.mpf(epsilon)
    return tail(e / m - m / 2) - mp.exp(e) * tail(e / m + m / 2)


EPSILONS = [1e-200, 1e-30, 1e-12, 1e-7, 1e-4, 0.01, 0.1, 0.65, 1.0, 4.0, 20.0, 128.0, 1e3, 1e6]
DELTAS = [1e-280, 1e-100, 1e-30, 1e-14, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999, 0.999999]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_mu_keeps_what_is_set_aside_in_sixty_digits(epsilon: float) -> None:
    """#gaussian-accounting: delta(mu, (1 - 2^-36) eps) <= (1 - 2^-36) delta, always."""
    left = 1 - mp.mpf(BUDGET_SHAVE) + mp.mpf(2) ** -53
    with mp.workdps(400):
        for delta in DELTAS:
            mu = gaussian_mu(epsilon, delta)
            assert mu > 0
            assert exact_delta(mu, left * mp.mpf(epsilon)) <= left * mp.mpf(delta)


@pytest.mark.parametrize("epsilon", [e for e in EPSILONS if 1e-4 <= e <= 20])
def test_hardly_any_of_a_budget_is_wasted(epsilon: float) -> None:
    """A mu larger by one part in 10^6 would cost more than delta."""
    for delta in (1e-30, 1e-9, 1e-6, 1e-3, 0.1):
        more = gaussian_mu(epsilon, delta) * (1 + 1e-6)
        assert exact_delta(more, mp.mpf(epsilon)) > mp.mpf(delta)


@given(st.floats(-15, 1.2), st.floats(-9, 2.1))
def test_the_check_of_mu_is_an_upper_bound(mu_power: float, epsilon_power: float) -> None:
    """#gaussian-accounting: delta_at_most errs to one side only."""
    mu, epsilon = 10**mu_power, 10**epsilon_power
    true = exact_delta(mu, epsilon)
    assert delta_at_most(mu, epsilon) >= true
    assert delta_at_most(mu, epsilon) <= true * (1 + mp.mpf(1e-9)) + mp.mpf(1e-12)


@pytest.mark.parametrize("t", [0.1, 0.65, 1.3, 100.0])
def test_a_weight_is_that_of_a_level_not_above(t: float) -> None:
    """#gaussian-accounting: the grid point a weight is taken from is at most the level."""
    delta, grid = 1e-6, t * np.arange(2049) / 2048
    levels = np.concatenate([np.nextafter(grid[1:], 0.0), grid, np.nextafter(grid, np.inf)])
    weights = gaussian_weights(levels, t, delta)
    mus = [Fraction(gaussian_mu(level, delta)) for level in grid]
    for place, weight in zip(np.searchsorted(grid, levels, "right") - 1, weights, strict=True):
        # The quotient of the two is rounded once: the shaves of those who use it cover that.
        assert Fraction(weight) * mus[-1] <= mus[place] * (1 + Fraction(1, 2**53))


@given(st.lists(st.floats(1e-3, 8.0), min_size=1, max_size=60), st.floats(0.05, 8.0))
def test_what_a_pair_spends_over_time_never_exceeds_its_largest_level(
    levels: list[float], t: float
) -> None:
    """#the-ledger: exact sums of what was allowed, however often the level is raised."""
    spent, exact = Spends.none(1), Fraction(0)
    for level in sorted(levels):
        costs = spent.undivided(np.array([level]), t)
        exact += Fraction(float(costs.epsilon[0]))
        spent = spent.after(costs)
        assert exact <= Fraction(float(spent.level[0]))


def test_an_undivided_delta_is_spent_once() -> None:
    spent, level = Spends.none(1), np.array([0.5])
    for number in range(3):
        costs = spent.undivided(level * (1 + number), 4.0, delta=1e-6)
        assert (costs.delta[0], costs.epsilon[0] > 0) == (
            (1e-6, True) if number == 0 else (0, False)
        )
        spent = spent.after(costs)
