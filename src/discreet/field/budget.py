"""One budget in Gaussian differential privacy, from which every release of a fit is drawn.

Noise of deviation sigma on a statistic that a unit of protection moves by D (L2) is D/sigma-GDP;
of several releases, also of those chosen after seeing earlier ones, the squares of mu add up. So a
release that takes a share s of the budget has mu_k = mu sqrt(s), and shares must not exceed one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from discreet.arrays import Array, Floats
from discreet.errors import MissingExtraError, ParameterError
from discreet.privacy.accounting import usable_mu
from discreet.privacy.noise import Randomness

_ROUNDING = 1e-9
"""What shares that are meant to add up to one may exceed it by, as floating-point numbers."""
_STEPS = 1 << 24
"""Steps of the grid of a noisy statistic in one deviation of its noise."""
_BISECTIONS, _MOST_NOISE = 10, 1e6
"""Steps towards the least noise, which is then known to a thousandth; where the search ends."""


class Spent(NamedTuple):
    """One release: what it was of, and what it cost."""

    what: str
    sensitivity: float
    share: float
    """Of mu^2."""


@dataclass
class GaussianBudget:
    """mu for everything that a fit releases; whoever asks for more than is left gets an error.

    >>> budget = GaussianBudget.of(1.0, 1e-5, Randomness(0))
    >>> _ = budget.release(np.zeros(3), sensitivity=1.0, share=0.75, what="counts")
    >>> budget.left
    0.25
    """

    mu: float
    """Infinite where there is no noise: the plain method, which protects nobody."""
    randomness: Randomness
    promised: tuple[float, float] = (math.inf, 0.0)
    """epsilon and delta, that mu is worth."""
    spent: list[Spent] = field(default_factory=list)

    @classmethod
    def of(cls, epsilon: float, delta: float, randomness: Randomness) -> GaussianBudget:
        """What (epsilon, delta) is worth, by the exact trade-off curve of the Gaussian."""
        return cls(usable_mu(epsilon, delta), randomness, (epsilon, delta))

    @classmethod
    def unlimited(cls, randomness: Randomness) -> GaussianBudget:
        """No noise at all."""
        return cls(math.inf, randomness)

    @property
    def left(self) -> float:
        """The share of mu^2 that is not spent."""
        return 1.0 - math.fsum(one.share for one in self.spent)

    def deviation(self, sensitivity: float, share: float) -> float:
        """sigma = D / (mu sqrt(s))."""
        return 0.0 if math.isinf(self.mu) else sensitivity / (self.mu * math.sqrt(share))

    def spend(self, what: str, sensitivity: float, share: float) -> float:
        """Note a release, and return the deviation of its noise."""
        if not (share > 0 and sensitivity > 0):
            raise ParameterError(f"{what} needs a share and a sensitivity > 0: got {share!r}")
        if share > self.left + _ROUNDING:
            raise ParameterError(
                f"{what} asks for {share:g} of the budget, of which {max(self.left, 0):g} is left: "
                "the shares of all releases must add up to at most 1"
            )
        self.spent.append(Spent(what, sensitivity, share))
        return self.deviation(sensitivity, share)

    def spend_sampled(self, what: str, rate: float, steps: int) -> float:
        """All that is left, for steps that each see a Poisson sample of the units: sigma / D.

        With a rate of 1 every step is a Gaussian release. Below, samples amplify: all of it is
        composed as privacy loss distributions (dp_accounting), with what was released before.
        """
        share = self.left
        if rate >= 1 or math.isinf(self.mu):
            for _ in range(steps):
                sigma = self.spend(what, 1.0, share / steps)
            return sigma
        before = self.mu * math.sqrt(max(1 - share, 0.0))
        sigma = sampled_deviation(*self.promised, before, rate, steps)
        self.spent.append(Spent(what, 1.0, share))
        return sigma

    def release(self, sums: Array, *, sensitivity: float, share: float, what: str) -> Floats:
        """The statistic with Gaussian noise, for this share of mu^2."""
        return self.noisy(sums, self.spend(what, sensitivity, share))

    def noisy(self, sums: Array, sigma: float) -> Floats:
        """With noise of a deviation that was paid for: all that leaves of a fit comes from here."""
        return add_noise(sums, sigma, self.randomness)


@lru_cache(maxsize=4096)
def sampled_deviation(
    epsilon: float, delta: float, before: float, rate: float, steps: int
) -> float:
    """The least noise for steps on Poisson samples, beside releases that were `before`-GDP.

    Rounded up by bisection; what it answers has been composed and found within.
    """
    low, high = 0.0, 1.0
    while _composed(delta, before, rate, steps, high) > epsilon:
        low, high = high, 2 * high
        if high > _MOST_NOISE:
            raise ParameterError(f"nothing is left of epsilon = {epsilon:g} for {steps} steps")
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        inside = middle > 0 and _composed(delta, before, rate, steps, middle) <= epsilon
        low, high = (low, middle) if inside else (middle, high)
    return high


def _composed(delta: float, before: float, rate: float, steps: int, sigma: float) -> float:
    """The epsilon of it all, by dp_accounting's privacy loss distributions: pessimistic."""
    try:
        import dp_accounting
        from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
    except ImportError:
        raise MissingExtraError(
            "steps on samples need dp_accounting: pip install 'discreet[field]', or rate=1"
        ) from None
    accountant = PLDAccountant(value_discretization_interval=1e-3)
    if before > 0:
        accountant.compose(dp_accounting.GaussianDpEvent(1 / before))
    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
    accountant.compose(step, steps)
    return float(accountant.get_epsilon(delta))


def add_noise(sums: Array, sigma: float, randomness: Randomness) -> Floats:
    """sums + sigma N on a grid of sigma/2^24, whose numbers the exact sampler can add to."""
    if sigma == 0:
        return np.array(sums, dtype=np.float64)
    step = sigma / _STEPS
    steps = np.rint(np.asarray(sums, dtype=np.float64) / step).astype(np.int64)
    return np.asarray(randomness.add_gaussian(steps, float(_STEPS)) * step, dtype=np.float64)
