"""Lifetime budgets: what a pair of user and item has spent, and what it may spend next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.margins import GRID_DELTA, LEDGER_SHAVE

Floats = NDArray[np.float64]


class Spends(NamedTuple):
    """What the pair of each record of a table has spent so far, and the level it was counted at."""

    level: Floats
    epsilon: Floats
    delta: Floats

    def remaining(self, levels: Floats) -> Floats:
        """What each record may still spend of its level, at least 0."""
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
        # which count in a lifetime's units.
        part = np.minimum(self.remaining(levels), np.minimum(levels, t) / publications)
        if publications == 1:
            part = np.where(self.raised(levels), part, 0.0)
        if delta > 0:
            # Parts of delta add up to delta but for rounding; the first has set aside more.
            most = delta + min(publications * delta * 2.0**-53, GRID_DELTA / 2)
            part = np.where(self.delta + delta / publications <= most, part, 0.0)
        return part
