from typing import Any

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.errors import DataError, ParameterError
from discreet.evaluate import metrics
from discreet.evaluate.crossval import cross_validate
from discreet.evaluate.splits import by_time, hold_out, k_folds
from discreet.privacy.spec import PrivacySpec
from discreet.readers.club import Club
from discreet.schemes.bias import Bias
from discreet.schemes.pmf.pdp import PDPPMF
from discreet.schemes.pmf.pmf import PMF


def keys(ratings: Ratings) -> set[tuple[Any, ...]]:
    return set(ratings.to_frame().select("user", "item").rows())


def test_folds_test_every_rating_once(small: Ratings) -> None:
    folds = k_folds(small, 7, seed=1)
    assert sorted(len(f.test) for f in folds) == [57] * 6 + [58]
    for train, test in folds:
        assert not keys(train) & keys(test)
        assert keys(train) | keys(test) == keys(small)
    assert set.union(*(keys(f.test) for f in folds)) == keys(small)


def test_a_hold_out_has_the_asked_size_and_follows_its_seed(small: Ratings) -> None:
    one, same, other = (hold_out(small, 0.25, seed=s) for s in (1, 1, 2))
    assert len(one.test) == 100
    assert keys(one.test) == keys(same.test) != keys(other.test)


def test_a_split_by_time_tests_the_latest(small: Ratings) -> None:
    train, test = by_time(small, 0.2)
    assert train.timestamp is not None
    assert test.timestamp is not None
    assert len(test) == 80
    assert train.timestamp.max() <= test.timestamp.min()
    timeless = Ratings.from_frame(small.to_frame().drop("timestamp"))
    with pytest.raises(DataError, match="needs a timestamp column"):
        by_time(timeless)


@pytest.mark.parametrize("fraction", [0, 1, -0.5, float("nan")])
def test_a_fraction_must_leave_both_parts(fraction: float, small: Ratings) -> None:
    with pytest.raises(ParameterError, match="between 0 and 1"):
        hold_out(small, fraction)
    with pytest.raises(ParameterError, match="folds must be"):
        k_folds(small, 1)
    with pytest.raises(ParameterError, match="at most the number of ratings"):
        k_folds(small, 401)


def test_error_metrics_on_an_example_by_hand() -> None:
    predicted, actual = [1.0, 2.0, 5.5, 3.0], [1, 4, 5, 2]
    figures = metrics.summary(predicted, actual)
    assert figures["rmse"] == pytest.approx(np.sqrt((0 + 4 + 0.25 + 1) / 4))
    assert figures["mae"] == pytest.approx(3.5 / 4)
    assert [figures[f"cdf_{x}"] for x in ("0.5", "1", "1.5", "2")] == [0.5, 0.75, 0.75, 1.0]
    with pytest.raises(DataError, match="as many predictions as ratings"):
        metrics.rmse([], [])


def test_cross_validation_does_not_depend_on_the_workers(club: Club) -> None:
    few = club.ratings.subset(club.ratings.user < 300)
    spec = PrivacySpec.groups()
    frames = [
        cross_validate(
            PDPPMF(factors=4, k1=3, k2=3, gamma=5), few, spec, folds=3, workers=w, top=5
        ).drop("fit_seconds")
        for w in (1, 2)
    ]
    assert frames[0].equals(frames[1])
    assert frames[0]["fold"].to_list() == [1, 2, 3]
    assert {"rmse", "mae", "cdf_1", "ndcg@5", "status"} <= set(frames[0].columns)


def test_cross_validation_takes_splits_and_reports_progress(small: Ratings) -> None:
    seen: list[tuple[str, int, int]] = []
    splits = [hold_out(small, 0.2), by_time(small, 0.2)]
    frame = cross_validate(
        Bias(), small, folds=splits, clip=True, progress=lambda *args: seen.append(args)
    )
    assert frame.height == 2
    assert seen[0] == ("folds", 0, 2)
    assert seen[-1] == ("folds", 2, 2)
    with pytest.raises(ParameterError, match="at least one split"):
        cross_validate(Bias(), small, folds=[])


def test_a_failing_fold_fails_the_whole_with_its_own_error(small: Ratings) -> None:
    with pytest.raises(ParameterError, match="factors must be"):
        cross_validate(PMF(factors=0), small, folds=3)


def test_clipping_never_hurts(small: Ratings) -> None:
    scheme = PDPPMF(factors=3, gamma=5, k1=10, k2=10)
    free, clipped = (
        cross_validate(scheme, small, PrivacySpec.column(), folds=4, clip=c)["rmse"].mean()
        for c in (False, True)
    )
    assert clipped <= free
