"""Splits: ratings to train on and to test on, at random, in folds, by time, or everybody's last.

Both parts keep the numbers of the table's people and items.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.errors import DataError, ParameterError, require_choice, require_count


class Split(NamedTuple):
    """One way to divide the ratings: a scheme sees the training part only."""

    train: Ratings
    test: Ratings


def hold_out(ratings: Ratings, fraction: float = 0.1, *, seed: int = 0) -> Split:
    """Hold out a random fraction of the ratings for testing.

    Of n ratings, round(fraction * n) are tested; both parts hold at least one.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [5, 4, 3, 2]})
    >>> train, test = hold_out(Ratings.from_frame(frame), 0.25)
    >>> len(train), len(test)
    (3, 1)
    """
    count = _test_count(ratings, fraction)
    order = np.random.default_rng(seed).permutation(len(ratings))
    return _split(ratings, order[:count])


def k_folds(ratings: Ratings, folds: int = 10, *, seed: int = 0) -> list[Split]:
    """Divide the ratings at random into folds, each of which is tested once, on the rest.

    Every rating is in one fold; folds differ in size by at most one.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [5, 4, 3, 2]})
    >>> [len(fold.test) for fold in k_folds(Ratings.from_frame(frame), 3)]
    [2, 1, 1]
    """
    return [one_fold(ratings, fold, folds, seed=seed) for fold in range(folds_of(ratings, folds))]


def one_fold(ratings: Ratings, fold: int, folds: int = 10, *, seed: int = 0) -> Split:
    """One of the k folds, without making the others."""
    order = np.random.default_rng(seed).permutation(len(ratings))
    return _split(ratings, np.array_split(order, folds_of(ratings, folds))[fold])


def folds_of(ratings: Ratings, folds: int) -> int:
    """The number of folds, if the table can be divided into so many."""
    require_count("folds", folds, least=2)
    if folds > len(ratings):
        raise ParameterError(
            f"folds must be at most the number of ratings: got {folds} for {len(ratings)}"
        )
    return folds


def by_time(ratings: Ratings, fraction: float = 0.1) -> Split:
    """Hold out the latest fraction of the ratings: the past predicts the future.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"user": [1, 1], "item": [1, 2], "rating": [5, 4]})
    >>> by_time(Ratings.from_frame(frame.with_columns(timestamp=pl.Series([20, 10])))).test.rating
    array([5.], dtype=float32)
    """
    if ratings.timestamp is None:
        raise DataError("a split by time needs a timestamp column: map one, or use hold_out")
    count = _test_count(ratings, fraction)
    order = np.argsort(ratings.timestamp, kind="stable")
    return _split(ratings, order[len(order) - count :])


def leave_last_out(ratings: Ratings, count: int = 1, *, seed: int = 0) -> Split:
    """Hold out everybody's latest `count` records: a person's past predicts what comes next.

    Somebody with no more than `count` records keeps them all for training. Of records at the same
    time the seed decides which came last, so that no item is favoured by its number.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "rating": [5, 4, 3]})
    >>> leave_last_out(Ratings.from_frame(frame.with_columns(timestamp=pl.Series([20, 10, 5]))))[1]
    Ratings(1 ratings of 2 users on 2 items, scale 1..5)
    """
    require_count("count", count)
    if ratings.timestamp is None:
        raise DataError("leaving the last out needs a timestamp column: map one, or use hold_out")
    chance = np.random.default_rng(seed).random(len(ratings))
    order = np.lexsort((chance, ratings.timestamp, ratings.user))
    # In this order a person's records still are ptr[i]..ptr[i+1], the latest at the end.
    left = np.repeat(ratings.ptr[1:], np.diff(ratings.ptr)) - np.arange(len(ratings))
    enough = np.repeat(np.diff(ratings.ptr) > count, np.diff(ratings.ptr))
    last = order[(left <= count) & enough]
    if len(last) == 0:
        raise DataError(f"nobody has more than {count} records: there is nothing to leave out")
    return _split(ratings, last)


SPLITS = ("random", "time", "last")
"""How records can be held out: in folds, the latest share of all, or everybody's last."""


def split_of(
    ratings: Ratings, how: str, fold: int = 0, folds: int = 1, *, seed: int = 0, share: float = 0.1
) -> Split:
    """One split by its name: a fold, or a share where there is one fold.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [5, 4, 3, 2]})
    >>> len(split_of(Ratings.from_frame(frame), "random", 0, 2).test)
    2
    """
    require_choice("split", how, SPLITS)
    if how == "last":
        return leave_last_out(ratings, seed=seed)
    if how == "time":
        return by_time(ratings, share)
    if folds > 1:
        return one_fold(ratings, fold, folds, seed=seed)
    return hold_out(ratings, share, seed=seed)


def _test_count(ratings: Ratings, fraction: float) -> int:
    if not 0 < fraction < 1:
        raise ParameterError(f"the test fraction must be between 0 and 1: got {fraction!r}")
    if len(ratings) < 2:
        raise DataError("a split needs at least two ratings: got a table with fewer")
    return min(max(1, round(fraction * len(ratings))), len(ratings) - 1)


def _split(ratings: Ratings, test_rows: NDArray[Any]) -> Split:
    tested = np.zeros(len(ratings), dtype=bool)
    tested[test_rows] = True
    return Split(ratings.subset(~tested), ratings.subset(tested))
