"""Chorus: private factors by a noisy power iteration; each person has one bounded vector."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np

from discreet.arrays import Floats
from discreet.data.ratings import Ratings
from discreet.data.source import RatingsSource
from discreet.errors import ParameterError, require_count
from discreet.privacy.fixedpoint import rounded_down
from discreet.privacy.lifetime import Spends
from discreet.privacy.provenance import Neighbours, Provenance
from discreet.privacy.spec import PrivacySpec
from discreet.release.release import Release
from discreet.schemes.base import About, Batch, LedgerState, Option, Run, option
from discreet.schemes.certificates import certified
from discreet.schemes.chorus.budget import Budget, Plan, open_budget
from discreet.schemes.chorus.directions import (
    first_directions,
    more_telling,
    released_directions,
)
from discreet.schemes.chorus.rounds import prepare_rounds
from discreet.schemes.chorus.weighing import Allowance
from discreet.schemes.counts import believe
from discreet.schemes.design import Directions
from discreet.schemes.model import FactorModel
from discreet.schemes.options import FACTORS
from discreet.schemes.votes import LevelsOf, added_up
from discreet.schemes.voting_scheme import Known, VotingScheme

# Public constants, the same for every data set: docs/constants.md says how they were found.
PROBE, ACTIVITY = 0.03, 0.005
"""The share of the budget that is spent on deciding how to spend the rest, and the part of it that
asks how many ratings people have, not items."""
LEAST_BEYOND = 0.375
"""Factors pay where people gave at least this share of all ratings beyond their first 20."""
_SQUARES = 5.0
"""The variance of a Laplace number's square, over that of the number squared: 24/2^2 - 1."""
TALLIES = 0.35
"""The tallies' share, where the number of factors is given."""


