"""The kernels of choices equal their NumPy twins to rounding, for one and for two threads."""

from typing import Any

import numpy as np
import pytest
from numba import njit

from discreet.data.ratings import Ratings
from discreet.kernels import choices, reference_choices
from discreet.kernels.threads import row_ranges, run_ranges
from tests.kernels.common import DTYPES, SIZES, THREADS, TOLERANCE, matrices


@SIZES
@DTYPES
@THREADS
@pytest.mark.parametrize("public", [0, 0.5, 1])
def test_sums_over_histories_equal_their_twin(
    data: Ratings, d: int, dtype: Any, threads: int, public: float
) -> None:
    _, columns = matrices(data, d, dtype)
    order, people = data.by_user, len(data.users)
    weights = np.random.default_rng(1).random(len(data)).astype(dtype)
    found = []
    for kernels in (choices, reference_choices):
        out = [np.full((people, d), np.nan, dtype) for _ in range(2)]
        out.append(np.full(people, np.nan, dtype))
        run_ranges(
            kernels.history_sums, row_ranges(order.ptr, threads), threads,
            order.ptr, order.cols, weights, columns, int(public * d), *out,
        )  # fmt: skip
        found.append(out)
    for fast, slow in zip(*found, strict=True):
        tolerance = 100 * TOLERANCE[dtype]
        np.testing.assert_allclose(fast, slow, rtol=tolerance, atol=tolerance)


def test_scores_of_choices_equal_their_twin_also_where_a_reading_is_below_zero() -> None:
    rng = np.random.default_rng(2)
    people, items, width = 5, 37, 64  # rows of whole tiles are longer than the catalogue
    scale = rng.random(items).astype(np.float32)
    popularity = rng.normal(5, 3, items).astype(np.float32)
    popularity[3] = -np.inf  # an item that may not be listed
    share = np.array([0, 0.4, 0.7, 0.7, 1], np.float32)
    linear = rng.normal(0.5, 1, (8, width)).astype(np.float32)
    begun = rng.normal(size=(8, width)).astype(np.float32)
    fast, slow = begun.copy(), begun.copy()
    choices.choice_scores(items, scale, popularity, share, linear, fast)
    popularity[3] = -1e30  # NumPy's 0 times infinity is no number either
    reference_choices.choice_scores(items, scale, popularity, share, linear, slow)
    assert (fast[:4, 3] == -np.inf).all()
    listed = np.arange(items) != 3
    np.testing.assert_allclose(
        fast[:people, :items][:, listed], slow[:people, :items][:, listed], atol=2e-5, rtol=2e-5
    )
    assert (fast[people:] == begun[people:]).all()
    assert (fast[:, items:] == begun[:, items:]).all()


@njit  # type: ignore[untyped-decorator]
def logarithms(x: Any, out: Any) -> None:
    for k in range(len(x)):
        out[k] = choices._log(x[k])


def test_the_logarithm_is_right_for_every_size_of_a_normal_float() -> None:
    """Every exponent, with mantissas near both ends, around the square root of 2 and between."""
    least, most = (np.float32(x).view(np.int32) for x in (np.finfo(np.float32).tiny, 3.4e38))
    bits = np.arange(least, most, 4999, dtype=np.int32)
    ends = (np.arange(1, 255, dtype=np.int32) << 23)[:, None] + np.array(
        [0, 1, 0x3504F2, 0x3504F3, 0x3504F4, 0x7FFFFE, 0x7FFFFF], np.int32
    )
    x = np.concatenate([bits, ends.ravel()]).view(np.float32)
    out = np.empty_like(x)
    logarithms(x, out)
    exact = np.log(x.astype(np.float64))
    np.testing.assert_allclose(out, exact, rtol=0, atol=1e-5)
    near = np.abs(exact) < 1  # where the logarithm is small, so is what is lost of it
    assert np.abs(out - exact)[near].max() < 1e-6


@SIZES
@DTYPES
def test_two_products_equal_their_twin(data: Ratings, d: int, dtype: Any) -> None:
    U, rows = matrices(data, d, dtype)
    fast, slow = np.empty((2, 2, len(rows)), dtype)
    choices.two_products(rows, U[0], U[1], *fast)
    reference_choices.two_products(rows, U[0], U[1], *slow)
    np.testing.assert_allclose(fast, slow, rtol=TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])


def test_draws_of_families_equal_their_twin_to_the_bit() -> None:
    """Families of no, one and several items, and people of a block that begins in the middle."""
    ptr, members = np.array([0, 2, 2, 3, 6]), np.array([5, 7, 1, 0, 2, 8], np.int32)
    bounds, families = np.array([4, 6, 7, 8]), np.array([9, 9, 9, 9, 0, 3, 1, 2], np.int32)
    draws = np.array([7, 7, 7, 7, 0.5, 1.25, 9.0, 0.125], np.float32)
    begun = np.random.default_rng(3).normal(size=(3, 10)).astype(np.float32)
    weights = np.array([1, 0.5, 1, 1, 1, 1, 1, 0.25, 0, 1], np.float32)  # sums are exact
    fast, slow = begun.copy(), begun.copy()
    choices.add_draws(bounds, families, draws, ptr, members, weights, fast)
    reference_choices.add_draws(bounds, families, draws, ptr, members, weights, slow)
    assert (fast == slow).all()
    assert (fast[1] == begun[1]).all()  # a family of nobody
    assert fast[0, 5] == begun[0, 5] + np.float32(0.5)
    assert fast[0, 7] == begun[0, 7] + np.float32(0.125)
