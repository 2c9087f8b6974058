"""DPALS: private alternating least squares, for whole persons.

Chien, Jain, Krichene, Rendle, Song, Thakurta, Zhang: *Private Alternating Least Squares* (ICML
2021), with uniform and tail sampling; Krichene, Jain, Song, Sundararajan, Thakurta, Zhang:
*Multi-Task Differential Privacy Under Distribution Skew* (ICML 2023), with adaptive weights.

What the papers leave open, and what is done here: how ratings are centred (by a noisy mean of
people's means, for a hundredth of the budget); how counts for tail and adaptive weights are
weighed (by 1/sqrt(n), so that a person moves them by one). All statistics are composed as Gaussian
mechanisms, exactly, which needs less noise than the papers' Renyi accounting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.features import encode
from discreet.data.ratings import Ratings
from discreet.errors import require_choice
from discreet.field.alternating import Rounds, alternate_privately
from discreet.field.base import FieldScheme
from discreet.field.biases import noisy_biases, own_residuals, person_weights
from discreet.field.budget import GaussianBudget
from discreet.field.weights import SAMPLINGS, weigh_ratings
from discreet.privacy.certificate import Certificate
from discreet.release.release import Release
from discreet.release.scoring import FoldIn
from discreet.schemes.base import About, Run
from discreet.schemes.catalogue import public_items
from discreet.schemes.design import ERROR_VARIANCE, Directions
from discreet.schemes.model import FactorModel
from discreet.schemes.voting_scheme import Known, release_effects

MEAN_SHARE = 0.01
"""Of the budget, for the mean where biases are not removed first."""
AUDITED = {"delta": 0.1, "factors": 2, "rounds": 1, "user_ridge": 1e-3, "matrix_share": 0.5}
"""With two factors and hardly a ridge people's vectors are as long as they may be."""
SAMPLED = AUDITED | {"kept": 2}


class First(NamedTuple):
    """What the rounds begin with."""

    y: Floats
    """From -1 to 1: secret."""
    mean: float
    counts: Floats | None
    """Noisy, where weights go by them."""
    known: Known | None = None
    """Where biases were removed."""


@dataclass(frozen=True, kw_only=True)
class DPALS(FieldScheme):
    """Item vectors from noisy sums over people; people's vectors are never released."""

    about: ClassVar[About] = About(
        name="DPALS",
        promise="(epsilon, delta) for whole persons, from noisy sufficient statistics",
        units=("person",),
        personal=False,
        audited=(
            AUDITED,
            AUDITED | {"biases": True},
            SAMPLED | {"sampling": "uniform"},
            SAMPLED | {"sampling": "tail"},
        ),
    )
    sampling: str = "adaptive"
    """"uniform", "tail" or "adaptive": see weights.py."""
    biases: bool = False
    """Whether noisy item effects and everybody's own level are taken off first."""
    factors: int = 8
    rounds: int = 2
    kept: int = 50
    """k of uniform and tail sampling."""
    power: float = 0.25
    """Of adaptive weights."""
    first_share: float = 0.2
    """Of the budget, for counts, or for the votes that biases are estimated from."""
    matrix_share: float = 0.4
    user_ridge: float = 1.0
    item_ridge: float = 1.0
    noise_ridge: float = 1.0
    width: float = 1.5
    """Residuals beyond so many quarters of the scale are cut off, where biases are removed."""
    fold_ridge: float = 3.0
    """Of a person's vector when people are served, in squared quarters of the scale."""

    def learn(
        self, data: Ratings, budget: GaussianBudget, certificate: Certificate, run: Run
    ) -> FactorModel:
        """Biases or counts, weights, then the rounds."""
        require_choice("sampling", self.sampling, SAMPLINGS)
        features = encode(self.items, len(data.items))
        public = self.public(features, len(data.items))
        V = self.start(public, len(data.items), run)
        coins = run.randomness.training.random(len(data))
        first = self._first(data, budget, run)
        w = weigh_ratings(data, self.sampling, first.counts, self.kept, self.power, coins)
        how = Rounds(
            self.rounds,
            budget.left,
            self.matrix_share,
            self.user_ridge,
            self.item_ridge,
            self.noise_ridge,
            self.encoder_ridge(),
        )
        V = alternate_privately(data, w, first.y, V, how, budget, run, public)
        ridge = self.fold_ridge
        if first.known is None:
            release = release_factors(data, self.items, first.mean, V, ridge, certificate)
        else:
            V = self.width * V
            release = release_directions(data, self.items, first.known, V, ridge, certificate)
        return FactorModel(release, data, compute=run.compute)

    def _first(self, data: Ratings, budget: GaussianBudget, run: Run) -> First:
        """What is released before the rounds, and what is left of the ratings then."""
        if self.biases:
            known = noisy_biases(data, self.items, "person", budget, self.first_share, run)
            y = np.clip(own_residuals(data, known, own_level=True) / self.width, -1.0, 1.0)
            return First(y, known.effects.mean, known.effects.counts, known)
        mean = noisy_mean(data, budget, MEAN_SHARE)
        counts = None
        if self.sampling != "uniform":
            counts = noisy_counts(data, budget, self.first_share)
        return First(centred(data, mean), mean, counts)

    def variant(self) -> str:
        """Which ratings count, where that is not by adaptive weights."""
        usual = super().variant()
        return usual if self.sampling == "adaptive" else f"{usual}, {self.sampling} sampling"

    def start(self, public: Array | None, count: int, run: Run) -> Floats:
        """Item vectors before anything was read: random."""
        del public
        V = run.randomness.training.standard_normal((count, self.factors))
        if not self.biases:
            V[:, 0] = 1.0
        return np.asarray(V / np.sqrt(self.factors))

    def public(self, features: Any, count: int) -> Array | None:
        """Public columns of items, where they are used: not here."""
        del features, count
        return None

    def encoder_ridge(self) -> float | None:
        """Of the regression on them."""
        return None


