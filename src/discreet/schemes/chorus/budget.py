"""What Chorus spends: who pays how much for counts, tallies and rounds, and what it buys."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.data.ratings import Ratings
from discreet.data.source import RatingsSource, sum_once
from discreet.privacy.accounting import gaussian_mu, gaussian_weights, usable_mu
from discreet.privacy.fixedpoint import ONE_VOTE, root_rounded_down, rounded_down, rounded_up
from discreet.privacy.purses import Division
from discreet.release.tallies import Tallies
from discreet.schemes.base import Run
from discreet.schemes.chorus.activity import FEW, people_beyond, weight_beyond
from discreet.schemes.chorus.weighing import (
    PERSON_NORM,
    Allowance,
    PersonWeighing,
    PurseWeighing,
    RatingWeighing,
    Weighing,
)
from discreet.schemes.votes import LevelsOf, exact_votes, noisy_tallies, weight_ratio


@dataclass(frozen=True, eq=False)
class Budget(ABC):
    """One fit's budget: it draws counts and tallies, and weighs records in the rounds."""

    allowance: Allowance
    source: RatingsSource = field(repr=False)
    exact: Integers = field(repr=False)
    """Votes against and in favour of every item: secret."""
    run: Run

    @property
    @abstractmethod
    def mu(self) -> float:
        """What the whole budget is worth in Gaussian noise."""

    @property
    @abstractmethod
    def vote_scale(self) -> float:
        """How many votes one unit of protection has."""

    @abstractmethod
    def probe(self, share: float) -> tuple[Floats, float]:
        """Counts with noise that costs this share of the budget, and the noise's variance."""

    @abstractmethod
    def activity(self, share: float) -> Floats:
        """How much was given by people up to `FEW` ratings each, and how much beyond, with noise.

        Two sums over people that cost this share of the budget together.
        """

    @abstractmethod
    def tallies(self, share: float) -> Tallies:
        """Tallies that cost this share of the budget."""

    @abstractmethod
    def weighing(self, share: float) -> Weighing:
        """How records count in the rounds, for this share of the budget."""

    @abstractmethod
    def rounds(self, share: float) -> float:
        """The mu that this share of the budget buys for the rounds."""

    def lasting(self, share: float) -> float:
        """The mu of all rounds that the same records will be in: of one fit, of these."""
        return self.rounds(share)

    @abstractmethod
    def typical_weights(self, share: float) -> tuple[float, float]:
        """A rating's weight in the rounds over that in the tallies, and E[w^2]/E[w]."""

    @property
    def counts(self) -> Integers:
        """How often every item was rated, weighed: secret."""
        return np.asarray(self.exact.sum(axis=0))

    def beyond(
        self, counted: Callable[[Ratings], Ratings], given: Callable[[Ratings], Integers]
    ) -> Integers:
        """What people gave up to their first ratings, and beyond: exact, secret."""
        return sum_once(self.source, lambda part: given(counted(part)), (2,))


class RatingBudget(Budget):
    """One rating is protected: pure epsilon for counts and tallies, the rest for the rounds."""

    @property
    def vote_scale(self) -> float:
        """A rating of the largest level has one vote."""
        return 1.0

    @cached_property
    def mu(self) -> float:
        """Of a rating with the largest level."""
        return gaussian_mu(self.allowance.t, self.allowance.delta)

    def probe(self, share: float) -> tuple[Floats, float]:
        """Laplace noise; none where who rated what is public, and nothing is paid."""
        if share == 0:
            return self.counts / ONE_VOTE, 0.0
        scale = rounded_up(ONE_VOTE / (Fraction(share) * Fraction(self.allowance.t)))
        noisy = self.run.randomness.add_laplace(
            self.counts, scale, threads=self.run.compute.threads
        )
        return noisy / ONE_VOTE, 2 * (scale / ONE_VOTE) ** 2

    def activity(self, share: float) -> Floats:
        """Laplace noise: a record moves the two sums by its weight in all; none, if it is public.

        Whose each record is, and how much it counts, is public where who rated what is.
        """
        typical = np.minimum(1.0, self.allowance.typical * self.vote_scale / self.allowance.t)
        ballot = self.allowance.ballot(self.run)
        enough = int(FEW * float(typical.mean()) * ONE_VOTE)
        exact = self.beyond(ballot.counted, partial(weight_beyond, ballot.weights, enough))
        if share == 0:
            return exact / ONE_VOTE
        scale = rounded_up(ONE_VOTE / (Fraction(share) * Fraction(self.allowance.t)))
        return self.run.randomness.add_laplace(exact, scale) / ONE_VOTE

    def tallies(self, share: float) -> Tallies:
        """Tally's own, at this share of every epsilon."""
        t = rounded_down(Fraction(share) * Fraction(self.allowance.t))
        return noisy_tallies(
            self.exact,
            t,
            self.run,
            neighbours=self.allowance.neighbours,
            whole=1,
            events=self.source.events,
        )

    def weighing(self, share: float) -> Weighing:
        """By every record's own level."""
        return RatingWeighing(self.allowance, share)

    def rounds(self, share: float) -> float:
        """mu(share t, delta)."""
        return usable_mu(share * self.allowance.t, self.allowance.delta)

    def typical_weights(self, share: float) -> tuple[float, float]:
        """Over the declared levels."""
        typical, t = self.allowance.typical, self.allowance.t
        weights = gaussian_weights(share * typical, share * t, self.allowance.delta)
        in_tallies = np.minimum(1.0, typical / t)
        return float(weights.mean() / in_tallies.mean()), weight_ratio(weights)


