"""Chorus: private factors by a noisy power iteration; each person speaks with one bounded voice."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, require_count
from discreet.features import Features
from discreet.items import Items
from discreet.kernels.sums import add_chorus, add_voices
from discreet.kernels.threads import blockwise, row_ranges, run_ranges, thread_count
from discreet.privacy.accounting import (
    GRID_EPSILON,
    gaussian_mu,
    gaussian_weights,
    grid_loss,
)
from discreet.privacy.certificate import Certificate, Neighbours
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import person_levels, share_among_own
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.ratings import Crowd, Integers, Ratings
from discreet.release import Release
from discreet.schemes.claims import chorus_certificate
from discreet.schemes.directions import (
    Listener,
    first_directions,
    more_telling,
    released_directions,
    within_the_ball,
)
from discreet.schemes.effects import Directions, Effects
from discreet.schemes.model import Batch, FactorModel
from discreet.schemes.pmf import over_catalogue
from discreet.schemes.tally import Tally, added_up, count_votes, effects_release, weight_ratio
from discreet.tallies import ONE_VOTE, Tallies

# Public constants, in units of a quarter of the scale; the same for every data set.
CLIP = 0.55
"""X: a residual counts for at most this much."""
FLOOR = 0.25
"""h0^2: a voice that has heard little stays low."""
PROBE = 0.03
"""The share of the budget that is spent on deciding how to spend the rest."""
PERSON_VOTES = 16
"""Of a whole person, as the root of the sum of squares: 256 ratings have a vote each."""
_SQUARES = 5.0
"""The variance of a Laplace number's square, over that of the number squared."""
UNIT = 1 << 20
"""Of contributions and directions."""
SUM_UNIT = 1 << 30
"""Of the rounds' sums."""

Array = NDArray[Any]
LevelsOf = Callable[[Ratings], NDArray[np.float64]]
"""Some records' levels, or what is left of them."""


class Plan(NamedTuple):
    """How the budget is spent: shares of it, number of factors and rounds."""

    probe: float
    tallies: float
    factors: int
    rounds: int

    @property
    def share(self) -> float:
        """What is left for the rounds."""
        return 1.0 - self.probe - self.tallies


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
    groups: tuple[str, ...] | None = None
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
        release = self.release(data, spec, seed=seed, progress=progress)
        return FactorModel(release, data, threads=self.threads)

    def release(
        self,
        data: Crowd,
        spec: PrivacySpec,
        *,
        seed: int | None = None,
        progress: Progress = silent,
    ) -> Release:
        """The release alone, of ratings over the catalogue, wherever they are."""
        if self.publications != 1:
            raise ParameterError(
                f"publications={self.publications} divides a lifetime budget: it goes with a ledger"
            )
        randomness = Randomness(seed)
        made = self._make(data, spec, spec.levels, randomness, None, progress)
        certificate = self._certificate(spec, randomness)
        return effects_release(data, self.items, *made[:2], certificate, made.directions)

    def prepare(self, ratings: Ratings, spec: PrivacySpec | None) -> tuple[PrivacySpec, Ratings]:
        """The specification, and the ratings over the catalogue."""
        return self.checked(spec), over_catalogue(ratings, self.items)

    def checked(self, spec: PrivacySpec | None) -> PrivacySpec:
        """The specification (by default the table's epsilon column), if all parameters are fit."""
        if not 0 < self.delta < 1:
            raise ParameterError(f"delta must be between 0 and 1: got {self.delta!r}")
        require_count("publications", self.publications)
        return self._tally.checked(spec)

    def allowances(self, data: Ratings, spec: PrivacySpec, spends: Spends) -> Array:
        """What every record may spend in the next publication: secret."""
        t = self._tally.declared_threshold(spec)
        return spends.allowance(
            spec.levels(data), t, publications=self.publications, delta=self.delta
        )

    def publish_batch(
        self, data: Ratings, spec: PrivacySpec, spends: Spends, before: Release | None,
        randomness: Randomness, progress: Progress,
    ) -> Batch:  # fmt: skip
        """One publication: every record with what its pair has left, at most its part of it."""
        budgets = self.allowances(data, spec, spends)
        made = self._make(data, spec, lambda _: budgets, randomness, before, progress)
        certificate = self._certificate(spec, randomness, ledger_after=before or True)
        release = effects_release(data, self.items, *made[:2], certificate, made.directions)
        # Tallies alone are pure: only the rounds need a delta.
        part = self.delta / self.publications if made.plan.factors else 0.0
        deltas = np.where(budgets > 0, part, 0.0)
        return Batch(FactorModel(release, data, threads=self.threads), budgets, deltas)

    @property
    def _tally(self) -> Tally:
        return Tally(
            items=self.items, groups=self.groups, threshold=self.threshold, unit=self.unit,
            neighbours=self.neighbours, threads=self.threads,
        )  # fmt: skip

    def _make(
        self, data: Crowd, spec: PrivacySpec, levels_of: LevelsOf, randomness: Randomness,
        before: Release | None, progress: Progress,
    ) -> _Made:  # fmt: skip
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
            voices = Voices(self, data, effects, plan, purse)
            # Only this batch sings: its own counts tell how loud it is.
            counts = np.maximum(np.add(*batch.votes()), 0.0)
            found = voices.sing(start, counts, randomness, progress)
            directions = more_telling(found, directions)
        return _Made(tallies, known, directions, plan)

    def purse(
        self, data: Crowd, spec: PrivacySpec, levels_of: LevelsOf, randomness: Randomness
    ) -> ByRating | ByPerson:
        """What draws counts and tallies, and weighs records in the rounds."""
        t = self._tally.declared_threshold(spec)
        budget = Budget(levels_of, spec.typical_levels(), t, self.delta, self.publications)
        kind = ByPerson if self.unit == "person" else ByRating
        return kind(self._tally, data, budget, randomness)

    def _certificate(
        self, spec: PrivacySpec, randomness: Randomness, ledger_after: Release | bool = False
    ) -> Certificate:
        return chorus_certificate(
            neighbours=self.neighbours, delta=self.delta, levels=spec.describe(),
            threshold=self._tally.declared_threshold(spec), unit=self.unit,
            fixed_catalogue=self.items is not None, randomness=randomness,
            publications=self.publications, ledger_after=ledger_after,
        )  # fmt: skip

    def _plan(self, purse: ByRating | ByPerson) -> Plan:
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


