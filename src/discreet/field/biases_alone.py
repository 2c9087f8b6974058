"""Noisy biases alone: mean, item effects and everybody's own level, for persons or ratings.

What the field's better schemes begin with, and where McSherry and Mironov (2009) begin: so a
scheme's figure minus this one is what its factors are worth. People are served from item effects
and their own mean; no public columns, no counts, as in `Bias`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.field.base import FieldScheme
from discreet.field.biases import noisy_biases
from discreet.field.budget import GaussianBudget
from discreet.privacy.certificate import Certificate
from discreet.release.release import Release
from discreet.release.scoring import FoldIn
from discreet.schemes.base import About, Run
from discreet.schemes.catalogue import public_items
from discreet.schemes.model import FactorModel


@dataclass(frozen=True, kw_only=True)
class NoisyBiases(FieldScheme):
    """Noisy votes for the whole budget, and what they tell of items one by one."""

    about: ClassVar[About] = About(
        name="noisy biases",
        promise="(epsilon, delta) for whole persons or single ratings, from noisy votes",
        units=("person", "rating"),
        personal=False,
        audited=({"delta": 0.1}, {"delta": 0.1, "unit": "rating"}),
    )
    unit: str = "person"
    own_ridge: float = 5.0
    """Ratings that draw somebody's own level to that of all."""

    def learn(
        self, data: Ratings, budget: GaussianBudget, certificate: Certificate, run: Run
    ) -> FactorModel:
        """Votes, effects."""
        known = noisy_biases(data, self.items, self.protected, budget, 1.0, run)
        release = Release(
            items=public_items(data, self.items),
            mean=known.effects.mean,
            item_effects=known.effects.item_effects,
            item_factors=np.ones((len(data.items), 1)),
            prior=np.zeros(1),
            fold_in=FoldIn(self.own_ridge),
            scale=data.scale,
            certificate=certificate,
        )
        return FactorModel(release, data, compute=run.compute)
