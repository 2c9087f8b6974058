"""Metrics: how far predicted ratings are from true ones, and how good lists of items are.

Two tables name them all. A new metric is a function and a line in one of them: cross-validation,
kept results and the command line's columns follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, ParamSpec

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.errors import DataError

P = ParamSpec("P")
CDF_POINTS = (0.5, 1.0, 1.5, 2.0)
"""Errors, in stars, for which a summary says how many predictions are at least as good."""


def errors(predicted: Any, actual: Any) -> NDArray[np.float64]:
    """How far each prediction is from the rating, in either direction: |predicted - actual|.

    >>> errors([1, 3], [1, 5]).tolist()
    [0.0, 2.0]
    """
    p, a = np.asarray(predicted, dtype=np.float64), np.asarray(actual, dtype=np.float64)
    if p.shape != a.shape or p.size == 0:
        raise DataError(f"metrics need as many predictions as ratings: got {p.size} and {a.size}")
    return np.abs(p - a)


def rmse(predicted: Any, actual: Any) -> float:
    """Root mean squared error: the size of a typical error, where large ones count for more.

    sqrt(mean((predicted - actual)^2)), in the unit of the ratings; 0 is perfect.

    >>> rmse([1, 3], [1, 5]) == 2 ** 0.5
    True
    """
    return float(np.sqrt(np.mean(errors(predicted, actual) ** 2)))


def mae(predicted: Any, actual: Any) -> float:
    """Mean absolute error: by how many stars a prediction is off on average.

    mean(|predicted - actual|); 0 is perfect.

    >>> mae([1, 3], [1, 5])
    1.0
    """
    return float(np.mean(errors(predicted, actual)))


def cdf(predicted: Any, actual: Any, at: Any) -> NDArray[np.float64]:
    """The share of ratings that are predicted within each of `at` stars.

    share(x) = (number of ratings with |predicted - actual| <= x) / (number of ratings): the
    cumulative distribution function of the errors.

    >>> cdf([1, 3], [1, 5], [1, 2]).tolist()
    [0.5, 1.0]
    """
    sizes = np.sort(errors(predicted, actual))
    # Predictions near a whole number carry rounding; an error of "1" must count as <= 1.
    points = np.asarray(at, dtype=np.float64) + 1e-9
    return np.searchsorted(sizes, points, side="right") / len(sizes)


class Lists(NamedTuple):
    """What became of the lists of recommended items: one row for each person who likes something.

    A person's relevant items are those among the held-out ratings that the person likes; a
    recommended item that is one of them is a hit.
    """

    hits: NDArray[np.bool_]
    """hits[p, k]: whether the item at place k of person p's list, from 0, is a hit."""
    relevant: NDArray[np.int64]
    """relevant[p]: how many items are relevant to person p; at least one."""


def precision(lists: Lists) -> float:
    """How much of a list is relevant: hits / places in the list, mean over people.

    >>> precision(Lists(np.array([[True, False]]), np.array([1])))
    0.5
    """
    return float(np.mean(lists.hits.sum(axis=1) / lists.hits.shape[1]))


def recall(lists: Lists) -> float:
    """How much of what is relevant is in the list: hits / relevant items, mean over people.

    >>> recall(Lists(np.array([[True, False]]), np.array([1])))
    1.0
    """
    return float(np.mean(lists.hits.sum(axis=1) / lists.relevant))


def ndcg(lists: Lists) -> float:
    """Normalised discounted cumulative gain: like recall, but a hit counts more higher up.

    A hit at place k, from 0, gains 1 / log2(k + 2). The sum is divided by what the best possible
    list would gain, all relevant items first; mean over people, 1 is perfect.

    >>> round(ndcg(Lists(np.array([[False, True]]), np.array([1]))), 4)  # 1 / log2(3)
    0.6309
    """
    gain = 1 / np.log2(np.arange(lists.hits.shape[1]) + 2)
    best = np.concatenate([[0], np.cumsum(gain)])
    gained = (lists.hits * gain).sum(axis=1)
    return float(np.mean(gained / best[np.minimum(lists.relevant, len(gain))]))


@dataclass(frozen=True)
class Metric(Generic[P]):
    """A figure, and the heading of its column in a table for people."""

    measure: Callable[P, float]
    heading: str


ERRORS: dict[str, Metric[[Any, Any]]] = {
    "rmse": Metric(rmse, "RMSE"),
    "mae": Metric(mae, "MAE"),
}
"""Every figure of predicted and actual ratings, by the name of its column."""

RANKINGS: dict[str, Metric[[Lists]]] = {
    "precision": Metric(precision, "precision"),
    "recall": Metric(recall, "recall"),
    "ndcg": Metric(ndcg, "ndcg"),
}
"""Every figure of lists; both names of its column end in "@n" where the lists have n items."""


def summary(predicted: Any, actual: Any) -> dict[str, float]:
    """All error metrics by name, and the shares of errors within `CDF_POINTS`.

    >>> summary([1, 3], [1, 5])["cdf_1"]
    0.5
    """
    shares = cdf(predicted, actual, CDF_POINTS)
    return {name: metric.measure(predicted, actual) for name, metric in ERRORS.items()} | {
        f"cdf_{point:g}": float(s) for point, s in zip(CDF_POINTS, shares, strict=True)
    }


def ranking(
    user: Array, item: Array, relevant_user: Array, relevant_item: Array, n: int, items: int
) -> dict[str, float]:
    """All metrics of lists of n items by name, over the people to whom something is relevant.

    (user, item) are the recommended pairs, best first for each user, users in ascending order;
    (relevant_user, relevant_item) the pairs that count as hits. Users and items are row numbers, of
    `items` items. Where nothing is relevant to anybody, there is nothing to say: NaN.
    """
    wanted = np.unique(relevant_user.astype(np.int64) * items + relevant_item)
    people, totals = np.unique(wanted // items, return_counts=True)
    if len(people) == 0:
        return {f"{name}@{n}": np.nan for name in RANKINGS}
    hit = np.isin(user.astype(np.int64) * items + item, wanted)
    place = np.arange(len(user)) - np.searchsorted(user, user)
    hit &= place < n
    hits = np.zeros((len(people), n), dtype=bool)
    hits[np.searchsorted(people, user[hit]), place[hit]] = True
    lists = Lists(hits, totals)
    return {f"{name}@{n}": metric.measure(lists) for name, metric in RANKINGS.items()}


def headings(top: int | None = None) -> dict[str, str]:
    """What to write above each column of results, by the column's name.

    >>> headings()["mae"], headings(10)["recall@10"]
    ('MAE', 'recall@10')
    """
    words = {name: metric.heading for name, metric in ERRORS.items()}
    first, *others = CDF_POINTS
    words[f"cdf_{first:g}"] = f"|error| ≤ {first:g}"
    words |= {f"cdf_{point:g}": f"≤ {point:g}" for point in others}
    if top is not None:
        words |= {f"{name}@{top}": f"{m.heading}@{top}" for name, m in RANKINGS.items()}
    return words
