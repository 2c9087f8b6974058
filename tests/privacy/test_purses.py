"""Two purses: docs/proofs/incremental.md, over many random histories of pairs."""

import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import LedgerError, ParameterError
from discreet.privacy.accounting import gaussian_mu
from discreet.privacy.fixedpoint import BUDGET_SHAVE, LARGEST_SHARE, LEDGER_SHAVE, MU_SHAVE
from discreet.privacy.lifetime import Costs, Spends
from discreet.privacy.purses import PURE_SHARE, Division, divide, told
from tests.privacy.histories import random_lives

ROUNDED = 1e-9
"""More than the curve errs by in 64 bits; what is wrong exceeds it by far more."""
HISTORIES = int(os.environ.get("DISCREET_HISTORIES", "20000"))
SCHEDULES = 40


def test_no_history_costs_a_pair_more_than_its_level_and_delta() -> None:
    """DISCREET_HISTORIES sets how many pairs live (20,000 by default), under 40 schedules."""
    first = int(np.random.SeedSequence().entropy) % 2**31 * SCHEDULES  # type: ignore[operator]
    worst, full = -np.inf, 0
    for seed in range(first, first + SCHEDULES):
        lives = random_lives(seed, HISTORIES // SCHEDULES)
        excess = lives.excess()
        assert excess.max() <= ROUNDED, f"seed {seed}: {excess.max()}"
        worst, full = max(worst, excess.max()), full + int((excess > -0.02).sum())
    # And no idle bound: many a pair comes to the end of its purses.
    assert full > HISTORIES / 100
    print(f"{HISTORIES} histories, {full} with their purses spent; worst excess {worst:.3g}")


def forgotten(spends: Spends) -> Spends:
    return spends._replace(mu2=np.zeros_like(spends.mu2))


def undivided_forgotten(spends: Spends) -> Spends:
    return spends._replace(epsilon=np.zeros_like(spends.epsilon))


def delta_forgotten(spends: Spends) -> Spends:
    return spends._replace(delta=np.zeros_like(spends.delta))


@pytest.mark.parametrize("forget", [forgotten, undivided_forgotten, delta_forgotten])
def test_a_ledger_that_forgets_is_found(
    forget: Callable[[Spends], Spends], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Division.allowed

    def allowed(self: Division, levels: np.ndarray, spends: Spends) -> Costs:
        return own(self, levels, forget(spends))

    monkeypatch.setattr(Division, "allowed", allowed)
    assert any(random_lives(seed, 50).excess().max() > ROUNDED for seed in range(0, 40, 4))


def test_a_share_that_changes_is_found() -> None:
    """Why A is declared once: pure losses at 0.6 and rounds at 0.3 come to 1.3 of a level."""
    spent, level = Spends.none(1), np.array([1.0])
    for share in (0.3, 0.6):
        division = Division(share=share, t=1.0, delta=1e-6)
        spent = spent.after(division.allowed(level, spent))
    assert told(spent, 1e-6).epsilon > 1.2
    with pytest.raises(LedgerError, match=r"divided with a pure share of 0\.3, for its whole life"):
        divide(t=1.0, delta=1e-6, publications=2, share=0.3, wanted=0.6)
    with pytest.raises(ParameterError, match=r"pure_share must be from 0\.01"):
        divide(t=1.0, delta=1e-6, publications=2, share=None, wanted=1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12, 100, 365])
@pytest.mark.parametrize("delta", [1e-11, 1e-8])
def test_a_rating_takes_part_as_often_as_declared_and_no_more(n: int, delta: float) -> None:
    division, level = Division(share=0.3, t=1.0, delta=delta, publications=n), np.array([0.8])
    spent = Spends.none(1)
    pure, mu2 = division.purses(level, spent)
    for number in range(n + 3):
        costs = division.allowed(level, spent)
        assert costs.pure[0] == (pure[0] if number == 0 else 0)
        # Rounding may leave the last of many parts a hair.
        assert (costs.mu2[0] > 1e-6 * mu2[0] / n) == (number < n)
        spent = spent.after(costs)
    assert spent.pure[0] == pytest.approx(0.3 * 0.8)
    assert spent.mu2[0] == pytest.approx(gaussian_mu(0.7 * 0.8, delta) ** 2, rel=2e-3)


def test_noise_grows_with_the_root_of_the_number_of_publications() -> None:
    whole, parts = (Division(share=0.3, t=1.0, delta=1e-8, publications=n) for n in (1, 12))
    assert whole.mu / parts.mu == pytest.approx(12**0.5)
    level, nothing = np.array([0.1, 0.5, 1.0, 3.0]), Spends.none(4)
    weights = [d.weights(d.allowed(level, nothing).mu2) for d in (whole, parts)]
    np.testing.assert_allclose(*weights)
    assert weights[0][2:] == pytest.approx([1.0, 1.0])


def test_the_pure_purse_is_spent_at_once_and_a_raised_level_adds_the_difference() -> None:
    division = Division(share=0.5, t=1.0, delta=1e-6, publications=5)
    spent, parts = Spends.none(1), []
    for level in (0.4, 0.4, 1.0, 0.2, 1.0):
        costs = division.allowed(np.array([level]), spent)
        parts.append(costs.pure[0])
        spent = spent.after(costs)
    np.testing.assert_allclose(parts, [0.2, 0, 0.3, 0, 0], atol=1e-9)
    assert (np.array(parts)[[1, 3, 4]] == 0).all()


def test_what_was_spent_before_the_division_is_taken_off_first() -> None:
    level, spent = np.array([1.0, 1.0, 1.0]), Spends.none(3)
    spent = spent.after(
        Costs.of(level, epsilon=np.array([0.0, 0.4, 1.0]), delta=np.array([0.0, 2.5e-7, 1e-6]))
    )
    division = Division(share=0.3, t=1.0, delta=1e-6)
    pure, mu2 = division.purses(level, spent)
    np.testing.assert_allclose(pure, [0.3, 0.18, 0.0], atol=1e-9)
    expected = [gaussian_mu(0.7, 1e-6), gaussian_mu(0.42, 7.5e-7), 0.0]
    np.testing.assert_allclose(np.sqrt(mu2), expected, rtol=1e-3, atol=1e-12)
    assert Division(share=0.3, t=1.0, delta=1e-7).purses(level, spent)[1][1] == 0


def test_a_ledger_is_divided_by_the_first_who_publishes_in_parts() -> None:
    given = {"t": 1.0, "delta": 1e-6}
    assert divide(**given, publications=1, share=None) is None
    for n, share, wanted, found in (
        (2, None, None, PURE_SHARE), (1, 0.2, None, 0.2), (3, None, 0.4, 0.4), (1, None, 0.4, 0.4),
    ):  # fmt: skip
        made = divide(**given, publications=n, share=share, wanted=wanted)
        assert made is not None
        assert made.share == found


def test_the_margins_of_the_purses_are_enough() -> None:
    """margins.md, the purses: 8,000 publications of one pair that count it, 20,000 that hear it."""
    u = Fraction(1, 2**53)
    pure, gaussian = (1 - Fraction(LEDGER_SHAVE) + (k + 4) * u for k in (8_000, 20_000))
    assert pure <= 1
    assert (1 - Fraction(MU_SHAVE)) ** 2 * (1 + 12 * u) * max(gaussian, 1) <= 1
    least = 1 - Fraction(LARGEST_SHARE)
    assert Fraction(LARGEST_SHARE) * (1 + 3 * u) + least * (1 - Fraction(BUDGET_SHAVE) + 4 * u) <= 1
