"""Chorus' rounds: user vectors from the directions, items' noisy sums from the user vectors."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array, Floats, Integers
from discreet.data.ratings import Ratings
from discreet.data.source import Parts, RatingsSource
from discreet.errors import ParameterError
from discreet.kernels.compute import Compute, Rows
from discreet.kernels.threads import blockwise
from discreet.privacy.fixedpoint import (
    CONTRIBUTION_SHAVE,
    EXACT_RECORDS,
    GRID,
    MOST_ITEMS,
    SUM_GRID,
    cut_off,
    root_rounded_down,
    rounded_up,
)
from discreet.privacy.provenance import Neighbours
from discreet.schemes.base import Run
from discreet.schemes.chorus.budget import Budget, Plan
from discreet.schemes.chorus.directions import DirectionEstimator, within_the_ball
from discreet.schemes.design import Directions

# Public constants, in quarters of the scale; the same for every data set: docs/constants.md.
CLIP = 0.55
"""X: a residual counts for at most this much."""
FLOOR = 0.25
"""h0^2: the vector of somebody with few ratings stays short."""


class Contributions(NamedTuple):
    """Some people's a_ij = w x on the grid, by user and by item: secret."""

    by_user: Rows
    by_item: Rows


@dataclass(frozen=True, eq=False)
class NoisyRounds:
    """The rounds: everything secret is here, and only noisy sums leave."""

    contributions: Parts[Contributions] = field(repr=False)
    """Everybody's: secret."""
    plan: Plan
    mus: tuple[float, ...]
    """Of every round."""
    rho: float
    """What cutting off products adds to the sensitivity."""
    per_vote: float
    """A rating's weight in the rounds over that in the tallies, typically."""
    weight_ratio: float
    """E[w^2]/E[w], typically."""
    neighbours: Neighbours
    how: Run

    def run(self, z: Floats, counts: Floats) -> Directions:
        """All rounds, beginning with z; the directions they show. `counts` are noisy votes."""
        plan = self.plan
        estimator = DirectionEstimator(
            counts * self.per_vote, plan.factors, CLIP, self.weight_ratio
        )
        for k, mu in enumerate(self.mus):
            self.how.progress("rounds", k, plan.rounds)
            fed = np.trunc(within_the_ball(z, counts) * GRID)
            sums, sigma = self.noisy_sums(fed, mu)
            found = estimator.update(sums, sigma, fed / GRID)
            z = found.z
        self.how.progress("rounds", plan.rounds, plan.rounds)
        return found

    def noisy_sums(self, z: Floats, mu: float) -> tuple[Floats, float]:
        """One release: noisy sums per item, and the noise's deviation."""
        sums, sigma = self.exact_sums(z), self.deviation(mu)
        noisy = self.how.randomness.add_gaussian(sums, sigma, threads=self.how.compute.threads)
        return noisy / SUM_GRID, sigma / SUM_GRID

    def deviation(self, mu: float) -> float:
        """The noise of a round that is mu-GDP, in steps of the grid of sums."""
        moved = CLIP if self.neighbours == Neighbours.ADD_REMOVE else 2 * CLIP
        return rounded_up((Fraction(moved) + Fraction(self.rho)) * SUM_GRID / Fraction(mu))

    def exact_sums(self, z: Floats) -> Integers:
        """Sum over people of a_ij u_i, in integers: secret, and the same in any order."""
        return self.contributions.sum(partial(sums_of, z, self.how.compute), z.shape)


def sums_of(z: Floats, compute: Compute, some: Contributions) -> Integers:
    """What some people add to every item's sum."""
    sums = compute.sums
    U = sums.user_vectors(some.by_user, z, FLOOR, grid=GRID, exact=EXACT_RECORDS)
    return sums.item_sums(some.by_item, U, finer=SUM_GRID // GRID, exact=EXACT_RECORDS)


def prepare_rounds(
    source: RatingsSource,
    base: Floats,
    plan: Plan,
    budget: Budget,
    *,
    neighbours: Neighbours,
    run: Run,
) -> NoisyRounds:
    """Weigh everybody's residuals, once for all rounds, and divide the budget among these.

    `base` is every item's rating by somebody of whom nothing is known.
    """
    items = len(source.items)
    if items > MOST_ITEMS:
        raise ParameterError(
            f"Chorus' rounds are proven for catalogues of at most {MOST_ITEMS:,} items: got "
            f"{items:,}; choose factors=0, or Tally"
        )
    mus = round_mus(budget.rounds(plan.share), plan.rounds)
    rho = cut_off(items, plan.factors)
    residuals = _Residuals(base, source.scale.span / 4, rho)
    weighing = budget.weighing(plan.share)

    def contributions(part: Ratings) -> Contributions:
        counted = weighing.counted(part)
        weights = weighing.weights(counted)
        by_user = blockwise(residuals.weighed, np.int32, counted.rating, counted.item, weights)
        return _both_ways(counted, by_user)

    per_vote, weight_ratio = budget.typical_weights(plan.share)
    return NoisyRounds(
        source.map_parts(contributions),
        plan,
        mus,
        rho,
        per_vote,
        weight_ratio,
        neighbours,
        run,
    )


def round_mus(mu: float, rounds: int) -> tuple[float, ...]:
    """What every round may spend: their squares add up to at most mu^2.

    What the last round shows is what is released: it gets two parts.
    """
    parts = [1] * (rounds - 1) + [2]
    return tuple(root_rounded_down(Fraction(mu) ** 2 * part / sum(parts)) for part in parts)


class _Residuals(NamedTuple):
    """What ratings are above or below their item's base, in quarters of the scale."""

    base: Floats
    quarter: float
    rho: float

    def weighed(self, rating: Array, item: Array, weights: Floats) -> Floats:
        """a = w x on the grid, |x| <= X."""
        a = np.clip((rating - self.base[item]) / self.quarter, -CLIP, CLIP)
        # w X + rho must stay within the weight's share of X + rho; the shave covers rounding.
        a *= np.maximum(weights - self.rho / CLIP, 0.0) * (1 - CONTRIBUTION_SHAVE)
        return np.trunc(a * GRID)


def _both_ways(counted: Ratings, by_user: NDArray[np.int32]) -> Contributions:
    people, items = counted.by_user, counted.by_item
    return Contributions(
        Rows(people.ptr, people.cols, by_user),
        Rows(items.ptr, items.cols, counted.in_item_order(by_user)),
    )
