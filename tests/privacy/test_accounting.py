"""Gaussian accounting, against scipy and against dp_accounting."""

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import ParameterError
from discreet.privacy.accounting import gaussian_delta, gaussian_mu, gaussian_weights


@given(st.floats(0.01, 5), st.floats(0.01, 20))
def test_the_trade_off_curve_is_the_gaussian_s(mu: float, epsilon: float) -> None:
    upper = stats.norm.cdf(-epsilon / mu + mu / 2)
    lower = np.exp(epsilon + stats.norm.logcdf(-epsilon / mu - mu / 2))
    assert gaussian_delta(mu, epsilon) == pytest.approx(max(upper - lower, 0), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("epsilon", [0.05, 0.4, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_mu_is_the_largest_that_dp_accounting_allows(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    # A mu-GDP mechanism is Gaussian noise of deviation 1/mu on a sensitivity of 1.
    loss = GaussianPrivacyLoss(1 / mu).get_delta_for_epsilon(epsilon)
    assert loss <= delta
    more = GaussianPrivacyLoss(1 / (1.001 * mu)).get_delta_for_epsilon(epsilon)
    assert more > delta * 0.999


def test_weights_never_cost_more_than_their_level() -> None:
    rng = np.random.default_rng(0)
    levels = np.append(rng.uniform(0.001, 1.2, 300), [1.0, 0.5, 1e-9])
    weights = gaussian_weights(levels, 1.0, 1e-7)
    top = gaussian_mu(1.0, 1e-7)
    for level, weight in zip(levels, weights, strict=True):
        assert weight * top <= gaussian_mu(min(level, 1.0), 1e-7) * (1 + 1e-12)
    assert weights[levels >= 1.0].min() == 1.0
    assert weights[-1] == 0.0
    near = np.abs(weights[:300] - [gaussian_mu(min(x, 1.0), 1e-7) / top for x in levels[:300]])
    assert near.max() < 1e-3


def test_a_delta_outside_its_range_is_named() -> None:
    for delta in (0.0, 1.0, -1e-9):
        with pytest.raises(ParameterError, match="delta must be between 0 and 1"):
            gaussian_mu(1.0, delta)
    assert gaussian_mu(0.0, 1e-6) == 0.0 < gaussian_mu(1e-8, 1e-6)
