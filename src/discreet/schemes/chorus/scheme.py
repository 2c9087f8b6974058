"""Chorus: private factors by a noisy power iteration; each person speaks with one bounded voice."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from discreet.arrays import Array
from discreet.data.edges import require_inside
from discreet.data.features import Features
from discreet.data.items import Items
from discreet.data.ratings import Ratings, RatingsSource
from discreet.errors import ParameterError, require_count
from discreet.privacy.fixedpoint import GRID_DELTA, LARGEST_EPSILON, SMALLEST_DELTA
from discreet.privacy.history import History
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours, Provenance
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.release.release import Release
from discreet.release.tallies import Tallies
from discreet.schemes.base import Batch, FactorModel
from discreet.schemes.certificates import certified, recorded
from discreet.schemes.chorus.budget import Budget, LevelsOf, PersonBudget, Plan, RatingBudget
from discreet.schemes.chorus.directions import first_directions, more_telling, released_directions
from discreet.schemes.chorus.rounds import NoisyRounds
from discreet.schemes.effects import Directions, Effects
from discreet.schemes.pmf.pmf import over_catalogue
from discreet.schemes.tally import Tally, added_up, effects_release

# Public constants, the same for every data set; measured in docs/constants.md.
PROBE = 0.03
"""The share of the budget that is spent on deciding how to spend the rest."""
_SQUARES = 5.0
"""The variance of a Laplace number's square, over that of the number squared: 24/2^2 - 1."""


