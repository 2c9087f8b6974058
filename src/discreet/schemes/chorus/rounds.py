"""Chorus' rounds: people's voices from the directions, items' noisy sums from the voices."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array, Integers
from discreet.data.ratings import Ratings, RatingsSource
from discreet.errors import ParameterError
from discreet.kernels.sums import item_sums, user_vectors
from discreet.kernels.threads import blockwise, row_ranges, run_ranges, thread_count
from discreet.privacy.fixedpoint import (
    CONTRIBUTION_SHAVE,
    MOST_ITEMS,
    root_rounded_down,
    rounded_up,
)
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours
from discreet.progress import Progress
from discreet.schemes.chorus.budget import PersonBudget, Plan, RatingBudget, check_grid
from discreet.schemes.chorus.directions import DirectionEstimator, within_the_ball
from discreet.schemes.effects import Directions, Effects

# Public constants, in units of a quarter of the scale; the same for every data set. CLIP and FLOOR
# were measured (docs/constants.md), the grids follow from docs/proofs/margins.md.
CLIP = 0.55
"""X: a residual counts for at most this much."""
FLOOR = 0.25
"""h0^2: a voice that has heard little stays low."""
GRID = 1 << 20
"""Of contributions and directions."""
SUM_GRID = 1 << 30
"""Of the rounds' sums."""


class Contributions(NamedTuple):
    """Some people's a_ij = w x in units of 2^-20, in both orders of their ratings: secret."""

    data: Ratings
    by_user: NDArray[np.int32]
    by_item: NDArray[np.int32]


class NoisyRounds:
    """The rounds: everything secret is here, and only noisy sums leave."""

    def __init__(
        self,
        data: RatingsSource,
        effects: Effects,
        plan: Plan,
        purse: RatingBudget | PersonBudget,
        *,
        neighbours: Neighbours,
        threads: int | None = None,
    ) -> None:
        self.plan, self.neighbours = plan, neighbours
        self.threads = thread_count(threads)
        mu = Fraction(purse.rounds(plan.share))
        self.per_vote, self.ratio = purse.typical_weights(plan.share)
        if len(data.items) > MOST_ITEMS:
            raise ParameterError(
                f"Chorus' rounds are proven for catalogues of at most {MOST_ITEMS:,} items: got "
                f"{len(data.items):,}; choose factors=0, or Tally"
            )
        # Cutting off products moves the other sums of a person by a unit each, and 64-bit
        # floating point by less: rho bounds both.
        rho = self.rho = 2 * math.sqrt(len(data.items) * plan.factors) / SUM_GRID
        base = effects.mean + effects.item_effects
        quarter = data.scale.span / 4

        def weighed(rating: Array, item: Array, weights: Array) -> Array:
            a = np.clip((rating - base[item]) / quarter, -CLIP, CLIP)
            # w X + rho must stay within the weight's share of X + rho; the shave covers rounding.
            a *= np.maximum(weights - rho / CLIP, 0.0) * (1 - CONTRIBUTION_SHAVE)
            return np.trunc(a * GRID)

        def contributions(part: Ratings) -> Contributions:
            counted = purse.counted(part)
            weights = purse.weights(counted, plan.share)
            by_user = blockwise(weighed, np.int32, counted.rating, counted.item, weights)
            return Contributions(counted, by_user, counted.in_item_order(by_user))

        self.contributions = data.map_parts(contributions)
        # What the last round shows is what is released: it gets two parts.
        parts = [1] * (plan.rounds - 1) + [2]
        self.mus = [root_rounded_down(mu**2 * part / sum(parts)) for part in parts]

    def run(
        self, z: Array, counts: Array, randomness: Randomness, progress: Progress
    ) -> Directions:
        """All rounds, beginning with z; the directions they show. `counts` are noisy votes."""
        plan = self.plan
        estimator = DirectionEstimator(counts * self.per_vote, plan.factors, CLIP, self.ratio)
        for k, mu in enumerate(self.mus):
            progress("rounds", k, plan.rounds)
            fed = np.trunc(within_the_ball(z, counts) * GRID)
            sums, sigma = self.noisy_sums(fed, mu, randomness)
            found = estimator.update(sums, sigma, fed / GRID)
            z = found.z
        progress("rounds", plan.rounds, plan.rounds)
        return found

    def noisy_sums(self, z: Array, mu: float, randomness: Randomness) -> tuple[Array, float]:
        """One release: noisy sums per item, and the noise's deviation."""
        sums, sigma = self.exact_sums(z), self.deviation(mu)
        check_grid(sums.size * self.plan.rounds, sigma)
        noisy = randomness.add_gaussian(sums, sigma, threads=self.threads)
        return noisy / SUM_GRID, sigma / SUM_GRID

    def deviation(self, mu: float) -> float:
        """The noise of a round that is mu-GDP, in units of 2^-30."""
        moved = CLIP if self.neighbours == Neighbours.ADD_REMOVE else 2 * CLIP
        return rounded_up((Fraction(moved) + Fraction(self.rho)) * SUM_GRID / Fraction(mu))

    def exact_sums(self, z: Array) -> Integers:
        """Sum over people of a_ij u_i, in integers: secret, and the same in any order."""
        return self.contributions.sum(partial(self.sums_of, z, self.threads), z.shape)

    @staticmethod
    def sums_of(z: Array, threads: int, some: Contributions) -> Integers:
        """What some people add to every item's sum."""
        people, items = some.data.by_user, some.data.by_item
        U = np.empty((len(some.data.users), z.shape[1]))
        V = np.empty((len(some.data.items), z.shape[1]), dtype=np.int64)
        run_ranges(
            user_vectors,
            row_ranges(people.ptr, threads),
            threads,
            people.ptr,
            people.cols,
            some.by_user,
            z,
            FLOOR,
            U,
        )
        run_ranges(
            item_sums,
            row_ranges(items.ptr, threads),
            threads,
            items.ptr,
            items.cols,
            some.by_item,
            U,
            V,
        )
        return V
