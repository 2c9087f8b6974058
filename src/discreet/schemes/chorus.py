"""Chorus: private factors by a noisy power iteration; each person speaks with one bounded voice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, require_count
from discreet.features import Features
from discreet.items import Items
from discreet.kernels.cpu import add_chorus, add_voices
from discreet.kernels.threads import row_ranges, run_ranges, thread_count
from discreet.privacy.accounting import gaussian_mu, gaussian_weights
from discreet.privacy.certificate import Neighbours
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.ratings import Ratings
from discreet.schemes.claims import chorus_certificate
from discreet.schemes.directions import Round, combine, first_directions, within_the_ball
from discreet.schemes.effects import Directions, Effects
from discreet.schemes.model import FactorModel
from discreet.schemes.tally import Tally, count_votes, effects_release, weight_ratio
from discreet.tallies import ONE_VOTE

# Public constants, in units of a quarter of the scale; the same for every data set.
CLIP = 0.55
"""X: a residual counts for at most this much."""
FLOOR = 0.25
"""h0^2: a voice that has heard little stays low."""
PROBE = 0.04
"""The share of every epsilon that is spent on deciding how to spend the rest."""
_UNIT = 1 << 20
_SUM_UNIT = 1 << 30
_MOST_NUMBERS, _LEAST_SCALE = 10**7, 2.0**26
"""Within these the discrete Gaussian is as good as a rounded one: docs/proofs/chorus.md."""

Array = NDArray[Any]


class Plan(NamedTuple):
    """How the budget is spent: shares of every epsilon, number of factors and rounds."""

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
    """Well below one over the number of ratings."""
    items: Items | None = None
    groups: tuple[str, ...] | None = None
    factors: int | str = "auto"
    """A number, or "auto": 4% of every epsilon buys noisy counts, and they decide."""
    rounds: int = 6
    """Rounds, where the number of factors is given."""
    threshold: float | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
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
        if not 0 < self.delta < 1:
            raise ParameterError(f"delta must be between 0 and 1: got {self.delta!r}")
        tally = Tally(
            items=self.items, groups=self.groups, threshold=self.threshold,
            neighbours=self.neighbours, threads=self.threads,
        )  # fmt: skip
        spec, data = tally.prepare(ratings, spec)
        t, levels, randomness = tally.declared_threshold(spec), spec.levels(data), Randomness(seed)
        units = tally.units(data, levels, t, randomness)
        plan = self._plan(data, units, t, randomness)
        tallies = tally.noisy_tallies(data, units, plan.tallies * t, randomness)
        known = tally.estimates(data, tallies, spec, t)
        directions = None
        if plan.factors:
            weights = gaussian_weights(plan.share * levels, plan.share * t, self.delta)
            voices = _Voices(self, data, known[1], weights, plan, t)
            directions = voices.sing(*known, spec, randomness, progress)
        certificate = chorus_certificate(
            neighbours=self.neighbours, delta=self.delta, levels=spec.describe(), threshold=t,
            fixed_catalogue=self.items is not None, randomness=randomness,
        )  # fmt: skip
        release = effects_release(data, self.items, tallies, known, certificate, directions)
        return FactorModel(release, data, threads=self.threads)

    def _plan(
        self, data: Ratings, units: NDArray[np.int32], t: float, randomness: Randomness
    ) -> Plan:
        """Decide from noisy counts, before the rest is spent."""
        if self.factors != "auto":
            d = require_count("factors", self.factors, least=0)
            rounds = require_count("rounds", self.rounds)
            return Plan(0.0, 0.35, d, rounds) if d else Plan(0.0, 1.0, 0, 0)
        counts = np.sum(count_votes(data, units, self.threads), axis=0)
        scale, paid = np.nextafter(ONE_VOTE / (PROBE * t), np.inf), PROBE
        if self.neighbours == Neighbours.REPLACE:
            paid, noise = 0.0, 0.0  # who rated what is public
        else:
            counts, noise = randomness.add_laplace(counts, scale), 2 * (scale / ONE_VOTE) ** 2
        votes = counts / ONE_VOTE
        # The count of the item that a rating typically falls on, in units of the rounds' noise.
        typical = max(0.0, float((votes**2 - noise).sum())) / max(float(votes.sum()), 1.0)
        q = gaussian_mu(t, self.delta) * typical
        if q < 45:
            return Plan(paid, 1 - paid, 0, 0)
        share = min(max(0.5 * (50 / q) ** (1 / 3), 0.1), 0.6)
        d = int(min(max(round(0.6 * math.sqrt(q) - 1), 1), 32))
        return Plan(paid, (1 - paid) * share, d, 8 if q >= 300 else 6)


class _Voices:
    """The rounds: everything secret is here, and only noisy sums leave."""

    def __init__(
        self, scheme: Chorus, data: Ratings, effects: Effects, weights: Array, plan: Plan, t: float
    ) -> None:
        self.scheme, self.data, self.plan = scheme, data, plan
        self.threads = thread_count(scheme.threads)
        self.mu = gaussian_mu(plan.share * t, scheme.delta)
        # Cutting off products moves the other sums of a person by a unit each, and 64-bit
        # floating point by less: rho bounds both.
        self.rho = 2 * math.sqrt(len(data.items) * plan.factors) / _SUM_UNIT
        base = effects.mean + effects.item_effects
        residual = (data.rating - base[data.item]) / (data.scale.span / 4)
        a = np.clip(residual, -CLIP, CLIP)
        # w X + rho must stay within the weight's share of X + rho; the shave covers rounding.
        a *= np.maximum(weights - self.rho / CLIP, 0.0) * (1 - 2.0**-40)
        self.by_user = np.trunc(a * _UNIT).astype(np.int32)
        self.by_item = self.by_user[data.by_item.records]

    def sing(
        self, features: Features, effects: Effects, spec: PrivacySpec,
        randomness: Randomness, progress: Progress,
    ) -> Directions:  # fmt: skip
        """All rounds; the directions they show."""
        plan, share = self.plan, self.plan.share
        typical = spec.typical_levels()
        t = self.scheme.threshold or spec.max_level
        in_rounds = gaussian_weights(share * typical, share * t, self.scheme.delta)
        in_tallies = np.minimum(1.0, typical / t)
        counts = effects.counts * in_rounds.mean() / in_tallies.mean()
        budget = np.ones(plan.rounds)
        budget[-1] = 2.0
        mus = self.mu * np.sqrt(budget / budget.sum())
        z = first_directions(effects, features, plan.factors, randomness.training)
        rounds: list[Round] = []
        for k, mu in enumerate(mus):
            progress("rounds", k, plan.rounds)
            fed = np.trunc(within_the_ball(z, effects.counts) * _UNIT)
            sums, sigma = self._round(fed, float(mu), randomness)
            rounds.append(Round(sums, sigma, fed / _UNIT))
            found = combine(rounds, counts, CLIP, weight_ratio(in_rounds))
            z = found.z
        progress("rounds", plan.rounds, plan.rounds)
        return found

    def _round(self, z: Array, mu: float, randomness: Randomness) -> tuple[Array, float]:
        """One release: noisy sums per item, and the noise's deviation."""
        sums = self.exact_sums(z)
        moved = CLIP if self.scheme.neighbours == Neighbours.ADD_REMOVE else 2 * CLIP
        sigma = np.nextafter((moved + self.rho) / mu * _SUM_UNIT, np.inf)
        if sums.size * self.plan.rounds > _MOST_NUMBERS or sigma < _LEAST_SCALE:
            raise ParameterError(
                "so many items and factors, or so large an epsilon, are beyond what the proof of "
                "the discrete noise covers: choose fewer factors (factors=8) or a smaller epsilon"
            )
        noisy = randomness.add_gaussian(sums, sigma, threads=self.threads)
        return noisy / _SUM_UNIT, sigma / _SUM_UNIT

    def exact_sums(self, z: Array) -> NDArray[np.int64]:
        """Sum over people of a_ij u_i, in integers: secret, and the same in any order."""
        people, items = self.data.by_user, self.data.by_item
        U = np.empty((len(self.data.users), z.shape[1]))
        V = np.empty((len(self.data.items), z.shape[1]), dtype=np.int64)
        run_ranges(
            add_voices, row_ranges(people.ptr, self.threads), self.threads,
            people.ptr, people.cols, self.by_user, z, FLOOR, U,
        )  # fmt: skip
        run_ranges(
            add_chorus, row_ranges(items.ptr, self.threads), self.threads,
            items.ptr, items.cols, self.by_item, U, V,
        )  # fmt: skip
        return V
