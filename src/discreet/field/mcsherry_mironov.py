"""McSherry and Mironov: a noisy covariance of items, of which anything can be computed.

*Differentially Private Recommender Systems: Building Privacy into the Netflix Prize Contenders*
(KDD 2009). Noisy means and item effects first; what is left of the ratings, cut off, makes a
covariance of items, which is released once with noise and then cleaned to a low rank.

What the paper leaves open, and what is done here: it weighs people so that one rating moves the
matrix little, but the bound for the person's own centring is left to the reader. Here a person adds
x x'/|x|^2, of length 1, with the person as unit. With the rating as unit nobody is centred, and a
person adds a a'/sqrt(2 |a|^2 + 1): one rating moves that by at most 1 (docs/proofs/chorus.md, with
the items themselves as directions). Items have a covariance if their noisy counts stand out from
its noise, at most 4,000 of them, the most that the paper tries; others have an effect alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.ratings import Ratings
from discreet.field.base import FieldScheme
from discreet.field.biases import noisy_biases, own_residuals
from discreet.field.budget import GaussianBudget
from discreet.field.covariance import (
    covariance,
    leading,
    most_rated,
    noisy_covariance,
    own_squares,
)
from discreet.field.dpals import release_directions
from discreet.privacy.certificate import Certificate
from discreet.schemes.base import About, Run
from discreet.schemes.model import FactorModel
from discreet.schemes.standardise import weighted_mean

_AUDITED = {"delta": 0.1, "factors": 2, "least": 0.0, "width": 0.5}
"""All items have a covariance, and residuals are as long as they may be."""


@dataclass(frozen=True, kw_only=True)
class McSherryMironov(FieldScheme):
    """Noisy votes, then one noisy covariance of the most rated items, cut to a low rank."""

    about: ClassVar[About] = About(
        name="McSherry-Mironov",
        promise="(epsilon, delta) for whole persons or single ratings, from a noisy covariance",
        units=("person", "rating"),
        personal=False,
        audited=(_AUDITED, _AUDITED | {"unit": "rating"}),
    )
    unit: str = "person"
    factors: int = 10
    top: int = 4000
    """Items that have a covariance, at most: those of the largest noisy counts."""
    least: float = 500.0
    """What an item's noisy count must be for that, in deviations of the covariance's noise."""
    first_share: float = 0.3
    """Of the budget, for the votes."""
    width: float = 1.0
    """Residuals beyond so many quarters of the scale are cut off; the paper's B."""
    balance: float = 0.3
    """Rare items are held up by counts to the power of minus this before directions are sought."""
    shrink: float = 5.0
    """Counts that draw an item's vector to zero."""
    fold_ridge: float = 3.0

    def learn(
        self, data: Ratings, budget: GaussianBudget, certificate: Certificate, run: Run
    ) -> FactorModel:
        """Votes, covariance, low rank."""
        person = self.protected == "person"
        known = noisy_biases(data, self.items, self.protected, budget, self.first_share, run)
        left = own_residuals(data, known, own_level=person)
        x = np.clip(left / self.width, -1.0, 1.0)
        share = 1 - self.first_share
        least = self.least * budget.deviation(1.0, share)
        place = most_rated(known.effects.counts, self.top, least)
        scale = voices(own_squares(data, x, place), person=person)
        C = noisy_covariance(covariance(data, x, scale, place), 1.0, budget, share, "covariance")
        V = self.vectors(C, known.effects.counts, place, run)
        release = release_directions(data, self.items, known, V, self.fold_ridge, certificate)
        return FactorModel(release, data, compute=run.compute)

    def vectors(self, C: Array, counts: Array, place: Array, run: Run) -> Floats:
        """Item vectors of which C is about D V V' D, D being the counts."""
        inside = place >= 0
        D = counts[inside] + self.shrink
        up = D**-self.balance
        values, axes = leading(up[:, None] * C * up, self.factors, run.randomness.training)
        V = np.zeros((len(counts), len(values)))
        V[inside] = axes * np.sqrt(values) * (D ** (self.balance - 1))[:, None]
        # Vectors explain as much as a rating has, on average; how much of it, the ridge decides.
        size = weighted_mean(np.einsum("jk,jk->j", V, V), counts)
        return np.asarray(V / np.sqrt(max(size, 1e-12)))


def voices(squares: Array, *, person: bool) -> Floats:
    """By what everybody's x x' is multiplied."""
    return np.asarray(1 / np.maximum(squares, 1.0) if person else 1 / np.sqrt(2 * squares + 1.0))
