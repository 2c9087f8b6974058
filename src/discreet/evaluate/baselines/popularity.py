"""Popularity: everybody gets what most people have, counted exactly or with a Tally's noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import Array
from discreet.data.csr import CSR
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.field.list_model import ListModel
from discreet.kernels.compute import Compute
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.schemes.base import About
from discreet.schemes.catalogue import to_train_on
from discreet.schemes.tally import Tally


@dataclass(frozen=True, kw_only=True)
class Popularity:
    """Ranks by the number of training records: no privacy, and nobody's list is their own."""

    about: ClassVar[About] = About(
        name="popularity",
        promise="no privacy: exact counts, the same list for everybody",
        units=(),
        audited=(),
        events=True,
    )
    items: Items | None = None

    def fit(self, ratings: Ratings, spec: PrivacySpec | None = None, **_: Any) -> ListModel:
        """Count; a specification is accepted, for comparisons, and protects nobody."""
        del spec
        data = to_train_on(ratings, self.items, events=True)
        counts = np.bincount(data.item, minlength=len(data.items)).astype(np.float64)
        return ListModel(data, _the_same(counts))


@dataclass(frozen=True, kw_only=True)
class PrivatePopularity:
    """Ranks by noisy counts, votes against and in favour together, of a Tally at the same levels.

    The counts are in Tally's release, so a list by popularity costs no privacy beside it.
    """

    about: ClassVar[About] = About(
        name="noisy popularity",
        promise="as Tally: the same list for everybody, from its noisy counts",
        units=("rating", "person"),
        audited=(),
        events=True,
    )
    items: Items | None = None
    unit: str = "rating"

    @staticmethod
    def why_not(ratings: Ratings, spec: PrivacySpec | None) -> str:
        """Why it cannot be had, if so."""
        missing = spec is None and not ratings.has_levels
        return "no privacy levels were given" if missing else ""

    def fit(
        self,
        ratings: Ratings,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        compute: Compute = Compute(),
        progress: Progress = silent,
    ) -> ListModel:
        """Make a Tally's release and rank by its counts."""
        tally = Tally(items=self.items, unit=self.unit)
        model = tally.fit(ratings, spec, seed=seed, compute=compute, progress=progress)
        tallies = model.release.tallies
        assert tallies is not None  # a Tally's release holds them
        against, in_favour = tallies.votes()
        return ListModel(model.ratings, _the_same(against + in_favour), model.release)


def _the_same(scores: Array) -> Any:
    """Whatever somebody has, these scores."""

    def score(own: CSR) -> Array:
        return np.repeat(scores[None, :], len(own.ptr) - 1, axis=0)

    return score
