"""Lifetime budgets: what a pair of user and item has spent, and what it may spend next.

A rating's level is an epsilon for all releases together. Each release that uses the rating spends
some of it; when nothing is left, the rating is not used any more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.privacy.fixedpoint import LEDGER_SHAVE, MOST_PARTS, ROUNDING

SPEND_COLUMNS: dict[str, type[pl.DataType]] = {
    "h1": pl.Int64,
    "h2": pl.Int64,
    "level": pl.Float64,
    "spent": pl.Float64,
    "delta": pl.Float64,
}
"""How every ledger keeps its spends: a pair's two hashes, and the numbers of `Spends`."""


class Spends(NamedTuple):
    """What the pair of each record of a table has spent so far, and the level it was counted at."""

    level: Floats
    epsilon: Floats
    delta: Floats

    def remaining(self, levels: Floats) -> Floats:
        """What each record may still spend of its level, at least 0.

        >>> spent = Spends(*np.array([[1.0, 1.0], [0.4, 1.0], [0.0, 0.0]]))
        >>> spent.remaining(np.array([1.0, 1.0])).round(6).tolist()
        [0.6, 0.0]
        """
        # The ledger's sums are rounded: a pair that has spent before leaves a hair untouched.
        whole = np.where(self.epsilon > 0, levels * (1 - LEDGER_SHAVE), levels)
        return np.maximum(whole - self.epsilon, 0.0)

    def raised(self, levels: Floats) -> NDArray[np.bool_]:
        """Whether a record is new, or its level is above that at which its pair was counted."""
        return levels > self.level

    def allowance(
        self, levels: Floats, t: float, *, publications: int = 1, delta: float = 0.0
    ) -> Floats:
        """What each record may spend in the next publication: docs/proofs/incremental.md.

        e = min(epsilon - spent, min(epsilon, t)/n), if another n-th of a lifetime's delta fits;
        with n = 1 only if the pair is new or its level was raised. It depends on the record's own
        pair alone.
        """
        # Never more than the ledger is told: a level above t would otherwise get more in tallies,
        # which count in shares of a lifetime's.
        part = np.minimum(self.remaining(levels), np.minimum(levels, t) / publications)
        if publications == 1:
            part = np.where(self.raised(levels), part, 0.0)
        if delta > 0:
            # Parts of delta add up to delta but for rounding; each has set aside more.
            most = delta * (1 + min(publications, MOST_PARTS) * ROUNDING)
            part = np.where(self.delta + delta / publications <= most, part, 0.0)
        return part


class Costs(NamedTuple):
    """What a release costs the pair of each record of a table, and the level it is counted at."""

    level: Floats
    epsilon: Floats
    delta: Floats

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Whether a record costs anything at all: the ledger is told of those alone."""
        return (self.epsilon > 0) | (self.delta > 0)


class Summary(TypedDict):
    """What all pairs have spent, in the words of every ledger: for the operator alone."""

    pairs: float
    total: float
    """Of epsilon; so are the mean and the largest."""
    mean: float
    largest: float
    largest_delta: float


@dataclass(frozen=True)
class Loss:
    """A privacy loss, an (epsilon, delta): how much releases tell about one pair, or several.

    >>> Loss(0.1, 1e-8).then(Loss(0.2, 0.0)).delta
    1e-08
    """

    epsilon: float = 0.0
    delta: float = 0.0

    def then(self, more: Loss) -> Loss:
        """The loss of these releases and others about the same pair: both numbers add up."""
        return Loss(self.epsilon + more.epsilon, min(1.0, self.delta + more.delta))


def together(losses: Iterable[Loss]) -> Loss:
    """About several pairs at once: epsilons add up, and deltas come to more than their sum.

    P0(S) <= e^e1 P1(S) + d1 <= e^(e1 + e2) P2(S) + e^e1 d2 + d1, and so on, pair by pair. Every
    order is a bound; where all deltas are the same, the smallest epsilon first is the best.

    >>> together([Loss(0.5), Loss(0.25)])
    Loss(epsilon=0.75, delta=0.0)
    """
    epsilon = delta = 0.0
    for loss in sorted(losses, key=lambda loss: loss.epsilon):
        # In logarithms: many ratings' epsilons may be more than an exponential can hold.
        if loss.delta > 0:
            delta = min(1.0, delta + math.exp(min(0.0, epsilon + math.log(loss.delta))))
        epsilon += loss.epsilon
    return Loss(epsilon, delta)