@dataclass(frozen=True, kw_only=True)
class Chorus(VotingScheme):
    """Learns hidden tastes on top of Tally's item effects: (epsilon, delta) for every rating.

    It is a power iteration, the textbook way to the leading factors of a matrix, with noise in
    every step and people who can move it by little each.

    One round: x = residual clipped to +-X, a = w x; person i's vector is
    u_i = g_i / sqrt(|g_i|^2 + h_i^2 + h0^2) with g_i = sum_j a_ij z_j, h_i^2 = sum_j a_ij^2, kept
    secret; item j's sum_i a_ij u_i is released with Gaussian noise and gives the next z.

    >>> import discreet as dc
    >>> club = dc.cinema_club()
    >>> scheme = Chorus(items=club.items, delta=1e-6, factors=2, rounds=2)
    >>> release = scheme.fit(club.ratings, dc.PrivacySpec.uniform(1.0), seed=0).release
    >>> [name for name in release.factor_names if name.startswith("factor")]
    ['factor 1', 'factor 2']
    """

    about: ClassVar[About] = About(
        name="Chorus",
        promise="(epsilon, delta) for every rating, at its own level; proven; hidden factors",
        engines=("local", "stream", "spark"),
        units=("rating", "person"),
        proven=True,
        publishes=True,
        reads_items=True,
        audited=({"delta": 0.1, "factors": 1, "rounds": 2},),
    )
    theorem: ClassVar[str] = "chorus"
    delta: float = option(
        1e-8, Option("--delta", "delta (1e-8): well below 1 / number of ratings.", float)
    )
    """Well below one over the number of ratings, or of people."""
    factors: int | str = option("auto", FACTORS)
    """A number, or "auto": 3% of the budget buys noisy counts of items and people, which decide."""
    rounds: int = 6
    """Rounds, where the number of factors is given."""
    publications: int = option(
        1,
        Option(
            "--publications",
            "With --ledger: in how many releases a rating takes part (1), each time with this part "
            "of its epsilon and of delta.",
            int,
        ),
    )
    """With a ledger: in how many releases a rating takes part, each time with this part of its
    epsilon and of delta."""

    def release(self, data: RatingsSource, spec: PrivacySpec, run: Run) -> Release:
        """Probe, tally, and run the rounds."""
        self.require_suited(data)
        if self.publications != 1:
            raise ParameterError(
                f"publications={self.publications} divides a lifetime budget: it goes with a ledger"
            )
        learned = self._learn(data, spec, spec.levels, run)
        certificate = certified(self._provenance(data, spec, run))
        return self.build_release(learned.known, data, certificate, learned.directions)

    def checked(self, spec: PrivacySpec | None) -> PrivacySpec:
        """The specification, if all parameters are valid and go together."""
        if not 0 < self.delta < 1:
            raise ParameterError(f"delta must be between 0 and 1: got {self.delta!r}")
        require_count("publications", self.publications)
        if self.noise != "exact":
            raise ParameterError(
                f"noise={self.noise!r} goes with Tally only: Chorus' proof needs rounded Gaussian "
                "noise, which nothing but noise='exact' draws"
            )
        return super().checked(spec)

    def allowances(self, data: Ratings, spec: PrivacySpec, spends: Spends) -> Floats:
        """What every record may spend in the next publication: secret."""
        return spends.allowance(
            spec.levels(data), self.t(spec), publications=self.publications, delta=self.delta
        )

    def publish_batch(
        self, data: Ratings, spec: PrivacySpec, state: LedgerState, run: Run
    ) -> Batch:
        """One publication: every record with what its pair has left, at most its part of it."""
        self.require_publishable()
        self.require_suited(data)
        budgets = self.allowances(data, spec, state.spends)
        learned = self._learn(data, spec, lambda _: budgets, run, state.before)
        parts = {"publications": self.publications, "delta": self.delta}
        made = replace(self._provenance(data, spec, run), parameters=parts)
        certificate = certified(made, state)
        release = self.build_release(learned.known, data, certificate, learned.directions)
        # Tallies alone are pure: only the rounds need a delta.
        part = self.delta / self.publications if learned.plan.factors else 0.0
        deltas = np.where(budgets > 0, part, 0.0)
        return Batch(FactorModel(release, data, compute=run.compute), budgets, deltas)

    def budget(
        self, data: RatingsSource, spec: PrivacySpec, levels_of: LevelsOf, run: Run
    ) -> Budget:
        """What draws counts and tallies, and weighs records in the rounds."""
        allowance = Allowance(
            data.items,
            levels_of,
            spec.typical_levels(),
            self.t(spec),
            self.delta,
            self.publications,
            self.neighbours,
        )
        return open_budget(data, allowance, self.unit, run)

    def _provenance(self, data: RatingsSource, spec: PrivacySpec, run: Run) -> Provenance:
        return self.provenance(
            data,
            spec,
            run.randomness,
            personalisation="weigh",
            delta=self.delta,
            sampler="discrete Laplace (rounded Gaussian for a person) on a grid of 2^-20 votes, "
            f"rounded Gaussian on a grid of 2^-30, {run.randomness.grid_sampler}",
        )

    def _learn(
        self,
        data: RatingsSource,
        spec: PrivacySpec,
        levels_of: LevelsOf,
        run: Run,
        before: Release | None = None,
    ) -> _Learned:
        """Everything that draws noise, and what is concluded from it and from a release before."""
        budget = self.budget(data, spec, levels_of, run)
        plan = self._plan(budget)
        batch = budget.tallies(plan.tallies)
        known = self.estimate_items(added_up(batch, before, data.items), data, spec, run)
        effects = known.effects
        directions = None if before is None else released_directions(before, data.items, effects)
        if plan.factors:
            start = first_directions(
                effects, known.features, plan.factors, run.randomness.training, directions
            )
            base = effects.mean + effects.item_effects
            rounds = prepare_rounds(data, base, plan, budget, neighbours=self.neighbours, run=run)
            # Only this batch is in the rounds: its own counts tell how strong they are.
            found = rounds.run(start, believe(batch, run.compute.workers).means)
            directions = more_telling(found, directions)
        return _Learned(known, directions, plan)

    def _plan(self, budget: Budget) -> Plan:
        """Decide from noisy counts, before the rest is spent."""
        if self.factors != "auto":
            d = require_count("factors", self.factors, least=0)
            rounds = require_count("rounds", self.rounds)
            return Plan(0.0, TALLIES, d, rounds) if d else Plan(0.0, 1.0, 0, 0)
        # Who rated what is public under REPLACE: then counts cost nothing.
        paid = 0.0 if self.neighbours == Neighbours.REPLACE else PROBE
        of_people = min(paid, ACTIVITY)
        counts = budget.probe(rounded_down(Fraction(paid) - Fraction(of_people)))
        up_to_few, beyond = budget.activity(of_people)
        active = beyond >= LEAST_BEYOND * (up_to_few + beyond) > 0
        return plan_for(signal(*counts, budget) if active else 0.0, paid)


def signal(counts: Floats, noise: float, budget: Budget) -> float:
    """The count of the item that a rating typically falls on, in deviations of the rounds' noise.

    From counts with noise of this variance. A large catalogue with few ratings is mostly noise:
    what that alone may show is taken off.
    """
    by_chance = noise * (len(counts) + math.sqrt(_SQUARES * len(counts)))
    total = max(float(counts.sum()), math.sqrt(noise * len(counts)), 1.0)
    shown = max(float((counts**2).sum()) - by_chance, 0.0)
    return budget.mu * shown / total / budget.vote_scale


def plan_for(q: float, paid: float) -> Plan:
    """The plan for a signal q: factors where there is enough of it, more of them for more.

    docs/constants.md has the measurements behind these numbers.
    """
    if q < 45:
        return Plan(paid, 1 - paid, 0, 0)
    share = min(max(0.5 * (50 / q) ** (1 / 3), 0.1), 0.6)
    d = int(min(max(round(0.6 * math.sqrt(q) - 1), 1), 32))
    return Plan(paid, (1 - paid) * share, d, 8 if q >= 300 else 6)


class _Learned(NamedTuple):
    known: Known
    directions: Directions | None
    plan: Plan
