"""Chorus: private factors by a noisy power iteration; each person has one bounded vector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from discreet.data.ratings import Ratings
from discreet.data.source import RatingsSource
from discreet.errors import ParameterError, require_choice, require_count
from discreet.privacy.certificate import Certificate
from discreet.privacy.lifetime import Costs
from discreet.privacy.provenance import Provenance
from discreet.privacy.purses import PURE_SHARE, Division, divide
from discreet.privacy.spec import PrivacySpec
from discreet.release.release import Release
from discreet.release.tallies import Tallies
from discreet.schemes.base import About, Batch, LedgerState, Option, Run, option
from discreet.schemes.certificates import certified
from discreet.schemes.chorus.budget import Budget, PurseBudget, open_budget, open_purses
from discreet.schemes.chorus.learning import Choices, Learning, Tastes
from discreet.schemes.chorus.plan import (
    FIRST_ROUNDS,
    LATER_ROUNDS,
    NOTHING,
    PURPOSES,
    Plan,
    Purpose,
    apart_plan,
    found_plan,
    given_plan,
    past,
    plan_by_tallies,
    purpose_of,
)
from discreet.schemes.chorus.weighing import Allowance
from discreet.schemes.model import FactorModel
from discreet.schemes.options import FACTORS
from discreet.schemes.votes import LevelsOf, added_up, believed
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
            "With --ledger: in how many releases a rating takes part (1). Its tallies are counted "
            "once; its rounds have so many parts, and their noise grows with the root of it.",
            int,
        ),
    )
    """With a ledger: in how many releases a rating takes part. Its pure purse is spent on tallies
    at the first, the other one in so many equal parts."""
    pure_share: float | None = option(
        None,
        Option(
            "--pure-share",
            "With --ledger and --publications: the share of every epsilon that pays for tallies "
            f"({PURE_SHARE:g}), the rest for rounds; the same for a ledger's whole life.",
            float,
        ),
    )
    """With a ledger: the share of every epsilon that is pure, where it is divided into purses: for
    the ledger's whole life. None: the ledger's own, or 0.45."""

    def release(self, data: RatingsSource, spec: PrivacySpec, run: Run) -> Release:
        """Probe, tally, and run the rounds."""
        self.require_suited(data)
        if self.publications != 1:
            raise ParameterError(
                f"publications={self.publications} divides a lifetime budget: it goes with a ledger"
            )
        budget = self.budget(data, spec, spec.levels, run)
        learned = self._learn(data, spec, budget, run)
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

    def division(self, spec: PrivacySpec, share: float | None) -> Division | None:
        """How lifetimes are divided; None if a rating is counted once, and the ledger is whole.

        `share` is the ledger's, if it was divided before.
        """
        return divide(
            t=self.t(spec),
            delta=self.delta,
            publications=self.publications,
            share=share,
            wanted=self.pure_share,
        )

    def allowances(self, data: Ratings, spec: PrivacySpec, state: LedgerState) -> Costs:
        """What every record may spend in the next publication: secret."""
        levels, division = spec.levels(data), self.division(spec, state.share)
        if division is None:
            return state.spends.undivided(levels, self.t(spec), delta=self.delta)
        return division.allowed(levels, state.spends)

    def publish_batch(
        self, data: Ratings, spec: PrivacySpec, state: LedgerState, run: Run
    ) -> Batch:
        """One publication: every record with what its pair has left, at most its part of it."""
        self.require_publishable()
        self.require_suited(data)
        costs, division = self.allowances(data, spec, state), self.division(spec, state.share)
        if division is None:
            budget = self.budget(data, spec, lambda _: costs.epsilon, run)
        else:
            budget = self.purse_budget(data, spec, division, costs, run)
        learned = self._learn(data, spec, budget, run, state)
        parts: dict[str, int | float] = {"publications": self.publications, "delta": self.delta}
        if division is not None:
            parts["pure_share"] = division.share
        made = self._provenance(data, spec, run)
        made = replace(made, parameters={**made.parameters, **parts})
        certificate = certified(made, state)
        release = self._concluded(learned, data, certificate)
        if not learned.plan.has_rounds:
            # Tallies alone are pure; to ask whether rounds would pay is not, on a divided ledger.
            nothing = np.broadcast_to(0.0, costs.level.shape)
            costs = costs._replace(delta=nothing, mu2=learned.plan.probe * costs.mu2)
        model = FactorModel(release, data, compute=run.compute)
        return Batch(model, costs, None if division is None else division.share)

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
            self.neighbours,
        )
        return open_budget(data, allowance, self.unit, run)

    def purse_budget(
        self, data: Ratings, spec: PrivacySpec, division: Division, costs: Costs, run: Run
    ) -> Budget:
        """The same for one publication from two purses, in which records may spend `costs`."""
        weights = division.weights(costs.mu2)
        allowance = Allowance(
            data.items,
            lambda _: costs.pure,
            division.share * spec.typical_levels(),
            division.pure_top,
            division.delta,
            self.neighbours,
        )
        return open_purses(data, allowance, division, lambda _: weights, run)

    def _provenance(self, data: RatingsSource, spec: PrivacySpec, run: Run) -> Provenance:
        return self.provenance(
            data,
            spec,
            run.randomness,
            personalisation="weigh",
            delta=self.delta,
            parameters={"purpose": self.purpose, "choosing": self._purpose(data).choosing},
            sampler="discrete Laplace (rounded Gaussian for a person) on a grid of 2^-20 votes, "
            f"rounded Gaussian on a grid of 2^-30, {run.randomness.grid_sampler}",
        )

    def _learn(
        self,
        data: RatingsSource,
        spec: PrivacySpec,
        budget: Budget,
        run: Run,
        state: LedgerState | None = None,
    ) -> _Learned:
        """Everything that draws noise, and what is concluded from it and from a release before."""
        before = None if state is None else state.before
        plan = None if isinstance(budget, PurseBudget) else self._plan(budget, data, before)
        share = 1.0 if plan is None else plan.tallies
        batch = budget.tallies(share)
        heard = believed(batch, before, data.items)
        tallies = added_up(batch, state, data.items)
        if plan is None:
            # Tallies are of new ratings, and the rounds hear the others once more.
            plan, heard = self._purse_plan(budget, data, tallies, before), tallies
        known = None if data.events else self.estimate_items(tallies, data, spec, run)
        learning = Learning(
            data, budget, plan, heard, tallies, before, self.neighbours, run, state is not None
        )
        tastes = Tastes(None, None) if known is None else learning.liking(known)
        features = self.features(len(tallies)) if known is None else known.features
        return _Learned(tallies, known, tastes, learning.choosing(features), plan)

    def _concluded(
        self, learned: _Learned, data: RatingsSource, certificate: Certificate
    ) -> Release:
        """What is released of it: of events there are counts and choices alone."""
        tallies, known, tastes, choices, _ = learned
        if known is None:
            made = self.build_event_release(tallies, data, certificate, choices.factors)
        else:
            found = tastes.directions, choices.factors
            made = self.build_release(known, data, certificate, *found)
        return replace(made, liking_sums=tastes.sums, choosing_sums=choices.sums)

    def _purpose(self, data: RatingsSource) -> Purpose:
        """What the rounds are for."""
        return purpose_of(self.purpose, events=data.events)

    def _plan(self, budget: Budget, data: RatingsSource, before: Release | None) -> Plan:
        """What the rounds are for, and what they and the tallies get."""
        purpose = self._purpose(data)
        if self.factors != "auto":
            return self._given_plan(purpose)
        heard = NOTHING if before is None else past(before.liking_sums, before.choosing_sums)
        return found_plan(budget, self.neighbours, purpose, heard)

    def _purse_plan(
        self, budget: Budget, data: RatingsSource, tallies: Tallies, before: Release | None
    ) -> Plan:
        """The same, where tallies have a purse of their own."""
        purpose = self._purpose(data)
        if self.factors != "auto":
            return apart_plan(self._given_plan(purpose))
        if self.publications == 1:
            return plan_by_tallies(budget, purpose, tallies)
        begun = before is not None and (before.liking_sums or before.choosing_sums)
        rounds = LATER_ROUNDS if begun else FIRST_ROUNDS
        return plan_by_tallies(budget, purpose, tallies, rounds)

    def _given_plan(self, purpose: Purpose) -> Plan:
        d = require_count("factors", self.factors, least=0)
        return given_plan(d, require_count("rounds", self.rounds), purpose)


class _Learned(NamedTuple):
    tallies: Tallies
    known: Known | None
    """None of events."""
    tastes: Tastes
    choices: Choices
    plan: Plan
