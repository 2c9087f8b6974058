"""Chorus: private factors by a noisy power iteration; each person has one bounded vector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from discreet.arrays import Floats
from discreet.data.ratings import Ratings
from discreet.data.source import RatingsSource
from discreet.errors import ParameterError, require_choice, require_count
from discreet.privacy.certificate import Certificate
from discreet.privacy.lifetime import Spends
from discreet.privacy.provenance import Provenance
from discreet.privacy.spec import PrivacySpec
from discreet.release.choice_factors import ChoiceFactors
from discreet.release.release import Release
from discreet.release.tallies import Tallies
from discreet.schemes.base import About, Batch, LedgerState, Option, Run, option
from discreet.schemes.certificates import certified
from discreet.schemes.chorus.budget import Budget, open_budget
from discreet.schemes.chorus.learning import Learning
from discreet.schemes.chorus.plan import PURPOSES, Plan, found_plan, given_plan
from discreet.schemes.chorus.weighing import Allowance
from discreet.schemes.design import Directions
from discreet.schemes.model import FactorModel
from discreet.schemes.options import FACTORS
from discreet.schemes.votes import LevelsOf, added_up
from discreet.schemes.voting_scheme import Known, VotingScheme

PURPOSE = Option(
    "--purpose",
    "What the rounds learn: how items are liked (ratings), who chooses what (lists), or both (the "
    "default).",
    metavar="ratings|lists|both",
)


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
        events=True,
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
    purpose: str = option("both", PURPOSE)
    """What the rounds learn: how items are liked ("ratings"), who chooses what ("lists"), or "both"
    by a declared share. Events have choices alone."""
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
        return self._concluded(learned, data, certificate)

    def checked(self, spec: PrivacySpec | None) -> PrivacySpec:
        """The specification, if all parameters are valid and go together."""
        if not 0 < self.delta < 1:
            raise ParameterError(f"delta must be between 0 and 1: got {self.delta!r}")
        require_count("publications", self.publications)
        require_choice("purpose", self.purpose, tuple(PURPOSES))
        if self.noise != "exact":
            raise ParameterError(
                f"noise={self.noise!r} goes with Tally only: Chorus' proof needs rounded Gaussian "
                "noise, which nothing but noise='exact' draws"
            )
        return super().checked(spec)

    def require_suited(self, data: RatingsSource) -> None:
        """Events have no ratings to learn from."""
        super().require_suited(data)
        if data.events and self.purpose == "ratings":
            raise ParameterError(
                "purpose='ratings' learns how items are liked, and events have no ratings: choose "
                "'lists' or 'both'"
            )

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
        made = self._provenance(data, spec, run)
        made = replace(made, parameters={**made.parameters, **parts})
        certificate = certified(made, state)
        release = self._concluded(learned, data, certificate)
        # Tallies alone are pure: only the rounds need a delta.
        part = self.delta / self.publications if learned.plan.has_rounds else 0.0
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
            parameters={"purpose": self.purpose, "choosing": self._choosing(data)},
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
        plan = self._plan(budget, data)
        batch = budget.tallies(plan.tallies)
        tallies = added_up(batch, before, data.items)
        known = None if data.events else self.estimate_items(tallies, data, spec, run)
        learning = Learning(data, budget, plan, batch, before, self.neighbours, run)
        directions = None if known is None else learning.liking(known)
        features = self.features(len(tallies)) if known is None else known.features
        return _Learned(tallies, known, directions, learning.choosing(features), plan)

    def _concluded(
        self, learned: _Learned, data: RatingsSource, certificate: Certificate
    ) -> Release:
        """What is released of it: of events there are counts and choices alone."""
        tallies, known, directions, choices, _ = learned
        if known is None:
            return self.build_event_release(tallies, data, certificate, choices)
        return self.build_release(known, data, certificate, directions, choices)

    def _choosing(self, data: RatingsSource) -> float:
        """The share of the rounds that is for choosing: events have nothing else."""
        return 1.0 if data.events else PURPOSES[self.purpose]

    def _plan(self, budget: Budget, data: RatingsSource) -> Plan:
        """What the rounds are for, and what they get."""
        choosing = self._choosing(data)
        if self.factors == "auto":
            return found_plan(budget, self.neighbours, choosing)
        d = require_count("factors", self.factors, least=0)
        return given_plan(d, require_count("rounds", self.rounds), choosing)


class _Learned(NamedTuple):
    tallies: Tallies
    known: Known | None
    """None of events."""
    directions: Directions | None
    choices: ChoiceFactors | None
    plan: Plan
