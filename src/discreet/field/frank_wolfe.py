"""Private Frank-Wolfe: directions one after the other, each from a noisy covariance of residuals.

Jain, Thakkar, Thakurta: *Differentially Private Matrix Completion Revisited* (ICML 2018), for whole
persons: "joint" privacy, in which everybody's own row is theirs alone. In round t everybody's
residuals A_i, no longer than L, make A'A, which a person moves by L^2; with noise on it, its
leading vector v_t is released; everybody's prediction then moves along it, by
(k/T) A_i v_t / lambda.

What the paper leaves open, and what is done here: ratings are taken from everybody's own mean, as
in its experiments; the items with a covariance are those whose noisy counts stand out from its
noise (the paper takes the 400 most rated ones for public). With `corrective` everybody's
coefficients are solved anew after each round, from their own ratings, instead of moved: more
accurate, and free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.ratings import Ratings
from discreet.field.base import FieldScheme
from discreet.field.biases import person_weights, without_own_level
from discreet.field.budget import GaussianBudget
from discreet.field.covariance import (
    covariance,
    leading,
    most_rated,
    noisy_covariance,
    own_squares,
)
from discreet.kernels.least_squares import solve_rows
from discreet.privacy.certificate import Certificate
from discreet.release.release import Release
from discreet.release.scoring import FoldIn, People
from discreet.schemes.base import About, Run
from discreet.schemes.catalogue import public_items
from discreet.schemes.model import FactorModel

_AUDITED = {"delta": 0.1, "rounds": 1, "length": 1.0, "least": 0.0}
"""Residuals of everybody are as long as they may be."""


@dataclass(frozen=True, eq=False)
class MovedModel(FactorModel):
    """People with coefficients that they computed for themselves, instead of folding in."""

    moved: Array | None = None

    @cached_property
    def people(self) -> People:
        """Secret, each from their own ratings and what was released."""
        assert self.moved is not None
        return People(self.moved)


@dataclass(frozen=True, kw_only=True)
class FrankWolfe(FieldScheme):
    """A direction a round, from people's residuals."""

    about: ClassVar[About] = About(
        name="private Frank-Wolfe",
        promise="(epsilon, delta) for whole persons, from noisy covariances of residuals",
        units=("person",),
        personal=False,
        audited=(_AUDITED, _AUDITED | {"rounds": 2, "corrective": True}),
    )
    rounds: int = 4
    top: int = 4000
    """Items that have a covariance, at most."""
    least: float = 5.0
    """What an item's noisy count must be for that, in deviations of a covariance's noise for L=1:
    counts and products are both those of people as long as one."""
    count_share: float = 0.1
    length: float = 8.0
    """L: residuals of a person are scaled down to it, in quarters of the scale."""
    radius: float = 4.0
    """k: how far a person's coefficients reach, in lengths L."""
    corrective: bool = False
    fold_ridge: float = 3.0
    """Of a person's coefficients, where they are solved anew."""

    def learn(
        self, data: Ratings, budget: GaussianBudget, certificate: Certificate, run: Run
    ) -> FactorModel:
        """Counts, then a direction a round."""
        y = self._centred(data)
        sums = np.bincount(data.item, weights=person_weights(data), minlength=len(data.items))
        counts = budget.release(sums, sensitivity=1.0, share=self.count_share, what="counts")
        share = (1 - self.count_share) / self.rounds
        place = most_rated(counts, self.top, self.least * budget.deviation(1.0, share))
        V = np.zeros((len(data.items), 0))
        moved = np.zeros((len(data.users), 0))
        for k in range(self.rounds):
            run.progress("Frank-Wolfe", k, self.rounds)
            left = y - np.einsum("nk,nk->n", moved[data.user], V[data.item])
            v, value = self._direction(data, left, place, budget, share, run)
            V = np.column_stack([V, v])
            if self.corrective:
                moved = solve_rows(data.ptr, data.item, y, V, self.fold_ridge, 0.0)
            else:
                along = np.bincount(data.user, weights=left * v[data.item], minlength=len(moved))
                step = self.radius * self.length / self.rounds / np.sqrt(max(value, 1e-12))
                moved = np.column_stack([moved * (1 - 1 / self.rounds), step * along])
        run.progress("Frank-Wolfe", self.rounds, self.rounds)
        return self._served(data, V, moved, certificate, run)

    def variant(self) -> str:
        """Whether coefficients are moved or solved anew."""
        return "corrective" if self.corrective else super().variant()

    def _centred(self, data: Ratings) -> Floats:
        quarter = data.scale.span / 4
        rating = (data.scale.clip(data.rating.astype(np.float64)) - data.scale.middle) / quarter
        return without_own_level(rating, data.ptr, 0.5)

    def _direction(
        self,
        data: Ratings,
        left: Array,
        place: Array,
        budget: GaussianBudget,
        share: float,
        run: Run,
    ) -> tuple[Floats, float]:
        """The leading direction of residuals, each person's no longer than L, and its size."""
        squares = own_squares(data, left, place)
        scale = np.minimum(1.0, self.length**2 / np.maximum(squares, 1e-12))
        upper = covariance(data, left, scale, place)
        C = noisy_covariance(upper, self.length**2, budget, share, "covariance of residuals")
        values, axes = leading(C, 1, run.randomness.training)
        v = np.zeros(len(place))
        v[place >= 0] = axes[:, 0]
        return v, float(values[0])

    def _served(
        self, data: Ratings, V: Array, moved: Array, certificate: Certificate, run: Run
    ) -> FactorModel:
        """One's own mean, and one's coefficients of the directions."""
        quarter = data.scale.span / 4
        # A column of its own for the own mean, with half a rating at the middle of the scale.
        columns = np.column_stack([np.full(len(V), np.sqrt(self.fold_ridge / 0.5)), V])
        release = Release(
            items=public_items(data, self.items),
            mean=data.scale.middle,
            item_effects=np.zeros(len(V)),
            item_factors=quarter * columns,
            prior=np.zeros(columns.shape[1]),
            fold_in=FoldIn(quarter**2 * self.fold_ridge),
            scale=data.scale,
            certificate=certificate,
        )
        if self.corrective:
            return FactorModel(release, data, compute=run.compute)
        rating = (data.rating.astype(np.float64) - data.scale.middle) / quarter
        sums = np.bincount(data.user, weights=rating, minlength=len(data.users))
        level = sums / (np.diff(data.ptr) + 0.5) / columns[0, 0]
        own = np.column_stack([level, moved])
        return MovedModel(release, data, compute=run.compute, moved=own)
