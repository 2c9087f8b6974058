"""Metrics: RMSE, MAE and the CDF of absolute errors; precision, recall and NDCG for rankings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.errors import DataError

CDF_POINTS = (0.5, 1.0, 1.5, 2.0)


def errors(predicted: Any, actual: Any) -> NDArray[np.float64]:
    """Absolute errors, |r^ - r|."""
    p, a = np.asarray(predicted, dtype=np.float64), np.asarray(actual, dtype=np.float64)
    if p.shape != a.shape or p.size == 0:
        raise DataError(f"metrics need as many predictions as ratings: got {p.size} and {a.size}")
    return np.abs(p - a)


def rmse(predicted: Any, actual: Any) -> float:
    """Root mean squared error.

    >>> rmse([1, 3], [1, 5]) == 2 ** 0.5
    True
    """
    return float(np.sqrt(np.mean(errors(predicted, actual) ** 2)))


def mae(predicted: Any, actual: Any) -> float:
    """Mean absolute error."""
    return float(np.mean(errors(predicted, actual)))


def cdf(predicted: Any, actual: Any, at: Any) -> NDArray[np.float64]:
    """The share of ratings whose absolute error is at most each of `at`.

    >>> cdf([1, 3], [1, 5], [1, 2]).tolist()
    [0.5, 1.0]
    """
    sizes = np.sort(errors(predicted, actual))
    # Predictions near a whole number carry rounding; an error of "1" must count as <= 1.
    points = np.asarray(at, dtype=np.float64) + 1e-9
    return np.searchsorted(sizes, points, side="right") / len(sizes)


def summary(predicted: Any, actual: Any) -> dict[str, float]:
    """All error metrics by name."""
    shares = cdf(predicted, actual, CDF_POINTS)
    return {
        "rmse": rmse(predicted, actual),
        "mae": mae(predicted, actual),
        **{f"cdf_{point:g}": float(s) for point, s in zip(CDF_POINTS, shares, strict=True)},
    }


def ranking(
    user: Array, item: Array, relevant_user: Array, relevant_item: Array, n: int, items: int
) -> dict[str, float]:
    """Precision, recall and NDCG at n, averaged over the users with something relevant.

    (user, item) are the recommended pairs, best first for each user, users in ascending order;
    (relevant_user, relevant_item) the pairs that count as hits.
    """
    wanted = np.unique(relevant_user.astype(np.int64) * items + relevant_item)
    people, totals = np.unique(wanted // items, return_counts=True)
    if len(people) == 0:
        return {f"precision@{n}": np.nan, f"recall@{n}": np.nan, f"ndcg@{n}": np.nan}
    hit = np.isin(user.astype(np.int64) * items + item, wanted)
    rank = np.arange(len(user)) - np.searchsorted(user, user)
    gain = 1 / np.log2(rank + 2)
    size = int(max(user.max(initial=0), people.max())) + 1
    hits = np.bincount(user, weights=hit, minlength=size)[people]
    gained = np.bincount(user, weights=hit * gain, minlength=size)[people]
    ideal = np.concatenate([[0], np.cumsum(1 / np.log2(np.arange(n) + 2))])
    return {
        f"precision@{n}": float(np.mean(hits / n)),
        f"recall@{n}": float(np.mean(hits / totals)),
        f"ndcg@{n}": float(np.mean(gained / ideal[np.minimum(totals, n)])),
    }
