"""Chorus' rounds: people's voices from the directions, items' noisy sums from the voices."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.kernels.sums import add_chorus, add_voices
from discreet.kernels.threads import blockwise, row_ranges, run_ranges, thread_count
from discreet.privacy.margins import MOST_ITEMS, VOICE_SHAVE, root_rounded_down, rounded_up
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours
from discreet.progress import Progress
from discreet.ratings import Crowd, Integers, Ratings
from discreet.schemes.directions import Listener, within_the_ball
from discreet.schemes.effects import Directions, Effects
from discreet.schemes.purses import ByPerson, ByRating, Plan, check_grid

# Public constants, in units of a quarter of the scale; the same for every data set.
CLIP = 0.55
"""X: a residual counts for at most this much."""
FLOOR = 0.25
"""h0^2: a voice that has heard little stays low."""
UNIT = 1 << 20
"""Of contributions and directions."""
SUM_UNIT = 1 << 30
"""Of the rounds' sums."""

Array = NDArray[Any]


class Contributions(NamedTuple):
    """Some people's a_ij = w x in units of 2^-20, in both orders of their ratings: secret."""

    data: Ratings
    by_user: NDArray[np.int32]
    by_item: NDArray[np.int32]


class Voices:
    """The rounds: everything secret is here, and only noisy sums leave."""

    def __init__(
        self, data: Crowd, effects: Effects, plan: Plan, purse: ByRating | ByPerson, *,
        neighbours: Neighbours, threads: int | None = None,
    ) -> None:  # fmt: skip
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
        rho = self.rho = 2 * math.sqrt(len(data.items) * plan.factors) / SUM_UNIT
        base = effects.mean + effects.item_effects
        quarter = data.scale.span / 4

        def weighed(rating: Array, item: Array, weights: Array) -> Array:
            a = np.clip((rating - base[item]) / quarter, -CLIP, CLIP)
            # w X + rho must stay within the weight's share of X + rho; the shave covers rounding.
            a *= np.maximum(weights - rho / CLIP, 0.0) * (1 - VOICE_SHAVE)
            return np.trunc(a * UNIT)

        def contributions(part: Ratings) -> Contributions:
            counted = purse.counted(part)
            weights = purse.weights(counted, plan.share)
            by_user = blockwise(weighed, np.int32, counted.rating, counted.item, weights)
            return Contributions(counted, by_user, counted.in_item_order(by_user))

        self.contributions = data.held(contributions)
        # What the last round shows is what is released: it gets two parts.
        parts = [1] * (plan.rounds - 1) + [2]
        self.mus = [root_rounded_down(mu**2 * part / sum(parts)) for part in parts]

    def sing(
        self, z: Array, counts: Array, randomness: Randomness, progress: Progress
    ) -> Directions:
        """All rounds, beginning with z; the directions they show. `counts` are noisy votes."""
        plan = self.plan
        listener = Listener(counts * self.per_vote, plan.factors, CLIP, self.ratio)
        for k, mu in enumerate(self.mus):
            progress("rounds", k, plan.rounds)
            fed = np.trunc(within_the_ball(z, counts) * UNIT)
            sums, sigma = self.noisy_sums(fed, mu, randomness)
            found = listener.hear(sums, sigma, fed / UNIT)
            z = found.z
        progress("rounds", plan.rounds, plan.rounds)
        return found

    def noisy_sums(self, z: Array, mu: float, randomness: Randomness) -> tuple[Array, float]:
        """One release: noisy sums per item, and the noise's deviation."""
        sums, sigma = self.exact_sums(z), self.deviation(mu)
        check_grid(sums.size * self.plan.rounds, sigma)
        noisy = randomness.add_gaussian(sums, sigma, threads=self.threads)
        return noisy / SUM_UNIT, sigma / SUM_UNIT

    def deviation(self, mu: float) -> float:
        """The noise of a round that is mu-GDP, in units of 2^-30."""
        moved = CLIP if self.neighbours == Neighbours.ADD_REMOVE else 2 * CLIP
        return rounded_up((Fraction(moved) + Fraction(self.rho)) * SUM_UNIT / Fraction(mu))

    def exact_sums(self, z: Array) -> Integers:
        """Sum over people of a_ij u_i, in integers: secret, and the same in any order."""
        return self.contributions.add_up(partial(self.sums_of, z, self.threads), z.shape)

    @staticmethod
    def sums_of(z: Array, threads: int, some: Contributions) -> Integers:
        """What some people add to every item's sum."""
        people, items = some.data.by_user, some.data.by_item
        U = np.empty((len(some.data.users), z.shape[1]))
        V = np.empty((len(some.data.items), z.shape[1]), dtype=np.int64)
        run_ranges(
            add_voices, row_ranges(people.ptr, threads), threads,
            people.ptr, people.cols, some.by_user, z, FLOOR, U,
        )  # fmt: skip
        run_ranges(
            add_chorus, row_ranges(items.ptr, threads), threads,
            items.ptr, items.cols, some.by_item, U, V,
        )  # fmt: skip
        return V
