"""Two purses: how a rating's lifetime budget is divided, and what of it one publication may spend.

A declared share A of every epsilon is pure and pays for counts and tallies, whose losses add up.
The rest, with one delta for a lifetime, is worth a mu in Gaussian differential privacy and pays
for rounds, whose mu add up in squares: docs/proofs/incremental.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats
from discreet.errors import LedgerError, ParameterError
from discreet.kernels.threads import blockwise
from discreet.privacy.accounting import gaussian_epsilon, gaussian_mu, gaussian_weights
from discreet.privacy.fixedpoint import (
    DELTA_PARTS,
    LARGEST_SHARE,
    MU_SHAVE,
    root_rounded_down,
)
from discreet.privacy.lifetime import Costs, Loss, Spends, left_of

PURE_SHARE = 0.45
"""A, unless another one is declared: docs/constants.md."""


@dataclass(frozen=True, kw_only=True)
class Division:
    """How every lifetime on a ledger is divided: all of it declared, and public.

    `share` stays for a ledger's whole life. Everything else may change from one publication to
    the next, in view of what was released.

    >>> Division(share=0.3, t=1.0, delta=1e-6, publications=4).pure_top
    0.3
    """

    share: float
    """A."""
    t: float
    """A level above it counts as t."""
    delta: float
    """Of a lifetime; 0 where nothing but the pure purse is spent."""
    publications: int = 1
    """In how many rounds are held that each take the same part of the Gaussian purse."""

    @property
    def pure_top(self) -> float:
        """The pure purse of a level of t: what one vote is worth."""
        return self.share * self.t

    @property
    def gaussian_top(self) -> float:
        """The epsilon that the Gaussian purse of a level of t is made of."""
        return (1 - self.share) * self.t

    @property
    def life_mu(self) -> float:
        """The mu of the Gaussian purse of a level of t."""
        return _mu(self.gaussian_top, self.delta)

    @property
    def mu(self) -> float:
        """One publication's part of it: the mu that noise in its rounds is made for."""
        return root_rounded_down(Fraction(self.life_mu) ** 2 / self.publications)

    def purses(self, levels: Floats, spends: Spends) -> tuple[Floats, Floats]:
        """Each record's two purses, full: an epsilon, and the square of a mu.

        What was spent undivided is taken off first.
        """
        left = np.minimum(spends.remaining(levels), self.t)
        mu2 = (self._weights(left, spends.delta) * self.life_mu) ** 2 if self.delta else 0.0 * left
        return self.share * left, mu2

    def allowed(self, levels: Floats, spends: Spends) -> Costs:
        """What each record may spend in the next publication: it depends on its pair alone.

        Tallies add up, so that a rating is counted in them once, for all that its pure purse has.
        """
        pure, mu2 = self.purses(levels, spends)
        return Costs.of(
            levels,
            pure=left_of(pure, spends.pure),
            mu2=np.minimum(mu2 / self.publications, left_of(mu2, spends.mu2)),
        )

    def weights(self, mu2: Floats) -> Floats:
        """How much records may count in the rounds that are allowed so much: from 0 to 1."""
        if self.mu <= 0:
            return np.zeros_like(mu2)

        def shaved(some: Floats) -> Floats:
            return np.minimum(np.sqrt(some) / self.mu * (1 - MU_SHAVE), 1.0)

        return blockwise(shaved, np.float64, mu2)

    def _weights(self, left: Floats, delta: Floats) -> Floats:
        """mu((1 - A) epsilon, what is left of delta) over that of t and the whole delta."""
        epsilon = (1 - self.share) * left
        found = gaussian_weights(epsilon, self.gaussian_top, self.delta)
        spent = np.minimum(np.ceil(delta / self.delta * DELTA_PARTS), DELTA_PARTS)
        for parts in np.unique(spent[spent > 0]):
            some, rest = spent == parts, self.delta * (1 - parts / DELTA_PARTS)
            found[some] = 0.0
            if rest > 0 and self.life_mu > 0:
                ratio = _mu(self.gaussian_top, rest) / self.life_mu
                found[some] = ratio * gaussian_weights(epsilon[some], self.gaussian_top, rest)
        return found


def divide(
    *,
    t: float,
    delta: float,
    publications: int,
    share: float | None,
    wanted: float | None = None,
) -> Division | None:
    """How lifetimes are divided; None if ratings are counted once, and the ledger is whole.

    `share` is that of a ledger which was divided before, `wanted` one that is declared now.
    """
    if wanted is not None and not 1 - LARGEST_SHARE <= wanted <= LARGEST_SHARE:
        raise ParameterError(f"pure_share must be from 0.01 to 0.99: got {wanted!r}")
    if share is None and wanted is None and publications == 1:
        return None
    if share is not None and wanted not in (None, share):
        raise LedgerError(
            f"this ledger was divided with a pure share of {share!r}, for its whole life: got "
            f"{wanted!r}; leave it away, or begin another ledger with other ratings"
        )
    chosen = next((one for one in (share, wanted) if one is not None), PURE_SHARE)
    return Division(share=chosen, t=t, delta=delta, publications=publications)


def told(spends: Spends, delta: float) -> Loss:
    """What one pair has spent in all, as one loss; `delta` is a lifetime's.

    (undivided epsilon + pure + the epsilon of mu at what is left of delta, delta), as the theorem
    adds them up; without mu, the delta is what was spent of it.
    """
    epsilon, used, pure, mu2 = (float(column[0]) for column in spends[1:])
    if mu2 == 0:
        return Loss(epsilon + pure, used)
    rest = max(delta - used, 0.0)
    gaussian = gaussian_epsilon(math.sqrt(mu2), rest) if rest > 0 else math.inf
    return Loss(epsilon + pure + gaussian, max(delta, used))


@lru_cache(maxsize=64)
def _mu(epsilon: float, delta: float) -> float:
    return gaussian_mu(epsilon, delta)
