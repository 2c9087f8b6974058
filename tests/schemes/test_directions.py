"""Chorus after the noise: empirical Bayes against its plain form."""

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.schemes import directions


def plain(
    X: NDArray[np.float64], R: NDArray[np.float64], Omega: NDArray[np.float64]
) -> NDArray[np.float64]:
    """EM with every item's own noise: X_j ~ N(0, Omega) + N(0, R_j I)."""
    for _ in range(directions._EM_STEPS):
        total = np.zeros_like(Omega)
        for x, r in zip(X, R, strict=True):
            gain = Omega @ np.linalg.inv(Omega + r * np.eye(len(Omega)))
            mean = gain @ x
            total += np.outer(mean, mean) + Omega - gain @ Omega
        Omega = total / len(X)
    return Omega


def rows(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(5)
    R = 1 / np.exp(rng.normal(3, 2, count))
    spread = np.array([[1.0, 0.3, 0.0], [0.3, 0.4, 0.1], [0.0, 0.1, 0.05]])
    true = rng.multivariate_normal(np.zeros(3), spread, count)
    return true + np.sqrt(R)[:, None] * rng.standard_normal((count, 3)), R


def test_with_as_many_groups_as_items_it_is_plain_em() -> None:
    X, R = rows(60)
    assert directions._NOISE_GROUPS >= 60
    found = directions._spread(X, R, np.eye(3))
    np.testing.assert_allclose(found, plain(X, R, np.eye(3)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("count", [500, 1500])
def test_groups_of_items_with_like_noise_change_little(count: int) -> None:
    X, R = rows(count)
    found, exact = directions._spread(X, R, np.eye(3)), plain(X, R, np.eye(3))
    assert np.abs(found - exact).max() < 2e-3 * np.abs(exact).max()
