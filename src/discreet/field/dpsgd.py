"""DP-SGD: matrix factorisation by clipped, noisy gradients, for whole persons or single ratings.

Abadi et al.: *Deep Learning with Differential Privacy* (CCS 2016), with what recommenders make of
it. With the person as unit, everybody in a Poisson sample solves for their own vector u_i, and
sends the gradient of all their ratings in the item vectors, sum_j e_ij u_i, scaled down to length C
(Chien et al. 2021 and Krichene et al. 2023 run the like as a baseline). With the rating as unit
both sides are trained, since u_i would couple a person's ratings: a rating sends its gradient in
(u_i, v_j), no longer than C, and both tables get noise (as Bu et al. 2020 train embeddings).

Steps are composed with everything released before as privacy loss distributions.
What the papers leave open, and what is done here: steps of an item are divided by its noisy count;
biases are removed first, since without them it is no rival (field.md has the published figures).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.ratings import Ratings
from discreet.errors import require_count
from discreet.field.alternating import solve_people
from discreet.field.base import FieldScheme, gaussian_theorem
from discreet.field.biases import noisy_biases, own_residuals
from discreet.field.budget import GaussianBudget
from discreet.field.dpals import release_directions
from discreet.kernels.moments import add_sums
from discreet.kernels.sorting import read_only
from discreet.kernels.threads import row_ranges, run_ranges
from discreet.privacy.certificate import Certificate
from discreet.privacy.theorems import Theorem
from discreet.schemes.base import About, Run
from discreet.schemes.model import FactorModel

UNITS = ("person", "rating")
_AUDITED = {"delta": 0.1, "factors": 2, "steps": 2, "clip": 0.02}
"""Gradients are as long as they may be."""


class Noise(NamedTuple):
    """What all steps were paid for."""

    budget: GaussianBudget
    sigma: float
    """Of a statistic that a unit of protection moves by one."""

    def on(self, gradient: Array, sensitivity: float) -> Floats:
        """A step's gradient, which a unit of protection moves by so much."""
        return self.budget.noisy(gradient, self.sigma * sensitivity)