@dataclass(frozen=True, kw_only=True)
class Chorus:
    """Tally's item effects, and hidden factors on top, (epsilon, delta) for every single rating.

    One round: x = residual clipped to +-X, a = w x; person i's voice is
    u_i = g_i / sqrt(|g_i|^2 + h_i^2 + h0^2) with g_i = sum_j a_ij z_j, h_i^2 = sum_j a_ij^2, kept
    secret; item j's sum_i a_ij u_i is released with Gaussian noise and gives the next z.

    >>> Chorus(delta=1e-7).factors
    'auto'
    """

    delta: float = 1e-8
    """Well below one over the number of ratings, or of people."""
    items: Items | None = None
    families: tuple[str, ...] | None = None
    factors: int | str = "auto"
    """A number, or "auto": 3% of the budget buys noisy counts, and they decide."""
    rounds: int = 6
    """Rounds, where the number of factors is given."""
    threshold: float | None = None
    unit: str = "rating"
    """What is protected: one "rating", or all ratings of a "person" together, at the smallest level
    that the person gave to any of them."""
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    publications: int = 1
    """With a ledger: in how many releases a rating takes part, each time with this part of its
    epsilon and of delta."""
    threads: int | None = None

    def fit(
        self,
        ratings: Ratings,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        progress: Progress = silent,
    ) -> FactorModel:
        """Probe, tally, sing; without a specification, the table's epsilon column."""
        spec, data = self.prepare(ratings, spec)
        require_inside(ratings, self.items)
        # A rating's level is its own; a person's may be on a record that is dropped.
        whole = ratings.over(data.items) if self.unit == "person" else data
        release = self.release(whole, spec, seed=seed, progress=progress)
        return FactorModel(release, data, threads=self.threads)

    def release(
        self,
        data: RatingsSource,
        spec: PrivacySpec,
        *,
        seed: int | None = None,
        progress: Progress = silent,
    ) -> Release:
        """The release alone, of ratings counted over the catalogue, wherever they are."""
        if self.publications != 1:
            raise ParameterError(
                f"publications={self.publications} divides a lifetime budget: it goes with a ledger"
            )
        randomness = Randomness(seed)
        made = self._make(data, spec, spec.levels, randomness, None, progress)
        certificate = certified(self.made(data, spec, randomness))
        return effects_release(data, self.items, *made[:2], certificate, made.directions)

    def prepare(self, ratings: Ratings, spec: PrivacySpec | None) -> tuple[PrivacySpec, Ratings]:
        """The specification, and the ratings over the catalogue."""
        return self.checked(spec), over_catalogue(ratings, self.items)

    def checked(self, spec: PrivacySpec | None) -> PrivacySpec:
        """The specification (by default the table's epsilon column), if all parameters are fit."""
        if not 0 < self.delta < 1:
            raise ParameterError(f"delta must be between 0 and 1: got {self.delta!r}")
        parts = require_count("publications", self.publications)
        if self.delta / parts < SMALLEST_DELTA:
            raise ParameterError(
                f"delta must be at least {SMALLEST_DELTA:g} for every publication, because "
                f"{GRID_DELTA:g} of each is set aside for noise on a grid: got {self.delta!r} for "
                f"{parts}"
            )
        return self._tally.checked(spec)

    def allowances(self, data: Ratings, spec: PrivacySpec, spends: Spends) -> Array:
        """What every record may spend in the next publication: secret."""
        t = self._tally.declared_threshold(spec)
        return spends.allowance(
            spec.levels(data), t, publications=self.publications, delta=self.delta
        )

    def publish_batch(
        self,
        data: Ratings,
        spec: PrivacySpec,
        spends: Spends,
        before: Release | None,
        randomness: Randomness,
        progress: Progress,
        *,
        history: History | None = None,
    ) -> Batch:
        """One publication: every record with what its pair has left, at most its part of it."""
        budgets = self.allowances(data, spec, spends)
        made = self._make(data, spec, lambda _: budgets, randomness, before, progress)
        parts = {"publications": self.publications, "delta": self.delta}
        recorded_now = replace(self.made(data, spec, randomness), parameters=parts)
        certificate = certified(recorded_now, history, before)
        release = effects_release(data, self.items, *made[:2], certificate, made.directions)
        # Tallies alone are pure: only the rounds need a delta.
        part = self.delta / self.publications if made.plan.factors else 0.0
        deltas = np.where(budgets > 0, part, 0.0)
        return Batch(FactorModel(release, data, threads=self.threads), budgets, deltas)

    @property
    def _tally(self) -> Tally:
        return Tally(
            items=self.items,
            families=self.families,
            threshold=self.threshold,
            unit=self.unit,
            neighbours=self.neighbours,
            threads=self.threads,
        )

    def _make(
        self,
        data: RatingsSource,
        spec: PrivacySpec,
        levels_of: LevelsOf,
        randomness: Randomness,
        before: Release | None,
        progress: Progress,
    ) -> _Made:
        """Everything that draws noise, and what is concluded from it and from a release before."""
        tally = self._tally
        t = tally.declared_threshold(spec)
        purse = self.purse(data, spec, levels_of, randomness)
        plan = self._plan(purse)
        batch = purse.tallies(plan.tallies)
        tallies = added_up(batch, before, data.items)
        known = features, effects = tally.estimates(data, tallies, spec, t)
        directions = None if before is None else released_directions(before, data.items, effects)
        if plan.factors:
            start = first_directions(
                effects, features, plan.factors, randomness.training, directions
            )
            voices = NoisyRounds(
                data, effects, plan, purse, neighbours=self.neighbours, threads=self.threads
            )
            # Only this batch sings: its own counts tell how loud it is.
            counts = np.maximum(np.add(*batch.votes()), 0.0)
            found = voices.run(start, counts, randomness, progress)
            directions = more_telling(found, directions)
        return _Made(tallies, known, directions, plan)

    def purse(
        self, data: RatingsSource, spec: PrivacySpec, levels_of: LevelsOf, randomness: Randomness
    ) -> RatingBudget | PersonBudget:
        """What draws counts and tallies, and weighs records in the rounds."""
        t = self._tally.declared_threshold(spec)
        budget = Budget(levels_of, spec.typical_levels(), t, self.delta, self.publications)
        kind = PersonBudget if self.unit == "person" else RatingBudget
        return kind(self._tally, data, budget, randomness)

    def made(self, data: RatingsSource, spec: PrivacySpec, randomness: Randomness) -> Provenance:
        """What bears on the promise of a release."""
        theorem = "chorus-person" if self.unit == "person" else "chorus"
        if self.neighbours == Neighbours.REPLACE:
            theorem = "chorus-replace"
        return recorded(
            theorem,
            items=self.items,
            data=data,
            spec=spec,
            randomness=randomness,
            threshold=self._tally.declared_threshold(spec),
            proven_up_to=LARGEST_EPSILON,
            scheme="Chorus",
            variant="whole table",
            unit=self.unit,
            neighbours=self.neighbours,
            personalisation="weigh",
            delta=self.delta,
            sampler="discrete Laplace (Gaussian for a person) on a grid of 2^-20 votes, discrete "
            f"Gaussian on a grid of 2^-30, {randomness.grid_sampler}",
        )

    def _plan(self, purse: RatingBudget | PersonBudget) -> Plan:
        """Decide from noisy counts, before the rest is spent."""
        if self.factors != "auto":
            d = require_count("factors", self.factors, least=0)
            rounds = require_count("rounds", self.rounds)
            return Plan(0.0, 0.35, d, rounds) if d else Plan(0.0, 1.0, 0, 0)
        # Who rated what is public under REPLACE: then counts cost nothing.
        paid = 0.0 if self.neighbours == Neighbours.REPLACE else PROBE
        votes, noise = purse.probe(paid)
        # The count of the item that a rating typically falls on, in units of the rounds' noise. A
        # large catalogue with few ratings is mostly noise: what that alone may show is taken off.
        by_chance = noise * (len(votes) + math.sqrt(_SQUARES * len(votes)))
        total = max(float(votes.sum()), math.sqrt(noise * len(votes)), 1.0)
        q = purse.mu * max(float((votes**2).sum()) - by_chance, 0.0) / total / purse.votes
        # The numbers of this rule were measured: docs/constants.md#inside-functions.
        if q < 45:
            return Plan(paid, 1 - paid, 0, 0)
        share = min(max(0.5 * (50 / q) ** (1 / 3), 0.1), 0.6)
        d = int(min(max(round(0.6 * math.sqrt(q) - 1), 1), 32))
        return Plan(paid, (1 - paid) * share, d, 8 if q >= 300 else 6)


class _Made(NamedTuple):
    tallies: Tallies
    known: tuple[Features, Effects]
    directions: Directions | None
    plan: Plan
