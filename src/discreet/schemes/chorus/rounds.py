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
    EXACT_RECORDS,
    GRID,
    MOST_ITEMS,
    SUM_GRID,
    cut_off,
    root_rounded_down,
    rounded_up,
)
from discreet.privacy.provenance import Neighbours
from discreet.release.heard_sums import HeardSums
from discreet.schemes.base import Run
from discreet.schemes.chorus.budget import Budget
from discreet.schemes.chorus.combining import Combination
from discreet.schemes.chorus.directions import (
    DirectionEstimator,
    Heard,
    weighted_means,
    within_the_ball,
)
from discreet.schemes.chorus.plan import Part
from discreet.schemes.chorus.values import Values, shaved

# A public constant, the same for every data set: docs/constants.md.
FLOOR = 0.25
"""h0^2: the vector of somebody with few ratings stays short."""


class Contributions(NamedTuple):
    """Some people's a_ij = w x on the grid, by user and by item: secret."""

    by_user: Rows
    by_item: Rows


@dataclass(frozen=True, eq=False)
class NoisyRounds:
    """The rounds of one kind: everything secret is here, and only noisy sums leave."""

    contributions: Parts[Contributions] = field(repr=False)
    """Everybody's: secret."""
    values: Values
    """What a record says in them."""
    part: Part
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

    def estimator(self, counts: Floats, public: Floats | None) -> DirectionEstimator:
        """What hears these rounds alone. `counts` are of noisy votes."""
        return DirectionEstimator(
            counts * self.per_vote,
            self.part.factors,
            self.values.clip,
            self.weight_ratio,
            self.values.memory,
            public,
        )

    def combination(self, counts: Floats, known: Floats, before: HeardSums | None) -> Combination:
        """What hears them together with those of earlier publications."""
        return Combination(counts * self.per_vote, known, self.part.factors, before)

    def run(self, z: Floats, counts: Floats, estimator: DirectionEstimator | Combination) -> Heard:
        """All rounds, beginning with z, and what they show."""
        values, rounds = self.values, len(self.mus)
        for k, mu in enumerate(self.mus):
            self.how.progress(values.phase, k, rounds)
            if values.centred:
                # Else popularity, which all choices share, would drown the voices.
                z = z - weighted_means(z, counts + 1e-9)
            fed = np.trunc(within_the_ball(z, counts) * GRID).astype(np.int32)
            sums, sigma = self.noisy_sums(fed, mu)
            heard = estimator.update(sums, sigma, fed / GRID)
            z = heard.evened if values.centred else heard.z
        self.how.progress(values.phase, rounds, rounds)
        return heard

    def noisy_sums(self, z: NDArray[np.int32], mu: float) -> tuple[Floats, float]:
        """One release: noisy sums per item, and the noise's deviation."""
        sums, sigma = self.exact_sums(z), self.deviation(mu)
        noisy = self.how.randomness.add_gaussian(sums, sigma, threads=self.how.compute.threads)
        return noisy / SUM_GRID, sigma / SUM_GRID

    def deviation(self, mu: float) -> float:
        """The noise of a round that is mu-GDP, in steps of the grid of sums."""
        moved = self.values.moved(self.neighbours)
        return rounded_up((Fraction(moved) + Fraction(self.rho)) * SUM_GRID / Fraction(mu))

    def exact_sums(self, z: NDArray[np.int32]) -> Integers:
        """Sum over people of a_ij u_i, in integers: secret, and the same in any order.

        z is on the grid and within the ball: it travels to where people are.
        """
        return self.contributions.sum(partial(sums_of, z, self.how.compute), z.shape)


def sums_of(z: NDArray[np.int32], compute: Compute, some: Contributions) -> Integers:
    """What some people add to every item's sum."""
    sums = compute.sums
    U = sums.user_vectors(some.by_user, z.astype(np.float64), FLOOR, grid=GRID, exact=EXACT_RECORDS)
    return sums.item_sums(some.by_item, U, finer=SUM_GRID // GRID, exact=EXACT_RECORDS)


def prepare_rounds(
    source: RatingsSource,
    values: Values,
    part: Part,
    budget: Budget,
    *,
    neighbours: Neighbours,
    run: Run,
) -> NoisyRounds:
    """Weigh what everybody says, once for all rounds, and divide the budget among these."""
    items = len(source.items)
    if items > MOST_ITEMS:
        raise ParameterError(
            f"Chorus' rounds are proven for catalogues of at most {MOST_ITEMS:,} items: got "
            f"{items:,}; choose factors=0, or Tally"
        )
    mus = round_mus(budget.rounds(part.share), part.rounds, part.of_rounds)
    rho = cut_off(items, part.factors)
    weighing = budget.weighing(part.share)

    def on_grid(rating: Array, item: Array, weights: Floats) -> Floats:
        return values.on_grid(rating, item, shaved(weights, rho, values, neighbours))

    def contributions(some: Ratings) -> Contributions:
        counted = weighing.counted(some)
        weights = weighing.weights(counted)
        by_user = blockwise(on_grid, np.int32, counted.rating, counted.item, weights)
        return _both_ways(counted, by_user)

    per_vote, weight_ratio = budget.typical_weights(part.share)
    return NoisyRounds(
        source.map_parts(contributions),
        values,
        part,
        mus,
        rho,
        per_vote,
        weight_ratio,
        neighbours,
        run,
    )


def round_mus(mu: float, rounds: int, of_rounds: Fraction = Fraction(1)) -> tuple[float, ...]:
    """What every round may spend: their squares add up to at most this part of mu^2.

    What the last round shows is what is released: it gets two parts.
    """
    parts = [1] * (rounds - 1) + [2]
    whole = Fraction(mu) ** 2 * of_rounds
    return tuple(root_rounded_down(whole * part / sum(parts)) for part in parts)


def _both_ways(counted: Ratings, by_user: NDArray[np.int32]) -> Contributions:
    people, items = counted.by_user, counted.by_item
    return Contributions(
        Rows(people.ptr, people.cols, by_user),
        Rows(items.ptr, items.cols, counted.in_item_order(by_user)),
    )
