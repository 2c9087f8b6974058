"""One's own mean, drawn towards the mean of all: but for that number one's own ratings do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import require_nonnegative
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.base import About
from discreet.schemes.catalogue import to_train_on


@dataclass(frozen=True, kw_only=True)
class OwnMean:
    """Predicts somebody's own mean, drawn towards everybody's mean m: (sum r + k m)/(n + k).

    Everybody's mean is the only number that depends on others; with n ratings it weighs k of n + k.
    """

    about: ClassVar[About] = About(
        name="own mean",
        promise="no privacy: everybody's own mean, drawn towards the mean of all",
        units=(),
        audited=(),
    )
    items: Items | None = None
    shrink: float = 5.0
    """k; as that of a person's effect in `Bias`."""

    def fit(self, ratings: Ratings, spec: PrivacySpec | None = None, **_: Any) -> Means:
        """Average; a specification is accepted, for comparisons, and protects nobody."""
        del spec
        require_nonnegative("shrink", self.shrink)
        data = to_train_on(ratings, self.items)
        rating = data.rating.astype(np.float64)
        mean = float(rating.mean()) if len(data) else data.scale.middle
        counts = np.diff(data.ptr)
        sums = np.bincount(data.user, weights=rating, minlength=len(data.users))
        total = np.maximum(counts + self.shrink, np.finfo(float).tiny)
        means = np.where(total >= 1, (sums + self.shrink * mean) / total, mean)
        return Means(data, means, mean)


@dataclass(frozen=True, eq=False)
class Means:
    """Everybody's own mean: secret. It tells no item from another, so there are no lists."""

    ratings: Ratings = field(repr=False)
    own: NDArray[np.float64] = field(repr=False)
    mean: float = field(repr=False)

    def predict_ratings(self, test: Ratings, *, clip: bool = False) -> NDArray[np.float64]:
        """Whatever the item, its rater's own mean; that of all for somebody unknown."""
        user = self.ratings.users.rows(test.users.values)[test.user]
        predicted = np.where(user >= 0, self.own[user], self.mean)
        return test.scale.clip(predicted) if clip else predicted
