"""Metrics of predicted ratings: how far they are from true ones. Those of lists are in lists.py.

A table names them all. A new metric is a function and a line in it: cross-validation, kept results
and the command line's columns follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError

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


@dataclass(frozen=True)
class Metric:
    """A figure of predicted and actual ratings, and the heading of its column in a table."""

    measure: Callable[[Any, Any], float]
    heading: str


ERRORS: dict[str, Metric] = {
    "rmse": Metric(rmse, "RMSE"),
    "mae": Metric(mae, "MAE"),
}
"""Every figure of predicted and actual ratings, by the name of its column."""


def summary(predicted: Any, actual: Any) -> dict[str, float]:
    """All error metrics by name, and the shares of errors within `CDF_POINTS`.

    >>> summary([1, 3], [1, 5])["cdf_1"]
    0.5
    """
    shares = cdf(predicted, actual, CDF_POINTS)
    return {name: metric.measure(predicted, actual) for name, metric in ERRORS.items()} | {
        f"cdf_{point:g}": float(s) for point, s in zip(CDF_POINTS, shares, strict=True)
    }


def headings() -> dict[str, str]:
    """What to write above each column of errors, by the column's name.

    >>> headings()["mae"]
    'MAE'
    """
    words = {name: metric.heading for name, metric in ERRORS.items()}
    return words | {f"cdf_{point:g}": f"≤ {point:g}" for point in CDF_POINTS}
