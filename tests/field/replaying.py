"""A budget that replays: two neighbouring tables, and the same releases seen by both.

On the first table it records what every statistic is, and lets it through. On the second it records
as well, and lets through what the first one let through: so whatever is computed from earlier
releases is the same on both sides, as in the proof, and the difference of each pair of statistics
is what one person, or rating, moves.
"""

from typing import Any, NamedTuple

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
        self.before, self.exact, self.sensitivities, self.shares = before, [], [], []
        self.of_a_step = 0.0

    def spend_sampled(self, what: str, rate: float, steps: int) -> float:
        self.of_a_step = self.left / steps
        super().spend_sampled(what, rate, steps)
        return 1.0

    def release(self, sums: Any, *, sensitivity: float, share: float, what: str) -> Any:
        self.spend(what, sensitivity, share)
        told = self.noisy(sums, sensitivity)
        self.shares[-1] = share
        return told

    def noisy(self, sums: Any, sigma: float) -> Any:
        """Here sigma is the sensitivity: of gradients, too, whose noise is one."""
        self.exact.append(np.array(sums, dtype=np.float64))
        self.sensitivities.append(sigma)
        self.shares.append(self.of_a_step)
        told = self.exact if self.before is None else self.before
        return told[len(self.exact) - 1].copy()


def statistics(scheme: FieldScheme, table: Any, before: list[Any] | None = None) -> ReplayingBudget:
    """All that a fit releases of a table."""
    budget = ReplayingBudget(before)
    run = Run(budget.randomness, Compute(threads=1))
    certificate = scheme.certificate(PrivacySpec.uniform(1.0), 1.0, budget.randomness)
    scheme.learn(table, budget, certificate, run)
    return budget


class Move(NamedTuple):
    """One statistic on two neighbouring tables."""

    far: float
    """How far it moved (L2)."""
    most: float
    """How far it may."""
    share: float
    """Of mu^2, that its noise was made for."""


def moves(scheme: FieldScheme, table: Any, without: Any) -> list[Move]:
    """Every release of a fit."""
    one = statistics(scheme, table)
    other = statistics(scheme, without, one.exact)
    columns = zip(one.exact, other.exact, one.sensitivities, one.shares, strict=True)
    return [Move(packed_distance(a, b), most, share) for a, b, most, share in columns]


def spent(found: list[Move]) -> float:
    """All of a fit in shares of mu^2: noise D/(mu sqrt(s)) on what moved by m is (m/D)^2 s of it.

    Statistics that share the noise of one step are in it together, as in the proof.
    """
    return sum((move.far / move.most) ** 2 * move.share for move in found)


def packed_distance(a: Any, b: Any) -> float:
    return float(np.sqrt(((a - b) ** 2).sum()))
