"""The fitted model: factors of people and items in memory, and the release that may leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import DataError
from discreet.privacy.history import History
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.release.release import Release
from discreet.release.scoring import Own, People, fold_in, score_pairs


class TracePoint(NamedTuple):
    """One pass or sweep of training; the error is computed from secret ratings."""

    phase: str
    step: int
    rmse: float


class Scheme(Protocol):
    """What every scheme offers."""

    def fit(
        self,
        ratings: Ratings,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        progress: Progress = silent,
    ) -> FactorModel:
        """Train on ratings under a specification; with no seed, noise is from the system."""
        ...


@dataclass(frozen=True, eq=False)
class FactorModel:
    """Predicts mean + effect_j + u_i . v_j; only `release` may be shown to others."""

    release: Release
    ratings: Ratings = field(repr=False)
    """The training table: secret."""
    trained: Array | None = field(default=None, repr=False)
    """Jointly trained user factors, a function of everybody's ratings: secret, and never used to
    serve. None where a scheme has none: then people are folded in from their own ratings."""
    trace: tuple[TracePoint, ...] = field(default=(), repr=False)
    """How training went: secret."""
    threads: int | None = field(default=None, repr=False)

    @cached_property
    def people(self) -> People:
        """Everybody of the training table as their own ratings show them: secret."""
        return fold_in(
            self.release.item_scores, self._own_ratings(None), self.release.fold_in, self.threads
        )

    @property
    def user_factors(self) -> Array:
        """Jointly trained where there are such, else folded in: secret."""
        return self.people.coefficients if self.trained is None else self.trained

    def predict(
        self, users: Any, items: Any, *, clip: bool = False, strict: bool = False
    ) -> NDArray[np.float64]:
        """One predicted rating per pair (users[k], items[k]).

        The paper's schemes predict from jointly trained factors, as the paper does; someone
        without training ratings gets the item's mean rating, an item without training ratings the
        overall mean. The others predict from the release and each person's own ratings. Strict
        mode names whoever and whatever is unknown. The paper does not clip.
        """
        if len(users) != len(items):
            raise DataError(f"every user needs one item: got {len(users)} and {len(items)}")
        user = self.ratings.users.rows(users, strict=strict)
        item = self.ratings.items.rows(items, strict=strict)
        return self.predict_rows(user, item, clip=clip)

    def predict_ratings(self, test: Ratings, *, clip: bool = False) -> NDArray[np.float64]:
        """`predict` for every pair of another table."""
        user = self.ratings.users.rows(test.users.values)[test.user]
        item = self.ratings.items.rows(test.items.values)[test.item]
        return self.predict_rows(user, item, clip=clip)

    def predict_rows(
        self, user: NDArray[np.int32], item: NDArray[np.int32], *, clip: bool = False
    ) -> NDArray[np.float64]:
        """`predict` for the row numbers of this model's own table; -1 is unknown."""
        # -1 reads the last row, whose product is then replaced by the fallback.
        if self.trained is None:
            predicted = score_pairs(self.release.item_scores, self.people, user, item, self.threads)
            typical = self.release.typical_scores[item]
            predicted = np.where(user >= 0, predicted, typical)
            predicted = np.where(item >= 0, predicted, self.release.mean)
        else:
            item_means, overall, known_user, known_item = self._training_means
            everybody = People(self.trained, (), ())
            item_scores = self.release.item_scores._replace(families=())
            predicted = score_pairs(item_scores, everybody, user, item, self.threads)
            predicted = np.where((user >= 0) & known_user[user], predicted, item_means[item])
            predicted = np.where((item >= 0) & known_item[item], predicted, overall)
        return self.release.scale.clip(predicted) if clip else predicted

    def recommend(
        self, users: Any = None, n: int = 10, *, exclude_rated: bool = True, strict: bool = False
    ) -> pl.DataFrame:
        """The n best items for each user (all users by default): frame user, item, rank, score.

        Each person's list is folded in from their own ratings and the release alone; someone
        unknown gets the list of a person without ratings, unless strict.
        """
        known = self.ratings.users
        rows = None if users is None else known.rows(users, strict=strict)
        ids = known.values if users is None else pl.Series("user", list(users))
        table = self.release.recommend_rows(
            self._own_ratings(rows), n, exclude_rated=exclude_rated, threads=self.threads
        )
        return table.select(ids.gather(table["person"]).alias("user"), "item", "rank", "score")

    def _own_ratings(self, rows: NDArray[np.int32] | None) -> Own:
        """These people's own ratings, or everybody's; none for somebody unknown (-1)."""
        order = self.ratings.by_user
        if rows is None:
            return Own(order.ptr, order.cols, order.values)
        counts = np.where(rows >= 0, np.diff(order.ptr)[rows], 0)
        ptr = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(counts, out=ptr[1:])
        starts = np.repeat(order.ptr[rows] - ptr[:-1], counts)
        records = starts + np.arange(ptr[-1])
        return Own(ptr, order.cols[records], order.values[records])

    @cached_property
    def _training_means(self) -> tuple[Array, float, Array, Array]:
        """Item means, overall mean, and who and what has training ratings: all secret."""
        data = self.ratings
        overall = float(np.mean(data.rating, dtype=np.float64))
        counts = np.bincount(data.item, minlength=len(data.items))
        sums = np.bincount(data.item, weights=data.rating, minlength=len(data.items))
        means = np.where(counts > 0, sums / np.maximum(counts, 1), overall)
        return means, overall, np.diff(data.by_user.ptr) > 0, counts > 0


@dataclass(frozen=True, eq=False)
class Standing:
    """Where a ledger stands before a publication: what was spent and released up to now."""

    spends: Spends = field(repr=False)
    """What the pair of each record of the table has spent: secret."""
    before: Release | None
    """The release to add to, if there was one."""
    history: History
    """Of the ledger, up to the next release."""
    run: int
    """The number of this publication's randomness: with one seed, each still draws its own."""


class Batch(NamedTuple):
    """What one publication made, and what it costs every record of the table."""

    model: FactorModel
    epsilons: Array
    deltas: Array


class Publishing(Protocol):
    """What a scheme offers whose releases add to one another, within lifetime budgets."""

    @property
    def items(self) -> Items | None:
        """The public catalogue, where there is one."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """Which two data sets must look alike."""
        ...

    @property
    def unit(self) -> str:
        """What is protected."""
        ...

    def prepare(self, ratings: Ratings, spec: PrivacySpec | None) -> tuple[PrivacySpec, Ratings]:
        """The specification, and the ratings over the catalogue."""
        ...

    def allowances(self, data: Ratings, spec: PrivacySpec, spends: Spends) -> Array:
        """What every record may spend in the next publication, at most: secret."""
        ...

    def publish_batch(
        self,
        data: Ratings,
        spec: PrivacySpec,
        standing: Standing,
        randomness: Randomness,
        progress: Progress,
    ) -> Batch:
        """The next release, from what every pair has left and from the release before."""
        ...
