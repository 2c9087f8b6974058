"""SVD++: factors of what people rated beside how they rated it; without any privacy.

Koren: *Factorization Meets the Neighborhood* (KDD 2008). A rating is predicted as
mean + b_i + b_j + v_j . (u_i + |N_i|^-1/2 sum_{k in N_i} y_k), N_i being what person i rated.
Trained by stochastic gradients, person by person: the sum over N_i is made once for all ratings of
a person, and its gradient collected meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import DivergenceError, require_count, require_positive
from discreet.kernels.sorting import read_only
from discreet.kernels.svdpp import one_pass, people_vectors
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.base import About
from discreet.schemes.catalogue import to_train_on
from discreet.schemes.parameters import Parameters


@dataclass(frozen=True, kw_only=True)
class SVDpp(Parameters):
    """The strongest of the classic factorisations: what could be had without privacy."""

    about: ClassVar[About] = About(
        name="SVD++",
        promise="no privacy: factors of what people rated and how",
        units=(),
        audited=(),
    )
    items: Items | None = None
    factors: int = 20
    passes: int = 20
    gamma: float = 0.007
    """The step of the first pass; each is a tenth shorter than the one before."""
    ridge: float = 0.03

    def fit(
        self,
        ratings: Ratings,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        **_: Any,
    ) -> SVDppModel:
        """Train; a specification is accepted, for comparisons, and protects nobody."""
        del spec
        require_count("factors", self.factors)
        require_count("passes", self.passes)
        require_positive("gamma", self.gamma)
        data = to_train_on(ratings, self.items)
        rng = np.random.default_rng(seed)
        d, people, items = self.factors, len(data.users), len(data.items)
        mean = float(data.rating.mean())
        r = read_only(data.rating.astype(np.float64) - mean)
        b_user, b_item = np.zeros(people), np.zeros(items)
        U, V, Y = (0.1 / np.sqrt(d) * rng.standard_normal((n, d)) for n in (people, items, items))
        gamma = self.gamma
        for _pass in range(self.passes):
            order = rng.permutation(people)
            one_pass(data.ptr, data.item, r, order, b_user, b_item, U, V, Y, gamma, self.ridge)
            gamma *= 0.9
        if not np.isfinite(V).all():
            raise DivergenceError(f"SVD++ diverged: gamma = {self.gamma} is too long a step")
        W = people_vectors(data.ptr, data.item, U, Y)
        return SVDppModel(data, mean, b_user, b_item, W, V)


@dataclass(frozen=True, eq=False)
class SVDppModel:
    """Predictions from everybody's own vector: secret. It ranks nothing."""

    ratings: Ratings = field(repr=False)
    mean: float
    b_user: Array = field(repr=False)
    b_item: Array = field(repr=False)
    W: Array = field(repr=False)
    V: Array = field(repr=False)

    def predict_ratings(self, test: Ratings, *, clip: bool = False) -> NDArray[np.float64]:
        """A rating for every pair; of somebody unknown the item's mean."""
        user = self.ratings.users.rows(test.users.values)[test.user]
        item = self.ratings.items.rows(test.items.values)[test.item]
        own = self.b_user[user] + np.einsum("nk,nk->n", self.W[user], self.V[item])
        predicted = self.mean + np.where(item >= 0, self.b_item[item], 0.0)
        predicted += np.where((user >= 0) & (item >= 0), own, 0.0)
        return test.scale.clip(predicted) if clip else predicted
