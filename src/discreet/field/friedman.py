"""Input perturbation: every rating gets noise of its own, and anything is trained on the rest.

Friedman, Berkovsky, Kaafar: *A Differential Privacy Framework for Matrix Factorization Recommender
Systems* (UMUAI 2016). A rating becomes r + Laplace((hi - lo)/epsilon), cut off at the ends of the
scale; item effects and factors are then those of alternating least squares on noisy ratings.

What is proven: the *value* of a rating, since any two values give noisy ratings whose densities
differ by at most e^epsilon. That it *exists* is not hidden, although the paper claims so too: what
was not rated gets no noise. The audit plays both. Everybody is served from their own true ratings,
as by all schemes here, where the paper's recommender knows noisy ones alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require_choice
from discreet.field.base import REAL_NUMBERS, TUNED, FieldScheme
from discreet.field.budget import GaussianBudget
from discreet.privacy.certificate import Certificate
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.privacy.theorems import Status, Theorem
from discreet.release.release import Release
from discreet.release.scoring import FoldIn
from discreet.schemes.base import About, Run
from discreet.schemes.bias import Bias
from discreet.schemes.catalogue import public_items
from discreet.schemes.model import FactorModel
from discreet.schemes.pmf.als import alternate, spectral_start

_GRID = 1 << 20
"""Steps of a rating's grid."""
_VALUES = Theorem(
    name="field-friedman-rating",
    statement=(
        "Who rated what is public. For every data set D and every rating z in it, what is released "
        "from D and from D with another value in z is (epsilon, 0)-close."
    ),
    proof="field.md#friedman",
    backing=Status.CONDITIONAL,
    assumptions=(REAL_NUMBERS, TUNED),
)
_EXISTENCE = Theorem(
    name="field-friedman-existence",
    statement=(
        "The paper claims that nobody learns whether a rating exists either. The claim does not "
        "hold: an item's noisy ratings are there because somebody rated it."
    ),
    proof="field.md#friedman",
    backing=Status.UNPROVEN,
)


@dataclass(frozen=True, kw_only=True)
class Friedman(FieldScheme):
    """Laplace noise on every rating, then alternating least squares."""

    about: ClassVar[About] = About(
        name="Friedman",
        promise="epsilon for the value of every rating, not for its existence",
        units=("rating",),
        personal=False,
        audited=({"factors": 1}, {"factors": 1, "hides": "existence"}),
    )
    delta: float = 0.0
    factors: int = 8
    ridge: float = 0.1
    """Of both sides, times the number of ratings."""
    shrink: float = 25.0
    """Ratings that draw an item's effect to zero."""
    fold_ridge: float = 5.0
    sweeps: int = 5
    hides: str = "value"
    """What is claimed: a rating's "value", or its "existence" too, as the paper says."""

    def budget(self, epsilon: float, randomness: Randomness) -> GaussianBudget:
        """Pure epsilon: kept as it is, and spent on the ratings alone."""
        return GaussianBudget(np.inf, randomness, (epsilon, 0.0))

    def theorem(self) -> Theorem:
        """By what is to be hidden."""
        require_choice("hides", self.hides, ("value", "existence"))
        return _VALUES if self.hides == "value" else _EXISTENCE

    def certificate(
        self, spec: PrivacySpec, epsilon: float, randomness: Randomness, **facts: Any
    ) -> Certificate:
        """Of values under REPLACE."""
        values = self.hides == "value"
        return super().certificate(
            spec,
            epsilon,
            randomness,
            neighbours=Neighbours.REPLACE if values else Neighbours.ADD_REMOVE,
            sampler=f"discrete Laplace on 2^-20 of a rating, {randomness.grid_sampler}",
            **facts,
        )

    def learn(
        self, data: Ratings, budget: GaussianBudget, certificate: Certificate, run: Run
    ) -> FactorModel:
        """Noise first; everything after reads noisy ratings alone."""
        noisy = perturbed(data, budget.promised[0], run.randomness)
        means = Bias(items=self.items, shrink_items=self.shrink).fit(noisy, compute=run.compute)
        base = means.release.mean + means.release.item_effects
        left = replace(noisy, rating=(noisy.rating - base[noisy.item]).astype(np.float32))
        V = spectral_start(
            left, self.factors, run.randomness.training, np.dtype(np.float32), run.compute.workers
        )
        _, V, _ = alternate(
            left,
            V,
            (self.ridge, self.ridge),
            weighted=True,
            sweeps=self.sweeps,
            threads=run.compute.threads,
            progress=run.progress,
        )
        level = np.full(len(V), np.sqrt(self.fold_ridge / 5.0))
        release = Release(
            items=public_items(data, self.items),
            mean=means.release.mean,
            item_effects=means.release.item_effects,
            item_factors=np.column_stack([level, V.astype(np.float64)]),
            prior=np.zeros(V.shape[1] + 1),
            fold_in=FoldIn(self.fold_ridge),
            scale=data.scale,
            certificate=certificate,
        )
        return FactorModel(release, data, compute=run.compute)


def perturbed(data: Ratings, epsilon: float, randomness: Randomness) -> Ratings:
    """Every rating plus Laplace(span/epsilon), cut off at the ends of the scale."""
    clipped = data.scale.clip(data.rating.astype(np.float64))
    if np.isinf(epsilon):
        return replace(data, rating=clipped.astype(np.float32))
    steps = np.rint(clipped * _GRID).astype(np.int64)
    noisy = randomness.add_laplace(steps, data.scale.span * _GRID / epsilon) / _GRID
    return replace(data, rating=data.scale.clip(noisy).astype(np.float32))
