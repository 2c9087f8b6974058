"""AM-SSP: statistics noised once and reused, with public features of items, for whole persons.

Krichene, Mayoraz, Rendle, Song, Thakurta, Zhang: *Private Learning with Public Features* (AISTATS
2024). Items have an encoder T x_j + e_j of public columns x and an identity of their own: only the
sums over people are private, so they are noised once a round, and the encoder is then trained on
them to its optimum, for nothing. Examples are weighed by count^-1/4.

What the paper leaves open, and what is done here: its 58,000 features are those of another data
set, and here are the columns of the item table that all schemes may use; centring and counts are
those of dpals.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import Array, Floats
from discreet.field.biases import public_matrix
from discreet.field.dpals import AUDITED, DPALS
from discreet.schemes.base import About, Run


@dataclass(frozen=True, kw_only=True)
class AMSSP(DPALS):
    """DPALS with an encoder of public item columns, which starts the rounds and steadies them."""

    about: ClassVar[About] = About(
        name="AM-SSP",
        promise="(epsilon, delta) for whole persons, noisy statistics and public features",
        units=("person",),
        personal=False,
        reads_items=True,
        audited=(AUDITED, AUDITED | {"biases": True}),
    )
    feature_ridge: float = 10.0

    def start(self, public: Array | None, count: int, run: Run) -> Floats:
        """The public columns, projected at random."""
        assert public is not None
        assert len(public) == count
        mix = run.randomness.training.standard_normal((public.shape[1], self.factors))
        V = public @ (mix / np.sqrt(public.shape[1]))
        if not self.biases:
            V[:, 0] = 1.0
        return np.asarray(V / np.sqrt(self.factors))

    def public(self, features: Any, count: int) -> Array:
        """Years, genres and the like, as numbers."""
        return public_matrix(features, count)

    def encoder_ridge(self) -> float:
        """Of the regression on them."""
        return self.feature_ridge
