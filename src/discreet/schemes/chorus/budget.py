"""What Chorus spends: who pays how much for counts, tallies and rounds, and what it buys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array, Integers
from discreet.data.ratings import Ratings, RatingsSource
from discreet.errors import ParameterError
from discreet.privacy.accounting import gaussian_mu, gaussian_weights, grid_loss, usable_mu
from discreet.privacy.fixedpoint import (
    GRID_EPSILON,
    MOST_NUMBERS,
    root_rounded_down,
    rounded_down,
    rounded_up,
)
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import levelled, share_among_own
from discreet.release.tallies import ONE_VOTE, Tallies
from discreet.schemes.tally import Tally, count_votes, weight_ratio

PERSON_NORM = 16
"""A whole person's votes, as the root of the sum of squares: 256 ratings have one each.

Measured in docs/constants.md."""

LevelsOf = Callable[[Ratings], NDArray[np.float64]]
"""Some records' levels, or what is left of them."""


class Plan(NamedTuple):
    """How the budget is spent: shares of it, number of factors and rounds."""

    probe: float
    tallies: float
    factors: int
    rounds: int

    @property
    def share(self) -> float:
        """What is left for the rounds."""
        return rounded_down(1 - Fraction(self.probe) - Fraction(self.tallies))


@dataclass(frozen=True, eq=False)
class Budget:
    """What every record may spend in one fit: its level (secret), and what is declared.

    t and delta are for a lifetime of so many publications.
    """

    levels_of: LevelsOf
    typical: Array
    t: float
    delta: float
    publications: int = 1


class RatingBudget:
    """One rating as the unit: pure epsilon for counts and tallies, the rest for the rounds."""

    def __init__(
        self, tally: Tally, data: RatingsSource, budget: Budget, randomness: Randomness
    ) -> None:
        self.tally, self.randomness = tally, randomness
        self.t, self.levels_of, self.typical = budget.t, budget.levels_of, budget.typical
        self.catalogue = data.items
        # Votes of several publications add up, so they count in lifetime's units; voices do not.
        self.exact = tally.votes(data, budget.levels_of, self.t, randomness)
        self.votes = 1 / budget.publications
        self.top, self.delta = self.votes * budget.t, self.votes * budget.delta
        self.mu = gaussian_mu(self.top, self.delta)

    def probe(self, share: float) -> tuple[Array, float]:
        """Counts with noise that costs this share of every epsilon, and the noise's variance."""
        counts = self.exact.sum(axis=0)
        if share == 0:
            return counts / ONE_VOTE, 0.0
        scale = rounded_up(ONE_VOTE / (Fraction(share) * Fraction(self.t)))
        noisy = self.randomness.add_laplace(counts, scale, threads=self.tally.threads)
        return noisy / ONE_VOTE, 2 * (scale / ONE_VOTE) ** 2

    def tallies(self, share: float) -> Tallies:
        """Tallies that cost this share of every epsilon."""
        t = rounded_down(Fraction(share) * Fraction(self.t))
        return self.tally.noisy_tallies(self.exact, t, self.randomness)

    def counted(self, part: Ratings) -> Ratings:
        """Some people's records over the catalogue, with the level that counts for each."""
        return levelled(part, self.levels_of(part), "rating", self.catalogue)

    def weights(self, counted: Ratings, share: float) -> Array:
        """Counted records' weights in the rounds, for this share of every epsilon."""
        assert counted.epsilon is not None
        return gaussian_weights(share * counted.epsilon, share * self.top, self.delta)

    def rounds(self, share: float) -> float:
        """The rounds' mu for this share of every epsilon."""
        return usable_mu(share * self.top, self.delta)

    def typical_weights(self, share: float) -> tuple[float, float]:
        """A rating's weight in the rounds over that in the tallies, and E[w^2]/E[w]."""
        typical = self.typical * self.votes
        weights = gaussian_weights(share * typical, share * self.top, self.delta)
        in_tallies = np.minimum(1.0, typical / self.t)
        return float(weights.mean() / in_tallies.mean()), weight_ratio(weights)


class PersonBudget:
    """The whole person as the unit: one Gaussian budget for counts, tallies and rounds."""

    votes = PERSON_NORM

    def __init__(
        self, tally: Tally, data: RatingsSource, budget: Budget, randomness: Randomness
    ) -> None:
        self.tally, self.budget, self.randomness = tally, budget, randomness
        self.mu, self.catalogue = usable_mu(budget.t, budget.delta), data.items
        self.exact = data.map_parts(self.counted).sum(self._votes, (2, len(data.items)))

    def counted(self, part: Ratings) -> Ratings:
        """Some people's records over the catalogue, with the level of each one's person."""
        return levelled(part, self.budget.levels_of(part), "person", self.catalogue)

    def units(self, counted: Ratings) -> NDArray[np.int32]:
        """The weight of each counted record, in units of 2^-20 votes."""
        assert counted.epsilon is not None
        omega = gaussian_weights(counted.epsilon, self.budget.t, self.budget.delta)
        return share_among_own(counted, omega, PERSON_NORM, norm=2)

    def _votes(self, counted: Ratings) -> Integers:
        return np.stack(count_votes(counted, self.units(counted), self.tally.threads))

    def scale(self, share: float) -> float:
        """The noise on counts or tallies, which a person moves by PERSON_NORM votes in L2."""
        return rounded_up(PERSON_NORM * ONE_VOTE / Fraction(self.rounds(share)))

    def probe(self, share: float) -> tuple[Array, float]:
        """Counts with noise that costs this share of mu^2, and the noise's variance."""
        counts = self.exact.sum(axis=0)
        scale = self.scale(share)
        noisy = self.randomness.add_gaussian(counts, scale, threads=self.tally.threads)
        return noisy / ONE_VOTE, (scale / ONE_VOTE) ** 2

    def tallies(self, share: float) -> Tallies:
        """Tallies that cost this share of mu^2."""
        scale = self.scale(share)
        check_grid(4 * self.exact.size, scale)
        noisy = self.randomness.add_gaussian(self.exact, scale, threads=self.tally.threads)
        against, in_favour = noisy
        return Tallies(against, in_favour, np.full(len(against), (scale / ONE_VOTE) ** 2))

    def weights(self, counted: Ratings, share: float) -> Array:
        """Counted records' weights in the rounds, whatever their share."""
        del share
        return self.units(counted) / (PERSON_NORM * ONE_VOTE)

    def rounds(self, share: float) -> float:
        """The mu that this share of mu^2 buys, in the rounds as elsewhere."""
        return root_rounded_down(Fraction(self.mu) ** 2 * Fraction(share))

    def typical_weights(self, share: float) -> tuple[float, float]:
        """A rating's weight in the rounds over that in the tallies, and E[w^2]/E[w]."""
        del share
        return 1 / PERSON_NORM, 1 / PERSON_NORM


def check_grid(numbers: int, scale: float) -> None:
    """Whether the margin that the accounting sets aside covers so many discrete Gaussians."""
    if numbers > MOST_NUMBERS or grid_loss(numbers, scale) > GRID_EPSILON / 2:
        raise ParameterError(
            "so many items and factors, or so large an epsilon, are beyond what the proof of the "
            "discrete noise covers: choose fewer factors (factors=8) or a smaller epsilon"
        )
