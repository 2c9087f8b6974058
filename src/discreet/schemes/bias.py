"""The bias-only baseline: overall mean, item effects, user effects; no privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.arrays import Array
from discreet.data.items import Items
from discreet.data.tables import Table, as_ratings
from discreet.errors import require_nonnegative
from discreet.kernels.compute import Compute
from discreet.privacy.certificate import Certificate
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.release.release import Release
from discreet.release.scoring import FoldIn
from discreet.schemes.base import About
from discreet.schemes.catalogue import public_items, to_train_on
from discreet.schemes.certificates import recorded
from discreet.schemes.model import FactorModel
from discreet.schemes.parameters import Parameters


@dataclass(frozen=True, kw_only=True)
class Bias(Parameters):
    """r is predicted as mean + item effect + user effect, each shrunk towards zero.

    It is a factor model with one factor that is 1 for every item, so it folds in like any other.

    >>> Bias().shrink_items
    10.0
    """

    about: ClassVar[About] = About(
        name="Bias",
        promise="no privacy: means and effects alone, for comparisons",
        units=(),
        audited=(),
    )
    shrink_items: float = 10.0
    shrink_users: float = 5.0
    items: Items | None = None

    def fit(
        self,
        ratings: Table,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        compute: Compute = Compute(),
        progress: Progress = silent,
    ) -> FactorModel:
        """Average; a specification is accepted, for comparisons, and protects nobody."""
        del spec, progress
        require_nonnegative("shrink_items", self.shrink_items)
        require_nonnegative("shrink_users", self.shrink_users)
        data = to_train_on(as_ratings(ratings), self.items)
        rating = data.rating.astype(np.float64)
        mean = float(rating.mean()) if len(data) else data.scale.middle
        item_effects = _shrunk_means(rating - mean, data.item, len(data.items), self.shrink_items)
        residual = rating - mean - item_effects[data.item]
        user_effects = _shrunk_means(residual, data.user, len(data.users), self.shrink_users)
        made = recorded(
            "bias",
            items=self.items,
            randomness=Randomness(seed),
            scheme=self.about.name,
            variant="means",
            threshold_rule="none",
        )
        release = Release(
            items=public_items(data, self.items),
            mean=mean,
            item_effects=item_effects,
            item_factors=np.ones((len(item_effects), 1)),
            prior=np.zeros(1),
            fold_in=FoldIn(self.shrink_users),
            scale=data.scale,
            certificate=Certificate(made),
        )
        return FactorModel(release, data, user_effects[:, None], compute=compute)


def _shrunk_means(values: Array, rows: Array, size: int, shrink: float) -> Array:
    """Per row: the sum of its values over their number plus `shrink`."""
    counts = np.bincount(rows, minlength=size)
    sums = np.bincount(rows, weights=values, minlength=size)
    return np.asarray(sums / np.maximum(counts + shrink, np.finfo(float).tiny))
