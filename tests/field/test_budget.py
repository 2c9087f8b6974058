import math

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.field.budget import GaussianBudget, add_noise, sampled_deviation
from discreet.privacy.accounting import gaussian_delta, gaussian_epsilon
from discreet.privacy.noise import Randomness


def test_releases_together_cost_what_was_promised_and_not_more():
    budget = GaussianBudget.of(1.0, 1e-5, Randomness(0))
    for share in (0.2, 0.5, 0.3):
        budget.release(np.zeros(2), sensitivity=3.0, share=share, what="sums")
    mu = math.sqrt(
        sum((one.sensitivity / budget.deviation(3.0, one.share)) ** 2 for one in budget.spent)
    )
    assert gaussian_delta(mu, 1.0) <= 1e-5
    assert gaussian_epsilon(mu, 1e-5) > 0.99  # and nothing was left unused


def test_who_asks_for_more_than_is_left_is_refused():
    budget = GaussianBudget.of(1.0, 1e-5, Randomness(0))
    budget.release(np.zeros(2), sensitivity=1.0, share=0.7, what="sums")
    with pytest.raises(ParameterError, match=r"asks for 0\.4 of the budget"):
        budget.release(np.zeros(2), sensitivity=1.0, share=0.4, what="more sums")


def test_without_a_limit_there_is_no_noise():
    sums = np.random.default_rng(0).standard_normal(5)
    budget = GaussianBudget.unlimited(Randomness(0))
    assert (budget.release(sums, sensitivity=1.0, share=1.0, what="sums") == sums).all()


def test_noise_has_the_deviation_that_was_paid_for():
    """Of 40,000 numbers the deviation is known to 0.4%: five of those, once in a million."""
    noisy = add_noise(np.full(40_000, 17.0), 2.5, Randomness(1))
    assert abs(noisy.std() / 2.5 - 1) < 0.02
    assert abs(noisy.mean() - 17) < 5 * 2.5 / 200


def test_steps_on_samples_need_less_noise_than_steps_on_all_and_enough():
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

    before, rate, steps = 0.2, 0.3, 10
    sigma = sampled_deviation(1.0, 1e-5, before, rate, steps)
    budget = GaussianBudget.of(1.0, 1e-5, Randomness(0))
    assert sigma < math.sqrt(steps / (budget.mu**2 - before**2))
    accountant = PLDAccountant()
    accountant.compose(accounting.GaussianDpEvent(1 / before))
    step = accounting.PoissonSampledDpEvent(rate, accounting.GaussianDpEvent(sigma))
    accountant.compose(step, steps)
    assert accountant.get_epsilon(1e-5) <= 1.0 + 1e-9


def test_steps_on_everybody_are_plain_gaussian_releases():
    budget = GaussianBudget.of(2.0, 1e-5, Randomness(0))
    budget.release(np.zeros(1), sensitivity=1.0, share=0.25, what="votes")
    sigma = budget.spend_sampled("gradients", 1.0, 4)
    assert sigma == pytest.approx(2 / (budget.mu * math.sqrt(0.75)))
    assert budget.left == pytest.approx(0.0)
