"""Tally: every rating casts a vote weighted by its own epsilon; noise is added once; proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers
from discreet.data.ratings import Ratings
from discreet.data.source import RatingsSource
from discreet.errors import ParameterError, require_choice
from discreet.privacy.certificate import Certificate
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.privacy.lifetime import Costs
from discreet.privacy.provenance import Neighbours, Pairs, Provenance
from discreet.privacy.purses import Division
from discreet.privacy.spec import PrivacySpec
from discreet.release.release import Release
from discreet.release.tallies import Tallies
from discreet.schemes.base import About, Batch, LedgerState, Option, Run, option
from discreet.schemes.certificates import certified
from discreet.schemes.model import FactorModel
from discreet.schemes.votes import (
    Ballot,
    LevelsOf,
    added_up,
    count_votes,
    exact_votes,
    noisy_tallies,
)
from discreet.schemes.voting_scheme import VotingScheme

PERSONALISATIONS = ("weigh", "sample")
Count = Callable[[RatingsSource, Ballot], Integers]
"""What adds up exact votes, where ratings are not asked part by part."""


@dataclass(frozen=True, kw_only=True)
class Tally(VotingScheme):
    """Learns how well every item is liked from noisy votes: pure epsilon for every single rating.

    A rating adds w (hi - r)/(hi - lo) to its item's votes against and w (r - lo)/(hi - lo) to those
    in favour, w = min(1, epsilon/t); every tally of the catalogue gets Laplace noise of scale 1/t.
    An event of value x adds w x to its item's count instead, and nothing else.
    A person's own taste is added where recommendations are made, from their own ratings alone.

    >>> import discreet as dc
    >>> club = dc.cinema_club()
    >>> model = Tally(items=club.items).fit(club.ratings, dc.PrivacySpec.uniform(0.5))
    >>> print(model.release.certificate.status, model.release.certificate.delta)
    proven 0.0
    """

    about: ClassVar[About] = About(
        name="Tally",
        promise="pure epsilon for every rating, at its own level; proven",
        engines=("local", "stream", "spark"),
        units=("rating", "person"),
        proven=True,
        publishes=True,
        reads_items=True,
        events=True,
    )
    theorem: ClassVar[str] = "tally"
    personalisation: str = option(
        "weigh",
        Option(
            "--personalise",
            "How ratings with smaller epsilons enter: with a smaller weight (weigh, the default), "
            "or a smaller probability (sample).",
            metavar="weigh|sample",
        ),
    )
    """How ratings with smaller epsilons enter: with a smaller weight, "weigh", or "sample"."""

    def release(
        self,
        data: RatingsSource,
        spec: PrivacySpec,
        run: Run,
        *,
        count: Count = exact_votes,
        pairs: Pairs = Pairs.CHECKED,
    ) -> Release:
        """Count, add noise, estimate."""
        self.require_suited(data)
        run = run.drawn_by(self.noise)
        run.progress("tally", 0, 2)
        ballot = self.ballot(data, spec, spec.levels, run)
        tallies = self._noisy(count(data, ballot), ballot, data, run)
        run.progress("tally", 1, 2)
        made = replace(self._provenance(data, spec, run), pairs=pairs)
        release = self._concluded(tallies, data, spec, run, certified(made))
        run.progress("tally", 2, 2)
        return release

    def checked(self, spec: PrivacySpec | None) -> PrivacySpec:
        """The specification, if all parameters are valid and go together."""
        require_choice("personalisation", self.personalisation, PERSONALISATIONS)
        if self.personalisation == "sample" and self.unit == "person":
            raise ParameterError("unit='person' goes with add/remove neighbours and 'weigh' only")
        if self.personalisation == "sample" and self.neighbours == Neighbours.REPLACE:
            raise ParameterError("sampling amplifies nothing under REPLACE: use 'weigh'")
        return super().checked(spec)

    def ballot(
        self, data: RatingsSource, spec: PrivacySpec, levels_of: LevelsOf, run: Run
    ) -> Ballot:
        """How records of these levels vote."""
        return Ballot(
            data.items,
            levels_of,
            self.t(spec),
            self.unit,
            self.personalisation,
            run.randomness,
            run.compute,
        )

    def allowances(self, data: Ratings, spec: PrivacySpec, state: LedgerState) -> Costs:
        """What every record may spend in the next publication: secret."""
        levels, t = spec.levels(data), self.t(spec)
        if state.share is None:
            return state.spends.undivided(levels, t)
        return Division(share=state.share, t=t, delta=0.0).allowed(levels, state.spends)

    def publish_batch(
        self, data: Ratings, spec: PrivacySpec, state: LedgerState, run: Run
    ) -> Batch:
        """One publication: every pair is counted once, and again only if its level was raised.

        On a ledger that Chorus has divided, with the pure share of its level.
        """
        self.require_publishable()
        self.require_suited(data)
        run = run.drawn_by(self.noise)
        costs = self.allowances(data, spec, state)
        budgets = costs.epsilon if state.share is None else costs.pure
        ballot = self.ballot(data, spec, lambda _: budgets, run)
        if state.share is not None:
            ballot = replace(ballot, t=state.share * ballot.t)
        counted = ballot.counted(data)
        weights = ballot.weights(counted)
        votes = count_votes(counted, weights, run.compute)
        tallies = added_up(self._noisy(votes, ballot, data, run), state, data.items)
        made = self._provenance(data, spec, run)
        if state.share is not None:  # noise is that of this share of t
            made = replace(made, parameters={**made.parameters, "pure_share": state.share})
        release = self._concluded(tallies, data, spec, run, certified(made, state))
        if state.before is not None:  # of a Chorus, for the next one
            liking, choosing = state.before.sums_over(data.items)
            release = replace(release, liking_sums=liking, choosing_sums=choosing)
        if self.personalisation == "weigh" and state.share is None:
            paid = weights.astype(np.float64) * (ballot.t / ONE_VOTE)
            costs = costs._replace(epsilon=paid)
        model = FactorModel(release, data, compute=run.compute)
        return Batch(model, costs, state.share)

    def _noisy(self, votes: Integers, ballot: Ballot, data: RatingsSource, run: Run) -> Tallies:
        return noisy_tallies(
            votes,
            ballot.t,
            run,
            neighbours=self.neighbours,
            whole=ballot.whole,
            events=data.events,
        )

    def _concluded(
        self,
        tallies: Tallies,
        data: RatingsSource,
        spec: PrivacySpec,
        run: Run,
        certificate: Certificate,
    ) -> Release:
        """What is released of noisy tallies: item effects, or of events their counts alone."""
        if data.events:
            return self.build_event_release(tallies, data, certificate)
        weighed = self.personalisation == "weigh"
        known = self.estimate_items(tallies, data, spec, run, weighed=weighed)
        return self.build_release(known, data, certificate)

    def _provenance(self, data: RatingsSource, spec: PrivacySpec, run: Run) -> Provenance:
        return self.provenance(
            data,
            spec,
            run.randomness,
            personalisation=self.personalisation,
            coins=self.personalisation == "sample",
            sampler=f"discrete Laplace on a grid of 2^-20 votes, {run.randomness.grid_sampler}",
        )
