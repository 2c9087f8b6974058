"""Objective perturbation: a random linear term in every item's least squares.

Hua, Xia, Zhong: *Differentially Private Matrix Factorization* (IJCAI 2015). People's vectors u_i,
|u_i| <= 1, are found first; then item j's vector minimises
sum_i (r_ij - u_i . v)^2 / 2 + ridge |v|^2 / 2 + eta_j . v, with Laplace noise of scale
2 sqrt(d) (hi - lo) / epsilon in every entry of eta_j. DP-PMF of *Probabilistic Matrix Factorization
with Personalized Differential Privacy* follows it, and so do its gaps: u_i depends on the ratings
that are to be hidden, and one rating more changes the quadratic part, too. Its claim is epsilon for
every rating; its certificate says unproven, and the audit plays it.

What the paper leaves open, and what is done here: the noise is spread over people by the paper, who
add parts of it that sum to a Laplace number; here it is drawn whole. People's vectors come from
alternating least squares without noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import Floats
from discreet.data.ratings import Ratings
from discreet.field.alternating import clip_rows
from discreet.field.base import FieldScheme
from discreet.field.budget import GaussianBudget
from discreet.privacy.certificate import Certificate
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.privacy.theorems import Status, Theorem
from discreet.release.scoring import FoldIn
from discreet.schemes.base import About, Run
from discreet.schemes.model import FactorModel
from discreet.schemes.pmf.als import alternate, solve_side, spectral_start
from discreet.schemes.pmf.factors import factor_release

_GRID = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Hua(FieldScheme):
    """A linear term of noise in every item's objective, given people's vectors."""

    about: ClassVar[About] = About(
        name="Hua",
        promise="the paper claims epsilon for every rating; unproven",
        units=("rating",),
        personal=False,
        audited=({"factors": 1, "ridge": 0.01},),
    )
    delta: float = 0.0
    factors: int = 8
    ridge: float = 1.0
    people_ridge: float = 0.1
    fold_ridge: float = 5.0
    sweeps: int = 5

    def budget(self, epsilon: float, randomness: Randomness) -> GaussianBudget:
        """Pure epsilon: kept as it is, and spent on the linear terms alone."""
        return GaussianBudget(np.inf, randomness, (epsilon, 0.0))

    def theorem(self) -> Theorem:
        """What the paper claims."""
        return Theorem(
            name="field-hua-rating",
            statement=(
                "The paper claims epsilon-differential privacy for every rating. Its proof takes "
                "people's vectors for constants, and leaves out what a rating more changes beside "
                "the linear term: nothing is proven."
            ),
            proof="field.md#hua",
            backing=Status.UNPROVEN,
        )

    def certificate(
        self, spec: PrivacySpec, epsilon: float, randomness: Randomness, **facts: Any
    ) -> Certificate:
        """As the paper claims it."""
        sampler = f"discrete Laplace on 2^-20, {randomness.grid_sampler}"
        return super().certificate(spec, epsilon, randomness, sampler=sampler, **facts)

    def learn(
        self, data: Ratings, budget: GaussianBudget, certificate: Certificate, run: Run
    ) -> FactorModel:
        """People's vectors without noise, then every item's."""
        workers, dtype = run.compute.workers, np.dtype(np.float64)
        start = spectral_start(data, self.factors, run.randomness.training, dtype, workers)
        U, _, _ = alternate(
            data,
            start,
            (self.people_ridge, self.people_ridge),
            weighted=True,
            sweeps=self.sweeps,
            threads=run.compute.threads,
            progress=run.progress,
        )
        typical = np.sqrt(np.mean(np.einsum("ij,ij->i", U, U)))
        U = clip_rows(U / max(float(typical), 1e-12))
        eta = self.noise(len(data.items), data.scale.span, budget)
        order = data.by_item
        values = order.values.astype(np.float64)
        V = solve_side(order, values, U, self.ridge, linear=eta, threads=workers)
        release = factor_release(data, self.items, V, FoldIn(self.fold_ridge), certificate)
        return FactorModel(release, data, compute=run.compute)

    def noise(self, items: int, span: float, budget: GaussianBudget) -> Floats:
        """eta: a row for every item."""
        epsilon = budget.promised[0]
        if np.isinf(epsilon):
            return np.zeros((items, self.factors))
        scale = 2 * np.sqrt(self.factors) * span / epsilon
        nothing = np.zeros((items, self.factors), dtype=np.int64)
        return np.asarray(budget.randomness.add_laplace(nothing, float(scale * _GRID)) / _GRID)