def centred(data: Ratings, mean: float) -> Floats:
    """Ratings from -1 to 1 around a mean, whatever they are."""
    rating = data.scale.clip(data.rating.astype(np.float64))
    reach = max(data.scale.hi - mean, mean - data.scale.lo)
    return np.asarray((rating - mean) / reach)


def noisy_mean(data: Ratings, budget: GaussianBudget, share: float) -> float:
    """The mean of people's own means: a person moves the two sums by (1, m), |m| <= 1."""
    half = data.scale.span / 2
    own = (data.scale.clip(data.rating.astype(np.float64)) - data.scale.middle) / half
    counts = np.diff(data.ptr)
    sums = np.add.reduceat(np.append(own, 0.0), data.ptr[:-1]) * (counts > 0)
    there = counts > 0
    exact = np.array([(sums[there] / counts[there]).sum(), there.sum()])
    total, people = budget.release(exact, sensitivity=np.sqrt(2), share=share, what="mean")
    level = total / max(people, 1.0)
    return float(data.scale.middle + half * np.clip(level, -0.9, 0.9))


def noisy_counts(data: Ratings, budget: GaussianBudget, share: float) -> Floats:
    """How often items are rated, each rating weighed by 1/sqrt(n): a person moves them by one."""
    sums = np.bincount(data.item, weights=person_weights(data), minlength=len(data.items))
    noisy = budget.release(sums, sensitivity=1.0, share=share, what="counts")
    # Below one deviation of the noise a count says nothing.
    return np.maximum(noisy, max(budget.deviation(1.0, share), 0.1)) * 10


def release_factors(
    data: Ratings, items: Any, mean: float, V: Array, ridge: float, certificate: Certificate
) -> Release:
    """Item vectors alone: people are folded in by a ridge regression on them."""
    reach = max(data.scale.hi - mean, mean - data.scale.lo)
    return Release(
        items=public_items(data, items),
        mean=mean,
        item_effects=np.zeros(len(V)),
        item_factors=reach * V,
        prior=np.zeros(V.shape[1]),
        fold_in=FoldIn(ridge * (data.scale.span / 4) ** 2),
        scale=data.scale,
        certificate=certificate,
    )


def release_directions(
    data: Ratings, items: Any, known: Known, V: Array, ridge: float, certificate: Certificate
) -> Release:
    """Item vectors beside effects and public columns, as Chorus serves its own."""
    sizes = np.full(V.shape[1], ERROR_VARIANCE / ridge)
    return release_effects(known, data, items, certificate, Directions(V, sizes))
