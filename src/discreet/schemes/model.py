"""The fitted model: factors of people and items in memory, and the release that may leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.ratings import Ratings
from discreet.errors import DataError, ParameterError
from discreet.kernels.compute import Compute
from discreet.release.certainty import Predictions
from discreet.release.explaining import Explanation, explain
from discreet.release.ranking import RECENCY, Ranking
from discreet.release.release import Release
from discreet.release.scoring import Own, People, fold_in, score_pairs


class TracePoint(NamedTuple):
    """One pass or sweep of training; the error is computed from secret ratings."""

    phase: str
    step: int
    rmse: float


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
    compute: Compute = field(default=Compute(), repr=False)

    @cached_property
    def people(self) -> People:
        """Everybody of the training table as their own ratings show them: secret."""
        return fold_in(
            self.release.item_scores,
            self._own_ratings(None),
            self.release.fold_in,
            self.compute.threads,
        )

    @property
    def user_factors(self) -> Array:
        """Jointly trained where there are such, else folded in: secret."""
        return self.people.coefficients if self.trained is None else self.trained

    @overload
    def predict(
        self,
        users: Any,
        items: Any,
        *,
        clip: bool = False,
        strict: bool = False,
        with_error: Literal[False] = False,
    ) -> NDArray[np.float64]: ...

    @overload
    def predict(
        self,
        users: Any,
        items: Any,
        *,
        clip: bool = False,
        strict: bool = False,
        with_error: Literal[True],
    ) -> Predictions: ...

    def predict(
        self,
        users: Any,
        items: Any,
        *,
        clip: bool = False,
        strict: bool = False,
        with_error: bool = False,
    ) -> NDArray[np.float64] | Predictions:
        """One predicted rating per pair (users[k], items[k]).

        The paper's schemes predict from jointly trained factors, as the paper does; someone
        without training ratings gets the item's mean rating, an item without training ratings the
        overall mean. The others predict from the release and each person's own ratings. Strict
        mode names whoever and whatever is unknown. The paper does not clip.

        With `with_error`, for Tally and Chorus, also the standard error of each: of the rating that
        the person would give. About two thirds of ratings are within one, 95% within two, as
        measured on films; more where people rate more steadily, fewer where ratings are nothing but
        ones and fives (docs/accuracy.md).
        """
        for what, given in (("user", users), ("item", items)):
            if isinstance(given, str) or not hasattr(given, "__len__"):
                raise DataError(f"{what}s must come in a list: got {given!r}; write [{given!r}]")
        if len(users) != len(items):
            raise DataError(f"every user needs one item: got {len(users)} and {len(items)}")
        user = self.ratings.users.rows(users, strict=strict)
        item = self.ratings.items.rows(items, strict=strict)
        predicted = self.predict_rows(user, item, clip=clip)
        if not with_error:
            return predicted
        return Predictions(predicted, self.error_rows(user, item))

    def predict_ratings(self, test: Ratings, *, clip: bool = False) -> NDArray[np.float64]:
        """`predict` for every pair of another table."""
        user = self.ratings.users.rows(test.users.values)[test.user]
        item = self.ratings.items.rows(test.items.values)[test.item]
        return self.predict_rows(user, item, clip=clip)

    def predict_rows(
        self, user: NDArray[np.int32], item: NDArray[np.int32], *, clip: bool = False
    ) -> NDArray[np.float64]:
        """`predict` for the row numbers of this model's own table; -1 is unknown."""
        self.release.require_ratings()
        # -1 reads the last row, whose product is then replaced by the fallback.
        if self.trained is None:
            predicted = score_pairs(
                self.release.item_scores, self.people, user, item, self.compute.threads
            )
            typical = self.release.typical_scores[item]
            predicted = np.where(user >= 0, predicted, typical)
            predicted = np.where(item >= 0, predicted, self.release.mean)
        else:
            item_means, overall, known_user, known_item = self._training_means
            everybody = People(self.trained)
            item_scores = self.release.item_scores._replace(families=())
            predicted = score_pairs(item_scores, everybody, user, item, self.compute.threads)
            predicted = np.where((user >= 0) & known_user[user], predicted, item_means[item])
            predicted = np.where((item >= 0) & known_item[item], predicted, overall)
        return self.release.scale.clip(predicted) if clip else predicted

    def error_rows(self, user: NDArray[np.int32], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """The standard errors of `predict_rows`."""
        if self.trained is not None:
            raise ParameterError(
                "standard errors come from Tally and Chorus, which know how much they know of an "
                f"item and a person: {self.release.certificate.scheme} does not"
            )
        own = self._own_ratings(None)
        return self.release.errors(own, self.people, user, item, self.compute.threads)

    def recommend(
        self,
        users: Any = None,
        n: int = 10,
        *,
        rank_by: str = "best",
        diversity: float = 0.0,
        among: Any = None,
        without: Any = None,
        exclude_rated: bool = True,
        recency: float = RECENCY,
        with_error: bool = False,
        strict: bool = False,
    ) -> pl.DataFrame:
        """The n items for each user (all by default): frame user, item, rank, score [, title].

        Each person's list is made of their own ratings and the release alone, as
        `Release.recommend` says, and of the times that the table has; someone unknown gets the list
        of a person without ratings, unless strict.
        """
        known = self.ratings.users
        rows = None if users is None else known.rows(users, strict=strict)
        ids = known.values if users is None else pl.Series("user", list(users))
        ranking = Ranking(
            by=rank_by,
            diversity=diversity,
            among=among,
            without=without,
            exclude_rated=exclude_rated,
            recency=recency,
        )
        table = self.release.recommend_rows(
            self._own_ratings(rows),
            n,
            ranking,
            with_error=with_error,
            threads=self.compute.threads,
        )
        user = ids.gather(table["person"]).alias("user")
        return self.release.with_titles(table.select(user, pl.all().exclude("person")))

    def explain(self, user: Any, item: Any, *, recency: float = RECENCY) -> Explanation:
        """Why an item is in somebody's list: `Release.explain` of that person's own ratings.

        The answer is that person's own, like the list. An unknown user or item is named.
        """
        row = self.ratings.users.rows([user], strict=True)
        return explain(self.release, self._own_ratings(row), item, recency)

    def similar_items(self, item: Any, n: int = 10) -> pl.DataFrame:
        """The n items most like one, whoever asks: `Release.similar_items`."""
        return self.release.similar_items(item, n)

    def _own_ratings(self, rows: NDArray[np.int32] | None) -> Own:
        """These people's own ratings, or everybody's; none for somebody unknown (-1)."""
        order, times = self.ratings.by_user, self.ratings.timestamp
        if rows is None:
            return Own(order.ptr, order.cols, order.values, times)
        counts = np.where(rows >= 0, np.diff(order.ptr)[rows], 0)
        ptr = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(counts, out=ptr[1:])
        starts = np.repeat(order.ptr[rows] - ptr[:-1], counts)
        records = starts + np.arange(ptr[-1])
        when = None if times is None else times[records]
        return Own(ptr, order.cols[records], order.values[records], when)

    @cached_property
    def _training_means(self) -> tuple[Array, float, Array, Array]:
        """Item means, overall mean, and who and what has training ratings: all secret."""
        data = self.ratings
        overall = float(np.mean(data.rating, dtype=np.float64))
        counts = np.bincount(data.item, minlength=len(data.items))
        sums = np.bincount(data.item, weights=data.rating, minlength=len(data.items))
        means = np.where(counts > 0, sums / np.maximum(counts, 1), overall)
        return means, overall, np.diff(data.by_user.ptr) > 0, counts > 0