@dataclass(frozen=True, eq=False)
class Budget:
    """What every record may spend in one fit: its level (secret), and what is declared.

    t and delta are for a lifetime of so many publications.
    """

    levels_of: LevelsOf
    typical: Array
    t: float
    delta: float
    publications: int = 1


class ByRating:
    """One rating as the unit: pure epsilon for counts and tallies, the rest for the rounds."""

    def __init__(self, tally: Tally, data: Crowd, budget: Budget, randomness: Randomness) -> None:
        self.tally, self.randomness = tally, randomness
        self.t, self.levels_of, self.typical = budget.t, budget.levels_of, budget.typical
        # Votes of several publications add up, so they count in lifetime's units; voices do not.
        self.exact = tally.votes(data, budget.levels_of, self.t, randomness)
        self.votes = 1 / budget.publications
        self.top, self.delta = self.votes * budget.t, self.votes * budget.delta
        self.mu = gaussian_mu(self.top, self.delta)

    def probe(self, share: float) -> tuple[Array, float]:
        """Counts with noise that costs this share of every epsilon, and the noise's variance."""
        counts = self.exact.sum(axis=0)
        if share == 0:
            return counts / ONE_VOTE, 0.0
        scale = np.nextafter(ONE_VOTE / (share * self.t), np.inf)
        noisy = self.randomness.add_laplace(counts, scale, threads=self.tally.threads)
        return noisy / ONE_VOTE, 2 * (scale / ONE_VOTE) ** 2

    def tallies(self, share: float) -> Tallies:
        """Tallies that cost this share of every epsilon."""
        return self.tally.noisy_tallies(self.exact, share * self.t, self.randomness)

    def weights(self, part: Ratings, share: float) -> Array:
        """Some records' weights in the rounds, for this share of every epsilon."""
        return gaussian_weights(share * self.levels_of(part), share * self.top, self.delta)

    def rounds(self, share: float) -> float:
        """The rounds' mu for this share of every epsilon."""
        return gaussian_mu(share * self.top, self.delta)

    def typical_weights(self, share: float) -> tuple[float, float]:
        """A rating's weight in the rounds over that in the tallies, and E[w^2]/E[w]."""
        typical = self.typical * self.votes
        weights = gaussian_weights(share * typical, share * self.top, self.delta)
        in_tallies = np.minimum(1.0, typical / self.t)
        return float(weights.mean() / in_tallies.mean()), weight_ratio(weights)


