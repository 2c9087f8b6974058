"""How Chorus spends a budget: on counts, tallies, and rounds of liking and of choosing."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from discreet.arrays import Floats
from discreet.privacy.fixedpoint import rounded_down
from discreet.privacy.provenance import Neighbours
from discreet.release.heard_sums import HeardSums
from discreet.release.tallies import Tallies
from discreet.schemes.chorus.budget import Budget
from discreet.schemes.chorus.values import CLIP
from discreet.schemes.votes import squares

# Public constants, the same for every data set: docs/constants.md says how they were found.
PROBE, ACTIVITY = 0.03, 0.005
"""The share of the budget that is spent on deciding how to spend the rest, and the part of it that
asks how many ratings people have, not items: for liking alone."""
APART_ACTIVITY = 0.005
"""The share of the Gaussian purse that asks the same, where tallies have a purse of their own."""
LEAST_BEYOND = 0.375
"""Factors of liking pay where people gave at least this share of all ratings beyond their first
20."""
TALLIES = 0.35
"""The tallies' share, where the number of factors is given."""
CHOOSING, BOTH_TALLIES = 0.55, 0.7
"""Where rounds are for both: the share of their mu^2 that is for choosing, and what tallies get of
what they would get beside rounds of liking alone."""
CHOICE_TALLIES, BESIDE_TALLIES = 0.15, 0.75
"""The tallies' share of what the probe leaves, where rounds are for choosing alone: because lists
are all that is asked for, or because liking has none."""
TALLIES_FOR_FEW, MOST_CHOICE_TALLIES = 2.0, 0.3
"""For lists alone tallies get this over the number of directions where that is more, up to a bound:
the fewer there are, the more lists go by counts."""
CHOICE_ROUNDS = 6
"""Rounds of choosing, the last with twice the mu^2 of another."""
FIRST_ROUNDS, LATER_ROUNDS = 4, 2
"""Rounds of a publication that is one of several, where none was before and where one was: it goes
on with what the one before has shown."""
LEAST_OF_LISTS, LEAST_OF_EVENTS, LEAST_BESIDE, MOST_CHOICE_FACTORS = 5, 3, 4, 96
"""Fewer directions of choice are not worth their budget, for lists alone, of ratings and of events,
and beside ratings, whose tallies they cost something; more are slow."""


class Purpose(NamedTuple):
    """What the rounds are for."""

    choosing: float
    """The share of their mu^2 that is for choosing."""
    least: int
    """So many directions of choice, or none."""


PURPOSES = {
    "ratings": Purpose(0.0, 0),
    "lists": Purpose(1.0, LEAST_OF_LISTS),
    "both": Purpose(CHOOSING, LEAST_BESIDE),
}


def purpose_of(name: str, *, events: bool) -> Purpose:
    """By its name; events have nothing but choices."""
    return Purpose(1.0, LEAST_OF_EVENTS) if events else PURPOSES[name]


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
    apart: bool = False
    """Whether tallies have a purse of their own: then `tallies` is a share of that one."""

    @property
    def share(self) -> float:
        """What is left for the rounds."""
        tallies = Fraction(0) if self.apart else Fraction(self.tallies)
        return rounded_down(1 - Fraction(self.probe) - tallies)

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


def given_plan(factors: int, rounds: int, purpose: Purpose) -> Plan:
    """So many factors of either kind, where there is something for it; without any, tallies."""
    if factors == 0:
        return Plan(0.0, 1.0, 0, 0)
    choosing = purpose.choosing
    plan = Plan(0.0, TALLIES, factors, rounds, factors, rounds, choosing)
    if choosing == 0:
        return plan._replace(choice_factors=0, choice_rounds=0)
    return plan._replace(factors=0, rounds=0) if choosing == 1 else plan


class Past(NamedTuple):
    """What was heard before of ratings that are not in these rounds, and is kept."""

    liking: float = 0.0
    """Its `signal`."""
    choosing: float = 0.0
    """The sum of squares of what was heard of every item."""


NOTHING: Final = Past()


def past(liking: HeardSums | None, choosing: HeardSums | None) -> Past:
    """From the sums in a release."""
    heard = [np.zeros(1) if kept is None else kept.information for kept in (liking, choosing)]
    signal = CLIP * (heard[0] ** 2).sum() / max(heard[0].sum(), 1e-12)
    return Past(float(signal), float((heard[1] ** 2).sum()))


def found_plan(
    budget: Budget, neighbours: Neighbours, purpose: Purpose, before: Past = NOTHING
) -> Plan:
    """Decide from noisy counts, before the rest is spent.

    What one kind of rounds does not take, because it would not pay, the other gets.
    """
    # Who rated what is public under REPLACE: then counts cost nothing.
    paid = 0.0 if neighbours == Neighbours.REPLACE else PROBE
    of_people = min(paid, ACTIVITY)
    of_items = rounded_down(Fraction(paid) - Fraction(of_people))
    counts, noise = budget.probe(of_items)
    choosing = purpose.choosing
    active = choosing < 1 and _people_are_active(budget, of_people)
    if choosing == 1:
        paid = of_items
    q = math.hypot(signal(counts, noise, budget), before.liking)
    plan = plan_for(q if active else 0.0, paid)
    if choosing == 0:
        return plan
    if choosing == 1:
        return _lists_plan(counts, noise, budget, plan, purpose, before) or plan
    if plan.factors == 0:
        beside = plan._replace(tallies=(1 - paid) * BESIDE_TALLIES)
    else:
        beside = plan._replace(tallies=plan.tallies * BOTH_TALLIES)
    return with_choices(counts, noise, budget, beside, purpose, before) or plan