@dataclass(frozen=True, eq=False)
class PurseBudget(RatingBudget):
    """One publication's part of two purses: the allowance is the pure one's, t its largest.

    Votes add up, so a record has them once, and is heard in the rounds of n publications.
    """

    division: Division
    weights_of: LevelsOf = field(repr=False)
    """Of records in the rounds: secret."""

    @cached_property
    def mu(self) -> float:
        """About what both purses would be worth in Gaussian noise: to plan with, not to spend.

        Of a lifetime: what rounds have shown is kept, and later publications add to it.
        """
        return self.division.life_mu / (1 - self.division.share)

    def activity(self, share: float) -> Floats:
        """Gaussian noise for this share of the publication's mu^2: all in the rounds are asked.

        A record moves the two sums by its weight in all, so by no more in norm.
        """
        how = self.weighing(share)
        enough = int(FEW * float(self._typical.mean()) * ONE_VOTE)
        beyond = partial(weight_beyond, partial(_on_grid, how), enough)
        exact = self.beyond(how.counted, beyond)
        scale = rounded_up(ONE_VOTE / Fraction(self.rounds(share)))
        return self.run.randomness.add_gaussian(exact, scale) / ONE_VOTE

    def weighing(self, share: float) -> Weighing:
        """By every record's own purse, whatever the share."""
        del share
        return PurseWeighing(self.allowance.catalogue, self.weights_of)

    def rounds(self, share: float) -> float:
        """This share of the publication's mu^2."""
        division = self.division
        usable_mu(division.gaussian_top, division.delta)
        return root_rounded_down(Fraction(division.mu) ** 2 * Fraction(share))

    def lasting(self, share: float) -> float:
        """Of all n publications."""
        return self.rounds(share) * math.sqrt(self.division.publications)

    def typical_weights(self, share: float) -> tuple[float, float]:
        """Over the declared levels, of which the allowance has the pure part."""
        del share
        weights = self._typical
        in_tallies = np.minimum(1.0, self.allowance.typical / self.allowance.t)
        return float(weights.mean() / in_tallies.mean()), weight_ratio(weights)

    @property
    def _typical(self) -> Floats:
        """Records' weights in the rounds, as levels are declared to be distributed."""
        division = self.division
        rest = self.allowance.typical * ((1 - division.share) / division.share)
        return gaussian_weights(rest, division.gaussian_top, division.delta)


class PersonBudget(Budget):
    """The whole person is protected: one Gaussian budget for counts, tallies and rounds."""

    @property
    def vote_scale(self) -> float:
        """A person's, as a root of a sum of squares."""
        return PERSON_NORM

    @cached_property
    def mu(self) -> float:
        """Of a person with the largest level."""
        return usable_mu(self.allowance.t, self.allowance.delta)

    def scale(self, share: float) -> float:
        """The noise on counts or tallies, which a person moves by PERSON_NORM votes in L2."""
        return rounded_up(PERSON_NORM * ONE_VOTE / Fraction(self.rounds(share)))

    def probe(self, share: float) -> tuple[Floats, float]:
        """Gaussian noise for this share of mu^2."""
        scale = self.scale(share)
        noisy = self.run.randomness.add_gaussian(
            self.counts, scale, threads=self.run.compute.threads
        )
        return noisy / ONE_VOTE, (scale / ONE_VOTE) ** 2

    def activity(self, share: float) -> Floats:
        """Gaussian noise for this share of mu^2: a person moves the two by PERSON_NORM in all."""
        how = PersonWeighing(self.allowance, self.run.compute)
        exact = self.beyond(how.counted, partial(people_beyond, how.vote_weights, FEW))
        return self.run.randomness.add_gaussian(exact, self.scale(share)) / ONE_VOTE

    def tallies(self, share: float) -> Tallies:
        """Gaussian noise for this share of mu^2."""
        scale, events = self.scale(share), self.source.events
        exact = self.exact[1:] if events else self.exact
        *against, in_favour = self.run.randomness.add_gaussian(
            exact, scale, threads=self.run.compute.threads
        )
        variance = np.full(len(in_favour), (scale / ONE_VOTE) ** 2)
        nothing = np.zeros_like(in_favour)
        return Tallies(nothing if events else against[0], in_favour, variance, events=events)

    def weighing(self, share: float) -> Weighing:
        """By the person's level, whatever the share."""
        del share
        return PersonWeighing(self.allowance, self.run.compute)

    def rounds(self, share: float) -> float:
        """This share of mu^2, in the rounds as elsewhere."""
        return root_rounded_down(Fraction(self.mu) ** 2 * Fraction(share))

    def typical_weights(self, share: float) -> tuple[float, float]:
        """The same for everybody."""
        del share
        return 1 / PERSON_NORM, 1 / PERSON_NORM


def _on_grid(how: Weighing, counted: Ratings) -> NDArray[np.int32]:
    """Weights in the rounds on the grid of votes, rounded down."""
    return np.floor(how.weights(counted) * ONE_VOTE).astype(np.int32)


def open_budget(source: RatingsSource, allowance: Allowance, unit: str, run: Run) -> Budget:
    """Count the exact votes, once, and open the budget that noise is bought from."""
    if unit == "person":
        usable_mu(allowance.t, allowance.delta)  # an error before everything is counted
        how = PersonWeighing(allowance, run.compute)
        exact = sum_once(source, how.votes_in, (2, len(allowance.catalogue)))
        return PersonBudget(allowance, source, exact, run)
    return RatingBudget(allowance, source, exact_votes(source, allowance.ballot(run)), run)


def open_purses(
    source: RatingsSource, allowance: Allowance, division: Division, weights_of: LevelsOf, run: Run
) -> PurseBudget:
    """The same on a divided ledger, for one publication."""
    exact = exact_votes(source, allowance.ballot(run))
    return PurseBudget(allowance, source, exact, run, division, weights_of)
