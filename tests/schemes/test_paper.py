"""The paper's own statements, as windows on real data (skipped where the data are absent)."""

from collections.abc import Callable
from typing import Any

import pytest

from discreet.data.ratings import Ratings
from discreet.evaluate.crossval import evaluate_split
from discreet.evaluate.splits import hold_out
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.pmf.dp import DPPMF
from discreet.schemes.pmf.pdp import PDPPMF
from discreet.schemes.pmf.pmf import PMF

Loader = Callable[[str], Ratings]


def measured(scheme: Any, ratings: Ratings, spec: PrivacySpec | None = None) -> dict[str, Any]:
    return evaluate_split(scheme, hold_out(ratings, 0.1, seed=0), spec, seed=0)


def test_pdp_pmf_on_movielens_1m_is_around_one_with_seven_in_ten_errors_below_one(
    real: Loader,
) -> None:
    figures = measured(PDPPMF(), real("ml-1m"), PrivacySpec.groups())
    assert 0.97 <= figures["rmse"] <= 1.02
    assert 0.68 <= figures["cdf_1"] <= 0.72


def test_dp_pmf_on_movielens_1m_is_far_worse(real: Loader) -> None:
    assert measured(DPPMF(), real("ml-1m"), PrivacySpec.uniform(0.1))["rmse"] > 1.2


def test_pdp_pmf_beats_dp_pmf_on_movielens_100k(real: Loader) -> None:
    ratings, spec = real("ml-100k"), PrivacySpec.groups()
    assert measured(PDPPMF(), ratings, spec)["rmse"] < measured(DPPMF(), ratings, spec)["rmse"]


@pytest.mark.parametrize(
    ("scheme", "most"),
    [
        (PMF(), 0.853),
        (PMF(solver="sgd"), 0.842),
        (PMF(weighted=False, lambda_u=8.0, lambda_v=8.0), 0.862),
        (PMF(solver="gradient"), 0.99),
    ],
    ids=["weighted", "SGD", "the paper's regularisation", "the paper's steps"],
)
def test_pmf_is_a_good_factoriser_on_movielens_1m(scheme: PMF, most: float, real: Loader) -> None:
    assert measured(scheme, real("ml-1m"))["rmse"] <= most