class ByPerson:
    """The whole person as the unit: one Gaussian budget for counts, tallies and rounds."""

    votes = PERSON_VOTES

    def __init__(self, tally: Tally, data: Crowd, budget: Budget, randomness: Randomness) -> None:
        self.tally, self.budget, self.randomness = tally, budget, randomness
        self.mu = gaussian_mu(budget.t, budget.delta)
        self.exact = data.held(self.units).add_up(self._votes, (2, len(data.items)))

    def units(self, part: Ratings) -> tuple[Ratings, NDArray[np.int32]]:
        """Some people's records, and the weight of each in units of 2^-20 votes."""
        levels = person_levels(part, self.budget.levels_of(part))
        omega = gaussian_weights(levels, self.budget.t, self.budget.delta)
        return part, share_among_own(part, omega, PERSON_VOTES, norm=2)

    def _votes(self, weighed: tuple[Ratings, NDArray[np.int32]]) -> Integers:
        return np.stack(count_votes(*weighed, self.tally.threads))

    def scale(self, share: float) -> float:
        """The noise on counts or tallies, which a person moves by PERSON_VOTES votes in L2."""
        return float(np.nextafter(PERSON_VOTES * ONE_VOTE / (self.mu * math.sqrt(share)), np.inf))

    def probe(self, share: float) -> tuple[Array, float]:
        """Counts with noise that costs this share of mu^2, and the noise's variance."""
        counts = self.exact.sum(axis=0)
        scale = self.scale(share)
        noisy = self.randomness.add_gaussian(counts, scale, threads=self.tally.threads)
        return noisy / ONE_VOTE, (scale / ONE_VOTE) ** 2

    def tallies(self, share: float) -> Tallies:
        """Tallies that cost this share of mu^2."""
        scale = self.scale(share)
        check_grid(4 * self.exact.size, scale)
        noisy = self.randomness.add_gaussian(self.exact, scale, threads=self.tally.threads)
        against, in_favour = noisy
        return Tallies(against, in_favour, np.full(len(against), (scale / ONE_VOTE) ** 2))

    def weights(self, part: Ratings, share: float) -> Array:
        """Some people's records' weights in the rounds, whatever their share."""
        del share
        return self.units(part)[1] / (PERSON_VOTES * ONE_VOTE)

    def rounds(self, share: float) -> float:
        """The rounds' mu for this share of mu^2."""
        return self.mu * math.sqrt(share)

    def typical_weights(self, share: float) -> tuple[float, float]:
        """A rating's weight in the rounds over that in the tallies, and E[w^2]/E[w]."""
        del share
        return 1 / PERSON_VOTES, 1 / PERSON_VOTES


def check_grid(numbers: int, scale: float) -> None:
    """Whether the margin that the accounting sets aside covers so many discrete Gaussians."""
    if grid_loss(numbers, scale) > GRID_EPSILON / 2:
        raise ParameterError(
            "so many items and factors, or so large an epsilon, are beyond what the proof of the "
            "discrete noise covers: choose fewer factors (factors=8) or a smaller epsilon"
        )


class Contributions(NamedTuple):
    """Some people's a_ij = w x in units of 2^-20, in both orders of their ratings: secret."""

    data: Ratings
    by_user: NDArray[np.int32]
    by_item: NDArray[np.int32]


class Voices:
    """The rounds: everything secret is here, and only noisy sums leave."""

    def __init__(
        self, scheme: Chorus, data: Crowd, effects: Effects, plan: Plan,
        purse: ByRating | ByPerson,
    ) -> None:  # fmt: skip
        self.scheme, self.plan = scheme, plan
        self.threads = thread_count(scheme.threads)
        self.per_vote, self.ratio = purse.typical_weights(plan.share)
        # Cutting off products moves the other sums of a person by a unit each, and 64-bit
        # floating point by less: rho bounds both.
        rho = self.rho = 2 * math.sqrt(len(data.items) * plan.factors) / SUM_UNIT
        base = effects.mean + effects.item_effects
        quarter = data.scale.span / 4

        def weighed(rating: Array, item: Array, weights: Array) -> Array:
            a = np.clip((rating - base[item]) / quarter, -CLIP, CLIP)
            # w X + rho must stay within the weight's share of X + rho; the shave covers rounding.
            a *= np.maximum(weights - rho / CLIP, 0.0) * (1 - 2.0**-40)
            return np.trunc(a * UNIT)

        def contributions(part: Ratings) -> Contributions:
            weights = purse.weights(part, plan.share)
            by_user = blockwise(weighed, np.int32, part.rating, part.item, weights)
            return Contributions(part, by_user, part.in_item_order(by_user))

        self.contributions = data.held(contributions)
        parts = np.ones(plan.rounds)
        parts[-1] = 2.0  # what the last round shows is what is released
        self.mus = purse.rounds(plan.share) * np.sqrt(parts / parts.sum())

    def sing(
        self, z: Array, counts: Array, randomness: Randomness, progress: Progress
    ) -> Directions:
        """All rounds, beginning with z; the directions they show. `counts` are noisy votes."""
        plan = self.plan
        listener = Listener(counts * self.per_vote, plan.factors, CLIP, self.ratio)
        for k, mu in enumerate(self.mus):
            progress("rounds", k, plan.rounds)
            fed = np.trunc(within_the_ball(z, counts) * UNIT)
            sums, sigma = self.noisy_sums(fed, float(mu), randomness)
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
        moved = CLIP if self.scheme.neighbours == Neighbours.ADD_REMOVE else 2 * CLIP
        return float(np.nextafter((moved + self.rho) / mu * SUM_UNIT, np.inf))

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
