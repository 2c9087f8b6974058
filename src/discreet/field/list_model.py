"""What baselines of lists share: scores of all items in, the best that somebody does not have out.

Nothing here is private: models keep everybody's records, and are for their owner's comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.csr import CSR
from discreet.data.ratings import Ratings
from discreet.errors import require_count
from discreet.kernels.lists import best_items
from discreet.release.release import Release

BLOCK = 1 << 21
"""How many scores are held at once: 16 MB, however many people there are."""
TIE = 1e-6
"""What the most popular item has more than one that nobody has: it decides between equal scores."""


@dataclass(frozen=True, eq=False)
class ListModel:
    """Recommends by a score of every item that follows from somebody's own records.

    Equal scores go by popularity: so do all where somebody has no records yet. Not so where scores
    are read from a release, beside which nothing exact has a place.
    """

    ratings: Ratings = field(repr=False)
    """The training table over the catalogue: secret."""
    score: Callable[[CSR], Array] = field(repr=False)
    """A fresh row of scores, one for each item, for each row of records."""
    release: Release | None = None
    """What the scores were read from, where that may be published."""

    def recommend(
        self, users: Any = None, n: int = 10, *, exclude_rated: bool = True
    ) -> pl.DataFrame:
        """The n best items for each user (all by default): frame user, item, rank, score."""
        known, count = self.ratings.users, len(self.ratings.items)
        ids = known.values if users is None else pl.Series("user", list(users))
        own = self.ratings.by_user.take(known.rows(ids))
        best = np.full((len(ids), min(require_count("n", n), count)), -1, dtype=np.int32)
        score = np.empty(best.shape)
        popular = self._popularity()
        step = max(1, BLOCK // max(1, count))
        for lo in range(0, len(ids), step):
            hi = min(lo + step, len(ids))
            block = own.take(np.arange(lo, hi))
            scores = np.ascontiguousarray(self.score(block) + popular, dtype=np.float64)
            rated = block.ptr if exclude_rated else np.zeros_like(block.ptr)
            best_items(count, scores, rated, block.cols, best[lo:hi], score[lo:hi])
        who, place = np.nonzero(best >= 0)
        return pl.DataFrame(
            {
                "user": ids.gather(who),
                "item": self.ratings.items.take(best[who, place]),
                "rank": place + 1,
                "score": score[who, place],
            }
        )

    def _popularity(self) -> Array:
        """Far less than any difference of scores: what decides between equal ones."""
        counts = np.bincount(self.ratings.item, minlength=len(self.ratings.items))
        if self.release is not None:
            return np.zeros(len(counts))
        return np.asarray(TIE * counts / max(1, counts.max(initial=0)))


def chosen(table: Ratings) -> CSR:
    """Who has what: a one for every record, whatever it says."""
    return table.by_user._replace(values=np.ones(len(table)))


def dense(rows: CSR, columns: int) -> NDArray[np.float32]:
    """The same as a whole matrix."""
    out = np.zeros((len(rows.ptr) - 1, columns), dtype=np.float32)
    out[rows.rows, rows.cols] = rows.values
    return out
