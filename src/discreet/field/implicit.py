"""DPALS and AM-SSP for lists: who chose what, by the implicit objective, for whole persons.

The papers of dpals.py and am_ssp.py train their lists so (Krichene et al. 2023 and 2024): what a
person rated counts as y, from 0.2 for the worst rating to 1, and everything else as zero with a
small weight. Besides the sums of DPALS one matrix is released, G = sum_i u_i u_i' over people,
which a person moves by at most 1 since |u_i| <= 1. An item's vector minimises
v'(A_j + alpha G) v - 2 b_j . v + ridge |v - T x_j|^2; a list ranks by u . v.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.csr import CSR
from discreet.data.features import encode
from discreet.data.ratings import Ratings
from discreet.field.alternating import clip_rows, decode, item_moments
from discreet.field.base import FieldScheme
from discreet.field.biases import public_matrix
from discreet.field.budget import GaussianBudget
from discreet.field.dpals import noisy_counts
from discreet.field.list_model import ListModel
from discreet.field.weights import weigh_ratings
from discreet.kernels.least_squares import solve_rows
from discreet.privacy.certificate import Certificate
from discreet.release.release import Release
from discreet.release.scoring import FoldIn
from discreet.schemes.base import About, Run
from discreet.schemes.catalogue import public_items

_LEAST_CHOICE = 0.2
_GRAM_SHARE = 0.05
"""Of a round, for G: of d x d numbers, where the other sums have as many for every item."""


@dataclass(frozen=True, kw_only=True)
class ImplicitALS(FieldScheme):
    """Item vectors from noisy sums over people's choices."""

    about: ClassVar[About] = About(
        name="implicit DPALS",
        promise="(epsilon, delta) for whole persons, lists from noisy sufficient statistics",
        units=("person",),
        personal=False,
        reads_items=True,
        audited=({"delta": 0.1, "factors": 1, "rounds": 1},),
    )
    encoder: bool = False
    """Whether item vectors are drawn to a regression on public columns, as AM-SSP does."""
    factors: int = 8
    rounds: int = 2
    power: float = 0.25
    first_share: float = 0.1
    """Of the budget, for counts."""
    matrix_share: float = 0.3
    others: float = 0.1
    """alpha of people: the weight of what somebody did not rate, beside one for what they did."""
    item_others: float = 0.01
    """alpha of items."""
    user_ridge: float = 1.0
    item_ridge: float = 1.0
    noise_ridge: float = 1.0
    feature_ridge: float = 10.0

    def learn(
        self, data: Ratings, budget: GaussianBudget, certificate: Certificate, run: Run
    ) -> Any:
        """Counts, weights, then the rounds."""
        public = public_matrix(encode(self.items, len(data.items)), len(data.items))
        V = self._start(public, run)
        counts = noisy_counts(data, budget, self.first_share)
        w = weigh_ratings(data, "adaptive", counts, 1, self.power, np.zeros(0))
        y = choice_values(data)
        share = (1 - self.first_share) / self.rounds
        for k in range(self.rounds):
            run.progress("rounds", k, self.rounds)
            U = self._people(data, y, V, run)
            V = self._items(data, w, y, U, budget, share, public if self.encoder else None, run)
        run.progress("rounds", self.rounds, self.rounds)
        return self._served(data, V, certificate)

    def _start(self, public: Array, run: Run) -> Floats:
        rng = run.randomness.training
        V = rng.standard_normal((len(public), self.factors))
        if self.encoder:
            V = public @ rng.standard_normal((public.shape[1], self.factors))
            V /= np.sqrt(public.shape[1])
        V[:, 0] = 1.0
        return np.asarray(0.1 * V)

    def _whitened(self, V: Array) -> tuple[Floats, Floats]:
        """Z and L' with u = L'^-1 x, so that x has a ridge of one: LL' = alpha V'V + ridge I."""
        d = V.shape[1]
        scale = 1e-12 + self.user_ridge * float(np.mean(np.einsum("jk,jk->j", V, V)))
        L = np.linalg.cholesky(self.others * (V.T @ V) + scale * np.eye(d))
        return np.ascontiguousarray(np.linalg.solve(L, V.T).T), np.asarray(L.T)

    def _people(self, data: Ratings, y: Array, V: Array, run: Run) -> Array:
        Z, turn = self._whitened(V)
        X = solve_rows(data.ptr, data.item, y, Z, 1.0, 0.0, threads=run.compute.workers)
        return clip_rows(np.linalg.solve(turn, X.T).T)

    def _items(
        self,
        data: Ratings,
        w: Array,
        y: Array,
        U: Array,
        budget: GaussianBudget,
        share: float,
        public: Array | None,
        run: Run,
    ) -> Floats:
        A, b = item_moments(data, w, y, np.ascontiguousarray(U), run.compute.workers)
        rows, cols = np.triu_indices(U.shape[1])
        G = (U.T @ U)[rows, cols] * np.where(rows == cols, 1.0, np.sqrt(2.0))
        gram, matrix = _GRAM_SHARE * share, (1 - _GRAM_SHARE) * self.matrix_share * share
        vector = share - gram - matrix
        G = budget.release(G, sensitivity=1.0, share=gram, what="G")
        A = budget.release(A, sensitivity=1.0, share=matrix, what="A")
        b = budget.release(b, sensitivity=1.0, share=vector, what="b")
        ridge = self.item_ridge + self.noise_ridge * budget.deviation(1.0, matrix)
        return decode(A + self.item_others * G, b, ridge, public, self.feature_ridge)

    def _served(self, data: Ratings, V: Array, certificate: Certificate) -> ListModel:
        Z, _ = self._whitened(V)
        release = Release(
            items=public_items(data, self.items),
            mean=0.0,
            item_effects=np.zeros(len(V)),
            item_factors=Z,
            prior=np.zeros(Z.shape[1]),
            fold_in=FoldIn(1.0),
            scale=data.scale,
            certificate=certificate,
        )
        return ListModel(data, partial(_scores, Z, data), release)


def choice_values(data: Ratings) -> Floats:
    """What a rating counts as a choice: from 0.2 for the lowest to 1."""
    rating = data.scale.clip(data.rating.astype(np.float64))
    return np.asarray(
        _LEAST_CHOICE + (1 - _LEAST_CHOICE) * (rating - data.scale.lo) / data.scale.span
    )


def _scores(Z: Array, data: Ratings, own: CSR) -> Array:
    """u . v of all items, from people's own ratings."""
    share = (data.scale.clip(own.values.astype(np.float64)) - data.scale.lo) / data.scale.span
    values = _LEAST_CHOICE + (1 - _LEAST_CHOICE) * share
    X = solve_rows(own.ptr, own.cols, values, Z, 1.0, 0.0)
    return np.asarray(X @ Z.T)