@dataclass(frozen=True, kw_only=True)
class DPSGD(FieldScheme):
    """Clipped gradients of a sample, with noise, step by step."""

    about: ClassVar[About] = About(
        name="DP-SGD",
        promise="(epsilon, delta) for whole persons or single ratings, from noisy gradients",
        units=UNITS,
        personal=False,
        audited=tuple(
            _AUDITED | {"unit": unit, "rate": rate} for unit in UNITS for rate in (1.0, 0.5)
        ),
    )
    unit: str = "person"
    biases: bool = True
    factors: int = 8
    steps: int = 10
    rate: float = 1.0
    """Of the Poisson samples: with 1 every step sees everybody."""
    clip: float = 1.0
    """C; with the person as unit, times the root of how many a typical person has, 10."""
    learning_rate: float = 0.5
    first_share: float = 0.3
    width: float = 1.5
    user_ridge: float = 3.0
    shrink: float = 20.0
    """Counts by which steps are shorter."""
    fold_ridge: float = 3.0

    def learn(
        self, data: Ratings, budget: GaussianBudget, certificate: Certificate, run: Run
    ) -> FactorModel:
        """Biases, then the steps."""
        require_count("steps", self.steps)
        person = self.protected == "person"
        known = noisy_biases(data, self.items, self.protected, budget, self.first_share, run)
        y = own_residuals(data, known, own_level=person)
        y = np.clip(y / self.width, -1.0, 1.0)
        sigma = budget.spend_sampled("gradients", self.rate, self.steps)
        V = self._start(len(data.items), run)
        steps = self._person_steps if person else self._rating_steps
        V = steps(data, y, V, known.effects.counts + self.shrink, Noise(budget, sigma), run)
        release = release_directions(
            data, self.items, known, self.width * V, self.fold_ridge, certificate
        )
        return FactorModel(release, data, compute=run.compute)

    def theorem(self) -> Theorem:
        """Samples must be nobody's to predict."""
        coins = "Who is in the sample of a step, nobody can predict."
        return gaussian_theorem("dp-sgd", self.protected, *([coins] if self.rate < 1 else []))

    def variant(self) -> str:
        """Whether steps see everybody."""
        usual = super().variant()
        return usual if self.rate >= 1 else f"{usual}, samples of {self.rate:g}"

    def _start(self, count: int, run: Run) -> Floats:
        V = run.randomness.training.standard_normal((count, self.factors))
        return np.asarray(V / np.sqrt(self.factors))

    def _person_steps(
        self, data: Ratings, y: Array, V: Array, counts: Array, noise: Noise, run: Run
    ) -> Floats:
        """Everybody's gradient is e_ij u_i at item j: as long as |e_i| |u_i|."""
        rng, most = run.randomness.training, 10 * self.clip
        # Votes of a person are weighed by 16/sqrt(n), about one and a half each.
        size = self.rate * counts[:, None] / 1.6
        for k in range(self.steps):
            run.progress("steps", k, self.steps)
            U = solve_people(data, y, V, self.user_ridge, run.compute.workers)
            error = np.einsum("nk,nk->n", U[data.user], V[data.item]) - y
            squares = np.bincount(data.user, weights=error**2, minlength=len(U))
            length = np.sqrt(squares * np.einsum("ik,ik->i", U, U))
            scale = np.minimum(1.0, most / np.maximum(length, 1e-12))
            scale = np.where(rng.random(len(U)) < self.rate, scale, 0.0)
            gradient = item_sums(data, scale[data.user] * error, U, run)
            gradient = noise.on(gradient, most)
            V = V - self.learning_rate * self._decay(k) * gradient / size
        return np.asarray(V)

    def _rating_steps(
        self, data: Ratings, y: Array, V: Array, counts: Array, noise: Noise, run: Run
    ) -> Floats:
        """A rating's gradient is e (u_i at item j, v_j at person i); the first column is a one."""
        rng = run.randomness.training
        U = 0.1 * rng.standard_normal((len(data.users), V.shape[1] + 1))
        V = np.column_stack([np.ones(len(V)), V])
        size = self.rate * counts[:, None]
        own = self.rate * (50.0 + self.shrink)  # how many a person has is secret: a constant
        for k in range(self.steps):
            run.progress("steps", k, self.steps)
            u, v = U[data.user], V[data.item]
            error = np.einsum("nk,nk->n", u, v) - y
            squares = np.einsum("nk,nk->n", u[:, 1:], u[:, 1:]) + np.einsum("nk,nk->n", v, v)
            scale = np.minimum(1.0, self.clip / np.maximum(np.abs(error) * np.sqrt(squares), 1e-12))
            scale = np.where(rng.random(len(data)) < self.rate, scale, 0.0) * error
            of_items = item_sums(data, scale, np.ascontiguousarray(U[:, 1:]), run)
            of_people = person_sums(data, scale, V, run)
            of_items = noise.on(of_items, self.clip)
            of_people = noise.on(of_people, self.clip)
            rate = self.learning_rate * self._decay(k)
            V[:, 1:] -= rate * of_items / size
            U -= rate * of_people / own
        return np.ascontiguousarray(V[:, 1:])

    def _decay(self, step: int) -> float:
        return 1 - step / self.steps


def item_sums(data: Ratings, a: Array, U: Array, run: Run) -> Floats:
    """sum_i a_ij u_i of every item."""
    order = data.by_item
    return _sums(order.ptr, order.cols, data.in_item_order(np.ascontiguousarray(a)), U, run)


def person_sums(data: Ratings, a: Array, V: Array, run: Run) -> Floats:
    """sum_j a_ij v_j of every person."""
    return _sums(data.ptr, data.item, np.ascontiguousarray(a), V, run)


def _sums(ptr: Array, cols: Array, a: Array, rows: Array, run: Run) -> Floats:
    out = np.zeros((len(ptr) - 1, rows.shape[1]))
    workers = run.compute.workers
    columns = tuple(map(read_only, (ptr, cols, a, np.ascontiguousarray(rows))))
    run_ranges(add_sums, row_ranges(ptr, workers), workers, *columns, out)
    return out
