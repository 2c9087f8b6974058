"""A budget that replays: two neighbouring tables, and the same releases seen by both.

On the first table it records what every statistic is, and lets it through. On the second it records
as well, and lets through what the first one let through: so whatever is computed from earlier
releases is the same on both sides, as in the proof, and the difference of each pair of statistics
is what one person, or rating, moves.
"""

from typing import Any

import numpy as np

from discreet.field.base import FieldScheme
from discreet.field.budget import GaussianBudget
from discreet.kernels.compute import Compute
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.base import Run


class ReplayingBudget(GaussianBudget):
    def __init__(self, before: list[Any] | None = None) -> None:
        super().__init__(1.0, Randomness(0))
        self.before, self.exact, self.sensitivities = before, [], []

    def spend_sampled(self, what: str, rate: float, steps: int) -> float:
        super().spend_sampled(what, rate, steps)
        return 1.0

    def release(self, sums: Any, *, sensitivity: float, share: float, what: str) -> Any:
        self.spend(what, sensitivity, share)
        return self.noisy(sums, sensitivity)

    def noisy(self, sums: Any, sigma: float) -> Any:
        """Here sigma is the sensitivity: of gradients, too, whose noise is one."""
        self.exact.append(np.array(sums, dtype=np.float64))
        self.sensitivities.append(sigma)
        told = self.exact if self.before is None else self.before
        return told[len(self.exact) - 1].copy()


def statistics(scheme: FieldScheme, table: Any, before: list[Any] | None = None) -> ReplayingBudget:
    """All that a fit releases of a table."""
    budget = ReplayingBudget(before)
    run = Run(budget.randomness, Compute(threads=1))
    certificate = scheme.certificate(PrivacySpec.uniform(1.0), 1.0, budget.randomness)
    scheme.learn(table, budget, certificate, run)
    return budget


def moves(scheme: FieldScheme, table: Any, without: Any) -> list[tuple[float, float]]:
    """For every release how far it moved (L2), and how far it may."""
    one = statistics(scheme, table)
    other = statistics(scheme, without, one.exact)
    pairs = zip(one.exact, other.exact, one.sensitivities, strict=True)
    return [(packed_distance(a, b), most) for a, b, most in pairs]


def packed_distance(a: Any, b: Any) -> float:
    return float(np.sqrt(((a - b) ** 2).sum()))
