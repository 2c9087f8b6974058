"""docs/proofs/printed-guarantee.md: the counterexample, in numbers and in the code itself."""

import numpy as np
import pytest

from discreet.kernels.least_squares import solve_ridge
from discreet.privacy.noise import Randomness

EPSILON, LAMBDA, RATING, LARGEST = 0.5, 0.01, 4.0, 5.0


def log_ratio(v: float) -> float:
    jacobian = np.log((1 + LAMBDA) / LAMBDA)
    return jacobian + EPSILON / LARGEST * (LAMBDA * abs(v) - abs(RATING - (1 + LAMBDA) * v))


def test_the_stated_mechanism_loses_far_more_than_it_claims() -> None:
    assert log_ratio(RATING / (1 + LAMBDA)) > 4.6 > 9 * EPSILON
    assert log_ratio(1e4) < -100 * EPSILON  # and without bound in the other direction


def minimisers(with_record: bool, eta: np.ndarray) -> np.ndarray:
    """The exact solve of `stated`, once for every noise number: one item, one person, u = 1."""
    count = len(eta) if with_record else 0
    ptr = np.arange(len(eta) + 1) if with_record else np.zeros(len(eta) + 1, dtype=np.int64)
    out = np.empty((len(eta), 1))
    solve_ridge(
        0, len(eta), ptr, np.zeros(count, np.int32), np.full(count, RATING), np.ones((1, 1)),
        LAMBDA, 0.0, eta, out,
    )  # fmt: skip
    return out[:, 0]


def test_the_code_s_own_outputs_show_it() -> None:
    """An event near r/(1 + lambda): its odds must be within e^0.5, and are not within e^3."""
    eta = Randomness(1).spherical(40_000, 1, LARGEST / EPSILON)
    near = RATING / (1 + LAMBDA)
    odds = [np.mean(np.abs(minimisers(w, eta) - near) < 2.0) for w in (True, False)]
    assert np.log(odds[0] / odds[1]) > 3.0


def test_two_printed_steps_have_tails_that_no_small_epsilon_allows() -> None:
    """The limit of the density ratio is (1 - a^2)/(1 - b^2), whatever the noise."""
    gamma = 0.5
    a, b = 1 - gamma * (1 + LAMBDA), 1 - gamma * LAMBDA

    def tail(shrink: float, x: float) -> float:
        # The density of L1 + shrink L2 for standard Laplace numbers, up to a common factor.
        return (np.exp(-x) - shrink * np.exp(-x / shrink)) / (1 - shrink**2)

    assert np.log(tail(b, 2000.0 / 3) / tail(a, 2000.0 / 3)) == pytest.approx(
        np.log((1 - a**2) / (1 - b**2)), rel=0.05
    )
    assert (1 - a**2) / (1 - b**2) == pytest.approx(76, abs=1)