def _lists_plan(
    counts: Floats, noise: float, budget: Budget, plan: Plan, purpose: Purpose, before: Past
) -> Plan | None:
    """For lists alone: more for the tallies where there are few directions."""
    least = plan._replace(tallies=(1 - plan.probe) * CHOICE_TALLIES)
    found = with_choices(counts, noise, budget, least, purpose, before)
    if found is None:
        return None
    share = min(TALLIES_FOR_FEW / found.choice_factors, MOST_CHOICE_TALLIES)
    more = least._replace(tallies=(1 - plan.probe) * max(share, CHOICE_TALLIES))
    d = choice_factors(counts, noise, budget, more.share, 1.0, before)
    more = found._replace(tallies=more.tallies)
    return more._replace(choice_factors=max(d, purpose.least))


def apart_plan(plan: Plan, paid: float = 0.0) -> Plan:
    """The same numbers of factors and rounds, where tallies have a purse of their own.

    `paid` is the share of the other purse that is spent on deciding.
    """
    return plan._replace(probe=paid, tallies=1.0, apart=True)


def plan_by_tallies(
    budget: Budget, purpose: Purpose, tallies: Tallies, rounds: int | None = None
) -> Plan:
    """Decide from the tallies of all publications, where these have a purse of their own.

    Then nothing that tallies cost is missing in the rounds, and no counts have to be bought before.
    `rounds` is how many there are in one of several publications.
    """
    if budget.mu == 0:
        return apart_plan(given_plan(0, 0, purpose))  # a delta that buys nothing
    paid, active = 0.0, False
    if purpose.choosing < 1:
        paid = APART_ACTIVITY
        active = _people_are_active(budget, paid)
    counts, noise = tallies.counts, float(tallies.count_variance.mean())
    plan = apart_plan(plan_for(signal(counts, noise, budget) if active else 0.0, paid), paid)
    if purpose.choosing > 0:
        plan = with_choices(counts, noise, budget, plan, purpose) or plan
    if rounds is None:
        return plan
    return plan._replace(
        rounds=min(plan.rounds, rounds), choice_rounds=min(plan.choice_rounds, rounds)
    )


def _people_are_active(budget: Budget, share: float) -> bool:
    """Whether people gave enough ratings beyond their first, for this share of the budget."""
    up_to_few, beyond = budget.activity(share)
    return bool(beyond >= LEAST_BEYOND * (up_to_few + beyond) > 0)


def with_choices(
    counts: Floats,
    noise: float,
    budget: Budget,
    plan: Plan,
    purpose: Purpose,
    before: Past = NOTHING,
) -> Plan | None:
    """The plan with rounds of choosing, if these counts can tell enough directions of choice."""
    choosing = purpose.choosing if plan.factors else 1.0
    d = choice_factors(counts, noise, budget, plan.share, choosing, before)
    if d < purpose.least:
        return None
    return plan._replace(choice_factors=d, choice_rounds=CHOICE_ROUNDS, choosing=choosing)


def choice_factors(
    counts: Floats,
    noise: float,
    budget: Budget,
    share: float,
    choosing: float,
    before: Past = NOTHING,
) -> int:
    """How many directions of choice these counts can tell, with noise of this variance on them.

    (mu^2 sum c^2 / sqrt(m))^(1/3)/2 for m items of counts c in the rounds' weights, and mu what
    choosing gets of the rounds' share.
    """
    if budget.mu == 0:
        return 0  # a delta that buys nothing
    mu = budget.lasting(share) * math.sqrt(choosing)
    per_vote, _ = budget.typical_weights(share)
    heard = (mu * per_vote) ** 2 * squares(counts, noise) + before.choosing
    shown: float = heard / math.sqrt(max(len(counts), 1))
    return int(min(round(0.5 * shown ** (1 / 3)), MOST_CHOICE_FACTORS))


def signal(counts: Floats, noise: float, budget: Budget) -> float:
    """The count of the item that a rating typically falls on, in deviations of the rounds' noise.

    From counts with noise of this variance. A large catalogue with few ratings is mostly noise:
    what that alone may show is taken off.
    """
    total = max(float(counts.sum()), math.sqrt(noise * len(counts)), 1.0)
    return budget.mu * squares(counts, noise) / total / budget.vote_scale


def plan_for(q: float, paid: float) -> Plan:
    """The plan for a signal q: factors where there is enough of it, more of them for more.

    docs/constants.md has the measurements behind these numbers.
    """
    if q < 45:
        return Plan(paid, 1 - paid, 0, 0)
    share = min(max(0.5 * (50 / q) ** (1 / 3), 0.1), 0.6)
    d = int(min(max(round(0.6 * math.sqrt(q) - 1), 1), 32))
    return Plan(paid, (1 - paid) * share, d, 8 if q >= 300 else 6)
