"""How Chorus spends a budget: on counts, tallies, and rounds of liking and of choosing."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from discreet.arrays import Floats
from discreet.privacy.fixedpoint import rounded_down
from discreet.privacy.provenance import Neighbours
from discreet.schemes.chorus.budget import Budget

# Public constants, the same for every data set: docs/constants.md says how they were found.
PROBE, ACTIVITY = 0.03, 0.005
"""The share of the budget that is spent on deciding how to spend the rest, and the part of it that
asks how many ratings people have, not items: for liking alone."""
LEAST_BEYOND = 0.375
"""Factors of liking pay where people gave at least this share of all ratings beyond their first
20."""
TALLIES = 0.35
"""The tallies' share, where the number of factors is given."""
CHOOSING = 0.4
"""The share of the rounds' mu^2 that is for choosing, where they are for both."""
CHOICE_TALLIES, BESIDE_TALLIES = 0.15, 0.6
"""The tallies' share of what the probe leaves, where rounds are for choosing alone: because lists
are all that is asked for, or because liking has none."""
CHOICE_ROUNDS = 6
"""Rounds of choosing, the last with twice the mu^2 of another."""
LEAST_CHOICE_FACTORS, LEAST_BESIDE, MOST_CHOICE_FACTORS = 3, 7, 96
"""Fewer directions of choice are not worth their budget, for lists alone and beside ratings, whose
tallies they cost something; more are slow."""
_SQUARES = 5.0
"""The variance of a Laplace number's square, over that of the number squared: 24/2^2 - 1."""

PURPOSES = {"ratings": 0.0, "lists": 1.0, "both": CHOOSING}
"""What the rounds are for, and the share of their mu^2 that is for choosing."""


class Part(NamedTuple):
    """The rounds of one kind: what they get, and how many there are."""

    share: float
    """Of the budget, what rounds of all kinds get."""
    of_rounds: Fraction
    """Of their mu^2, what these rounds get."""
    factors: int
    rounds: int


class Plan(NamedTuple):
    """How the budget is spent: shares of it, and the number of factors and rounds of each kind."""

    probe: float
    tallies: float
    factors: int
    """Of liking; 0 for no rounds."""
    rounds: int
    choice_factors: int = 0
    """Of choosing; 0 for no rounds."""
    choice_rounds: int = 0
    choosing: float = 0.0
    """Of the rounds' mu^2, what is for choosing."""

    @property
    def share(self) -> float:
        """What is left for the rounds."""
        return rounded_down(1 - Fraction(self.probe) - Fraction(self.tallies))

    @property
    def has_rounds(self) -> bool:
        """Whether there are any, of either kind: they need a delta."""
        return self.factors > 0 or self.choice_factors > 0

    @property
    def liking_part(self) -> Part:
        """The rounds of liking: what choosing leaves of mu^2, exactly."""
        return Part(self.share, 1 - Fraction(self.choosing), self.factors, self.rounds)

    @property
    def choosing_part(self) -> Part:
        """The rounds of choosing."""
        of_rounds = Fraction(self.choosing)
        return Part(self.share, of_rounds, self.choice_factors, self.choice_rounds)


def given_plan(factors: int, rounds: int, choosing: float) -> Plan:
    """So many factors of either kind, where there is something for it; without any, tallies."""
    if factors == 0:
        return Plan(0.0, 1.0, 0, 0)
    plan = Plan(0.0, TALLIES, factors, rounds, factors, rounds, choosing)
    if choosing == 0:
        return plan._replace(choice_factors=0, choice_rounds=0)
    return plan._replace(factors=0, rounds=0) if choosing == 1 else plan


def found_plan(budget: Budget, neighbours: Neighbours, choosing: float) -> Plan:
    """Decide from noisy counts, before the rest is spent.

    What one kind of rounds does not take, because it would not pay, the other gets.
    """
    # Who rated what is public under REPLACE: then counts cost nothing.
    paid = 0.0 if neighbours == Neighbours.REPLACE else PROBE
    of_people = min(paid, ACTIVITY)
    of_items = rounded_down(Fraction(paid) - Fraction(of_people))
    counts, noise = budget.probe(of_items)
    q, active = signal(counts, noise, budget), False
    if choosing < 1:
        up_to_few, beyond = budget.activity(of_people)
        active = beyond >= LEAST_BEYOND * (up_to_few + beyond) > 0
    else:
        paid = of_items
    plan = plan_for(q if active else 0.0, paid)
    if choosing == 0:
        return plan
    beside, least = plan, LEAST_BESIDE
    if choosing == 1:
        beside, least = plan._replace(tallies=(1 - paid) * CHOICE_TALLIES), LEAST_CHOICE_FACTORS
    elif plan.factors == 0:
        beside, choosing = plan._replace(tallies=(1 - paid) * BESIDE_TALLIES), 1.0
    d = choice_factors(counts, noise, budget, beside.share, choosing)
    if d < least:
        return plan
    return beside._replace(choice_factors=d, choice_rounds=CHOICE_ROUNDS, choosing=choosing)


def choice_factors(
    counts: Floats, noise: float, budget: Budget, share: float, choosing: float
) -> int:
    """How many directions of choice these counts can tell, with noise of this variance on them.

    (mu^2 sum c^2 / sqrt(m))^(1/3)/2 for m items of counts c in the rounds' weights, and mu what
    choosing gets of the rounds' share.
    """
    if budget.mu == 0:
        return 0  # a delta that buys nothing
    mu = budget.rounds(share) * math.sqrt(choosing)
    per_vote, _ = budget.typical_weights(share)
    shown: float = (mu * per_vote) ** 2 * squares(counts, noise) / math.sqrt(max(len(counts), 1))
    return int(min(round(0.5 * shown ** (1 / 3)), MOST_CHOICE_FACTORS))


def signal(counts: Floats, noise: float, budget: Budget) -> float:
    """The count of the item that a rating typically falls on, in deviations of the rounds' noise.

    From counts with noise of this variance. A large catalogue with few ratings is mostly noise:
    what that alone may show is taken off.
    """
    total = max(float(counts.sum()), math.sqrt(noise * len(counts)), 1.0)
    return budget.mu * squares(counts, noise) / total / budget.vote_scale


def squares(counts: Floats, noise: float) -> float:
    """The sum of squares of true counts, less than what noise alone may show."""
    by_chance = noise * (len(counts) + math.sqrt(_SQUARES * len(counts)))
    return max(float((counts**2).sum()) - by_chance, 0.0)


def plan_for(q: float, paid: float) -> Plan:
    """The plan for a signal q: factors where there is enough of it, more of them for more.

    docs/constants.md has the measurements behind these numbers.
    """
    if q < 45:
        return Plan(paid, 1 - paid, 0, 0)
    share = min(max(0.5 * (50 / q) ** (1 / 3), 0.1), 0.6)
    d = int(min(max(round(0.6 * math.sqrt(q) - 1), 1), 32))
    return Plan(paid, (1 - paid) * share, d, 8 if q >= 300 else 6)
