"""Every compiled kernel equals its NumPy twin to rounding, for one and for two threads."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import TypingError

from discreet.data.ratings import Ratings
from discreet.kernels import (
    effects,
    gradients,
    least_squares,
    leverage,
    lists,
    reference,
    reference_effects,
    sha256,
    sums,
    together,
)
from discreet.kernels.huber import solve_huber
from discreet.kernels.threads import even_ranges, record_ranges, row_ranges, run_ranges
from tests.kernels.common import DTYPES, SIZES, THREADS, TOLERANCE, matrices, sides


@SIZES
@DTYPES
def test_a_gram_matrix_equals_its_twin(data: Ratings, d: int, dtype: Any) -> None:
    U, _ = matrices(data, d, dtype)
    np.testing.assert_allclose(
        least_squares.gram(U),
        reference.gram(U),
        rtol=1e3 * TOLERANCE[dtype],
        atol=1e-3 if dtype is np.float32 else 1e-10,
    )


@DTYPES
def test_orthonormal_rows_equal_their_twin(dtype: Any) -> None:
    fast = np.random.default_rng(4).normal(size=(6, 50)).astype(dtype)
    slow = fast.copy()
    least_squares.orthonormalise(fast)
    reference.orthonormalise(slow)
    np.testing.assert_allclose(fast, slow, atol=10 * TOLERANCE[dtype])
    twice = np.vstack([fast[0], fast[0]])
    least_squares.orthonormalise(twice)
    assert (twice[1] == 0).all()


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 8, 9, 10, 15, 16, 17, 20, 21, 22, 24, 45, 64, 131])
@DTYPES
@THREADS
@pytest.mark.parametrize(("ridge", "per_record"), [(0.5, 0.0), (0.0, 0.05)])
def test_the_ridge_solution_equals_its_twin(
    data: Ratings, d: int, dtype: Any, threads: int, ridge: float, per_record: float
) -> None:
    _, V = matrices(data, d, dtype)
    order, r = sides(data, dtype)[0]
    linear = np.random.default_rng(1).normal(size=(len(data.users), d)).astype(dtype)
    fast, slow = np.empty_like(linear), np.empty_like(linear)
    run_ranges(
        least_squares.solve_ridge, row_ranges(order.ptr, threads), threads,
        order.ptr, order.cols, r, V, dtype(ridge), dtype(per_record), linear, fast,
    )  # fmt: skip
    reference.solve_ridge(
        0, len(slow), order.ptr, order.cols, r, V, ridge, per_record, linear, slow
    )
    # Single precision loses what the conditioning of the normal equations takes.
    tolerance = 2e-2 if dtype is np.float32 else 1e-9
    np.testing.assert_allclose(fast, slow, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("d", [1, 3, 8, 20, 77])
@DTYPES
@THREADS
def test_leverages_equal_their_twin(data: Ratings, d: int, dtype: Any, threads: int) -> None:
    _, V = matrices(data, d, dtype)
    order, _ = sides(data, dtype)[0]
    rng = np.random.default_rng(2)
    asked = rng.integers(0, 4, len(data.users))  # some people are asked about nothing
    pairs = np.concatenate([[0], np.cumsum(asked)])
    wanted = rng.integers(0, len(V), pairs[-1])
    fast, slow = np.empty(len(wanted), dtype), np.empty(len(wanted), dtype)
    run_ranges(
        leverage.leverages, row_ranges(order.ptr, threads), threads,
        order.ptr, order.cols, V, dtype(0.5), dtype(0.01), pairs, wanted, fast,
    )  # fmt: skip
    reference.leverages(0, len(asked), order.ptr, order.cols, V, 0.5, 0.01, pairs, wanted, slow)
    tolerance = 2e-2 if dtype is np.float32 else 1e-9
    np.testing.assert_allclose(fast, slow, rtol=tolerance, atol=tolerance)


ITEMS, GROUPS, BINS = 44, 6, 30
EDGES = np.concatenate([np.arange(20.0), 20 * 1.3 ** np.arange(11)])
PTR = np.concatenate([[0], np.cumsum([5, 17, 30, 11, 1, 24])])
FIRST = np.array([0, 3, 0, 12, 29, 6])


def groups_of_items() -> tuple[Any, Any, Any]:
    """Items in groups of eight, the last of which names some twice; noisy counts and their noise.

    Some are far from all bins of their group, and some have hardly any noise.
    """
    rng = np.random.default_rng(8)
    order = rng.permutation(ITEMS)
    # As schemes/counts.py fills the last group: an item of two groups would be of two threads.
    order = np.append(order, np.full(GROUPS * effects.LANES - ITEMS, order[-1]))
    C, s = rng.normal(10, 20, ITEMS), rng.choice([1e-3, 0.5, 2.0, 10.0], ITEMS)
    C[:3], s[:3] = [-400.0, 5000.0, 10.0], [1.0, 1.0, 1e-3]
    return order.reshape(GROUPS, -1), C, s


def beliefs_by(kernels: Any, threads: int) -> list[Any]:
    order, C, s = groups_of_items()
    odds = np.random.default_rng(9).random(BINS)
    found = [*np.full((4, PTR[-1], effects.LANES), np.nan), np.full(ITEMS, np.nan)]
    run_ranges(
        kernels.count_beliefs, row_ranges(PTR, threads), threads,
        order, FIRST, PTR, C, s, EDGES, odds, 5.0, 0.07, *found,
    )  # fmt: skip
    return found


@THREADS
def test_beliefs_about_counts_equal_their_twin(threads: int) -> None:
    found, expected = (beliefs_by(kernels, threads) for kernels in (effects, reference_effects))
    for fast, slow in zip(found, expected, strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-190)


@THREADS
@pytest.mark.parametrize(("chance", "noisy"), [(0.8, 1.0), (0.0, 0.0)])
def test_moments_of_effects_equal_their_twin(threads: int, chance: float, noisy: float) -> None:
    """Also where neither chance nor noise leaves any doubt."""
    n, base, noise, popularity, _ = beliefs_by(reference_effects, 1)
    rng = np.random.default_rng(10)
    S, prior = rng.normal(0, 30, ITEMS), rng.normal(0, 1, ITEMS)
    found = []
    for kernels in (effects, reference_effects):
        out = np.full((effects.MOMENTS, ITEMS), np.nan)
        run_ranges(
            kernels.effect_moments, row_ranges(PTR, threads), threads, groups_of_items()[0], PTR,
            n, base, noisy * noise, popularity, chance, S, prior, 0.2, 0.1, out,
        )  # fmt: skip
        found.append(out)
    np.testing.assert_allclose(*found, rtol=1e-8, atol=1e-9)


def test_steps_of_em_equal_their_twin() -> None:
    rng = np.random.default_rng(11)
    likelihood = rng.random((PTR[-1], effects.LANES))
    weight = (rng.random((GROUPS, effects.LANES)) < 0.8).astype(np.float64)
    start = rng.random(BINS)
    start /= start.sum()
    found = []
    for kernels in (effects, reference_effects):
        odds = start.copy()
        kernels.improve_odds(20, FIRST, PTR, likelihood, weight, start, odds)
        found.append(odds)
    np.testing.assert_allclose(*found, rtol=1e-11)
    assert found[0].sum() == pytest.approx(1)


def test_vector_kernels_refuse_arrays_with_gaps(data: Ratings) -> None:
    _, V = matrices(data, 6, np.float64)
    order, r = sides(data, np.float64)[0]
    linear, out = np.zeros((1, 3)), np.empty((1, 3))
    with pytest.raises(TypingError, match="contiguous"):
        least_squares.solve_ridge(0, 1, order.ptr, order.cols, r, V[:, ::2], 0.5, 0.0, linear, out)


def test_an_empty_row_without_regularisation_is_zero() -> None:
    ptr, cols = np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int32)
    for kernel in (least_squares.solve_ridge, reference.solve_ridge):
        out = np.full((1, 2), np.nan)
        kernel(0, 1, ptr, cols, np.zeros(0), np.ones((1, 2)), 0.0, 0.05, np.zeros((1, 2)), out)
        assert (out == 0).all()


@pytest.mark.parametrize("d", [1, 2, 7])
@THREADS
def test_the_huber_solution_equals_its_twin(data: Ratings, d: int, threads: int) -> None:
    U, _ = matrices(data, d, np.float64)
    gradients.project_rows(0, len(U), U)
    order = data.by_item
    r = order.values.astype(np.float64) - 3
    eta = np.random.default_rng(2).normal(0, 5, (len(data.items), d))
    fast, slow = np.empty_like(eta), np.empty_like(eta)
    left_fast, left_slow = np.empty(len(eta)), np.empty(len(eta))
    run_ranges(
        solve_huber, row_ranges(order.ptr, threads), threads,
        order.ptr, order.cols, r, U, 0.7, 0.8, eta, fast, left_fast,
    )  # fmt: skip
    reference.solve_huber(0, len(eta), order.ptr, order.cols, r, U, 0.7, 0.8, eta, slow, left_slow)
    assert left_fast.max() < 1e-12
    assert left_slow.max() < 1e-12
    np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-9)


def test_a_wide_huber_loss_is_least_squares(data: Ratings) -> None:
    U, _ = matrices(data, 3, np.float64)
    order = data.by_item
    r = order.values.astype(np.float64)
    eta = np.random.default_rng(2).normal(0, 5, (len(data.items), 3))
    huber, ridge, left = np.empty_like(eta), np.empty_like(eta), np.empty(len(eta))
    n = len(eta)
    solve_huber(0, n, order.ptr, order.cols, r, U, 0.7, 1e9, eta, huber, left)
    least_squares.solve_ridge(0, n, order.ptr, order.cols, r, U, 0.7, 0.0, eta, ridge)
    np.testing.assert_allclose(huber, ridge, rtol=1e-9, atol=1e-9)


@SIZES
@DTYPES
@THREADS
def test_products_of_pairs_equal_their_twin(
    data: Ratings, d: int, dtype: Any, threads: int
) -> None:
    U, V = matrices(data, d, dtype)
    fast, slow = np.empty(len(data), dtype), np.empty(len(data), dtype)
    arrays = (data.user, data.item, U, V)
    run_ranges(lists.dot_pairs, even_ranges(len(data), threads), threads, *arrays, fast)
    reference.dot_pairs(0, len(data), *arrays, slow)
    np.testing.assert_allclose(fast, slow, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("d", [1, 20])
@DTYPES
def test_scores_of_people_are_the_product_of_their_factors(d: int, dtype: Any) -> None:
    rng = np.random.default_rng(8)
    U, VT = rng.normal(size=(13, d)).astype(dtype), rng.normal(size=(d, 192)).astype(dtype)
    scores = np.full((16, 192), np.nan, dtype)
    lists.score_people(U, VT, scores)
    np.testing.assert_allclose(
        scores[:13], U @ VT, rtol=10 * TOLERANCE[dtype], atol=10 * TOLERANCE[dtype]
    )


@given(st.lists(st.binary(max_size=150), min_size=1, max_size=6), st.data())
def test_hashes_equal_those_of_hashlib(texts: list[bytes], draw: st.DataObject) -> None:
    key = np.frombuffer(draw.draw(st.binary(min_size=64, max_size=64)), dtype=np.uint8)
    ptr = np.cumsum([0, *map(len, texts)])
    packed = np.frombuffer(b"".join(texts), dtype=np.uint8)
    rows = np.array([k for k, _ in enumerate(texts) for _ in texts], dtype=np.int32)
    cols = np.array([k for _ in texts for k, _ in enumerate(texts)], dtype=np.int32)
    fast, slow = np.empty((len(rows), 4)), np.empty((len(rows), 4))
    for kernel, out in ((sha256.hash_pairs, fast), (reference.hash_pairs, slow)):
        kernel(0, len(rows), key, rows, cols, packed, ptr, packed, ptr, out)
    assert (fast == slow).all()


def test_ranges_cover_everything_once_and_never_split_a_row(data: Ratings) -> None:
    order = data.by_item
    for threads in (1, 2, 3, 8):
        for ranges, end in (
            (row_ranges(order.ptr, threads), len(data.items)),
            (record_ranges(order.rows, 0, len(data), threads), len(data)),
            (even_ranges(len(data), threads), len(data)),
        ):
            flat = [edge for pair in ranges for edge in pair]
            assert flat[0] == 0
            assert flat[-1] == end
            assert flat[1:-1:2] == flat[2::2]
        cuts = [lo for lo, _ in record_ranges(order.rows, 0, len(data), threads)[1:]]
        assert all(order.rows[cut] != order.rows[cut - 1] for cut in cuts)


@THREADS
@pytest.mark.parametrize("d", [1, 5, 32])
def test_the_passes_of_chorus_equal_their_twins_to_the_bit(
    data: Ratings, d: int, threads: int
) -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(-(2**19), 2**19, len(data)).astype(np.int32)
    z = np.trunc(rng.normal(size=(len(data.items), d)) / np.sqrt(d) * 2**19)
    people, items = data.by_user, data.by_item
    results = []
    for vectors, total, count in (
        (sums.user_vectors, sums.item_sums, threads),
        (reference.user_vectors, reference.item_sums, 1),
    ):
        U = np.empty((len(data.users), d))
        V = np.empty((len(data.items), d), dtype=np.int64)
        run_ranges(
            vectors, row_ranges(people.ptr, count), count,
            people.ptr, people.cols, a, z, 0.25, 2**20, 4096, U,
        )  # fmt: skip
        run_ranges(
            total, row_ranges(items.ptr, count), count,
            items.ptr, items.cols, data.in_item_order(a), U, 1024, 4096, V,
        )  # fmt: skip
        results.append((U, V))
    for fast, slow in zip(*results, strict=True):
        assert (fast == slow).all()


@pytest.mark.parametrize("d", [3, 20, 40])
def test_many_records_of_one_row_are_summed_in_parts(d: int) -> None:
    rng = np.random.default_rng(6)
    counts = np.array([5000, 0, 1, 128, 129])
    ptr = np.concatenate([[0], np.cumsum(counts)])
    V = rng.normal(size=(50, d)).astype(np.float32)
    cols = rng.integers(50, size=ptr[-1]).astype(np.int32)
    r = rng.normal(size=ptr[-1]).astype(np.float32)
    fast, slow = np.ones((5, d), dtype=np.float32), np.empty((5, d), dtype=np.float32)
    none = np.zeros((1, d), dtype=np.float32)
    for kernel, out in ((least_squares.solve_ridge, fast), (reference.solve_ridge, slow)):
        kernel(0, 5, ptr, cols, r, V, np.float32(0), np.float32(0.1), none, out)
    np.testing.assert_allclose(fast, slow, rtol=1e-4, atol=1e-4)
    assert (fast[1] == 0).all()  # no record and no ridge


@pytest.mark.parametrize("d", [3, 20, 40])
def test_without_records_and_ridge_the_answer_is_zero_whatever_is_linear(d: int) -> None:
    rng = np.random.default_rng(9)
    V, linear = rng.normal(size=(9, d)), rng.normal(size=(3, d))
    ptr, cols, out = (
        np.array([0, 0, 90, 90]),
        np.resize(np.arange(9, dtype=np.int32), 90),
        np.ones((3, d)),
    )
    least_squares.solve_ridge(0, 3, ptr, cols, np.ones(90), V, 0.0, 0.1, linear, out)
    assert (out[[0, 2]] == 0).all()
    assert (out[1] != 0).all()


def test_a_number_that_is_none_is_seen_in_its_own_row_alone() -> None:
    V = np.random.default_rng(7).normal(size=(4, 20)).astype(np.float32)
    V[2, 5] = np.nan
    ptr, cols = np.arange(5), np.arange(4, dtype=np.int32)
    out = np.empty((4, 20), dtype=np.float32)
    least_squares.solve_ridge(
        0, 4, ptr, cols, np.ones(4, dtype=np.float32), V, np.float32(1), np.float32(0),
        np.zeros((1, 20), dtype=np.float32), out,
    )  # fmt: skip
    assert np.isnan(out).any(axis=1).tolist() == [False, False, True, False]


def test_a_person_with_more_records_than_one_exact_block_is_summed_exactly() -> None:
    n = 3 * 4096 + 17
    a = np.full(n, 2**20 - 1, dtype=np.int32)
    z = np.full((n, 2), float(2**20))
    ptr, items = np.array([0, n]), np.arange(n, dtype=np.int32)
    fast, slow = np.empty((1, 2)), np.empty((1, 2))
    sums.user_vectors(0, 1, ptr, items, a, z, 0.25, 2**20, 4096, fast)
    reference.user_vectors(0, 1, ptr, items, a, z, 0.25, 2**20, 4096, slow)
    assert (fast == slow).all()


@THREADS
def test_what_is_had_together_equals_its_twin(data: Ratings, threads: int) -> None:
    x = np.random.default_rng(3).normal(size=len(data))
    rows = data.by_user._replace(values=x)
    columns = rows.transposed(len(data.items))
    sides = (columns.ptr, columns.cols, columns.values, rows.ptr, rows.cols, rows.values)
    fast = np.zeros((len(data.items), len(data.items)))
    for lo, hi in row_ranges(columns.ptr, threads):
        slow = np.zeros((hi - lo, len(data.items)))
        together.add_together(lo, hi, *sides, fast[lo:hi])
        reference.add_together(lo, hi, *sides, slow)
        np.testing.assert_allclose(fast[lo:hi], slow, atol=1e-12)


def test_what_neighbours_say_equals_its_twin(data: Ratings) -> None:
    rng = np.random.default_rng(4)
    items = len(data.items)
    near = np.stack([rng.permutation(items)[: min(3, items)] for _ in range(items)])
    likeness, x = rng.random(near.shape), rng.random(len(data))
    fast = np.zeros((len(data.users), items))
    slow = fast.copy()
    together.add_neighbours(data.ptr, data.item, x, near, likeness, fast)
    reference.add_neighbours(data.ptr, data.item, x, near, likeness, slow)
    np.testing.assert_allclose(fast, slow, atol=1e-12)
