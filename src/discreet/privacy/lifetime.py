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
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.privacy.fixedpoint import LEDGER_SHAVE


class Spends(NamedTuple):
    """What the pair of each record of a table has spent so far, and the level it was counted at.

    `epsilon` and `delta` were spent undivided, by Tally or as an (epsilon, delta); the rest from
    the two purses of a divided ledger (`privacy.purses`): `pure` is an epsilon, `mu2` the square
    of a mu.
    """

    level: Floats
    epsilon: Floats
    delta: Floats
    pure: Floats
    mu2: Floats

    @classmethod
    def none(cls, records: int) -> Spends:
        """Nothing was spent before."""
        return cls(*np.zeros((len(cls._fields), records)))

    def remaining(self, levels: Floats) -> Floats:
        """What each record has not spent undivided of its level, at least 0.

        >>> spent = Spends.none(2)._replace(epsilon=np.array([0.4, 1.0]))
        >>> spent.remaining(np.array([1.0, 1.0])).round(6).tolist()
        [0.6, 0.0]
        """
        return left_of(levels, self.epsilon)

    def raised(self, levels: Floats) -> NDArray[np.bool_]:
        """Whether a record is new, or its level is above that at which its pair was counted."""
        return levels > self.level

    def undivided(self, levels: Floats, t: float, *, delta: float = 0.0) -> Costs:
        """What each record may spend in the next publication, if the ledger is not divided.

        e = min(epsilon - spent, t) if the pair is new or its level was raised, and with a delta
        only if it has spent none: docs/proofs/incremental.md. It depends on the pair alone.
        """
        allowed = np.where(self.raised(levels), np.minimum(self.remaining(levels), t), 0.0)
        if delta > 0:
            allowed = np.where(self.delta > 0, 0.0, allowed)
        return Costs.of(levels, epsilon=allowed, delta=np.where(allowed > 0, delta, 0.0))

    def after(self, costs: Costs) -> Spends:
        """What is spent once a release that costs this is out: as every ledger adds it up."""
        level = np.where(costs.counted, np.maximum(self.level, costs.level), self.level)
        added = zip(self[1:], costs[1:], strict=True)
        return Spends(level, *(before + more for before, more in added))


def left_of(whole: Floats, spent: Floats) -> Floats:
    """What is left of a budget or purse, at least 0.

    A ledger's sums are rounded: who has spent before leaves a hair untouched.
    """
    shaved = np.where(spent > 0, whole * (1 - LEDGER_SHAVE), whole)
    return np.asarray(np.maximum(shaved - spent, 0.0))


class Costs(NamedTuple):
    """What a release costs the pair of each record of a table, and the level it is counted at."""

    level: Floats
    epsilon: Floats
    delta: Floats
    pure: Floats
    mu2: Floats

    @classmethod
    def of(cls, level: Floats, **costs: Floats) -> Costs:
        """Those given, and nothing else."""
        nothing = np.broadcast_to(0.0, level.shape)
        return cls(level, *(costs.get(name, nothing) for name in cls._fields[1:]))

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Whether a record costs anything at all: the ledger is told of those alone."""
        return (self.epsilon > 0) | (self.delta > 0) | (self.pure > 0) | (self.mu2 > 0)


class Summary(TypedDict):
    """What all pairs have spent, in the words of every ledger: for the operator alone."""

    pairs: float
    total: float
    """Of epsilon, undivided and pure; so are the mean and the largest."""
    mean: float
    largest: float
    largest_delta: float
    """Undivided."""
    largest_mu: float
    """The root of the largest mu^2: what a pair has spent of its Gaussian purse."""


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
