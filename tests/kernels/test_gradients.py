"""Gradients, steps and what goes with them equal their NumPy twins to rounding."""

from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels import gradients, reference
from discreet.kernels.threads import record_ranges, row_ranges, run_ranges
from tests.kernels.common import DTYPES, SIZES, THREADS, TOLERANCE, matrices, sides


@SIZES
@DTYPES
@THREADS
def test_the_gradient_equals_its_twin(data: Ratings, d: int, dtype: Any, threads: int) -> None:
    U, V = matrices(data, d, dtype)
    for (order, r), own, other in zip(sides(data, dtype), (U, V), (V, U), strict=True):
        outs = [(own.copy(), np.zeros(len(own))) for _ in range(2)]
        ranges = record_ranges(order.rows, 0, len(r), threads)
        assert len(ranges) == (1 if threads == 1 else 4 * threads)
        run_ranges(
            gradients.add_gradient, ranges, threads,
            order.rows, order.cols, r, own, other, dtype(0.01), *outs[0],
        )  # fmt: skip
        reference.add_gradient(
            0, len(r), order.rows, order.cols, r, own, other, dtype(0.01), *outs[1]
        )
        for fast, slow in zip(*outs, strict=True):
            np.testing.assert_allclose(
                fast, slow, rtol=10 * TOLERANCE[dtype], atol=TOLERANCE[dtype]
            )


@SIZES
@DTYPES
@THREADS
def test_squared_errors_equal_their_twin(data: Ratings, d: int, dtype: Any, threads: int) -> None:
    U, V = matrices(data, d, dtype)
    order, r = sides(data, dtype)[0]
    fast, slow = np.empty(len(U)), np.empty(len(U))
    arrays = (order.ptr, order.cols, r, U, V)
    run_ranges(gradients.squared_errors, row_ranges(order.ptr, threads), threads, *arrays, fast)
    reference.squared_errors(0, len(U), *arrays, slow)
    np.testing.assert_allclose(fast, slow, rtol=10 * TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_dealt_records_equal_their_twin(data: Ratings) -> None:
    order = data.by_item
    columns = (order.rows, order.cols, order.values)
    part_of = np.random.default_rng(3).integers(7, size=len(data), dtype=np.uint16)
    outs = [[np.empty_like(column) for column in columns] for _ in range(2)]
    starts = [
        kernel(part_of, 8, *columns, *out)  # the last part stays empty
        for kernel, out in zip((gradients.partition, reference.partition), outs, strict=True)
    ]
    assert (starts[0] == starts[1]).all()
    for fast, slow in zip(*outs, strict=True):
        assert (fast == slow).all()


@DTYPES
def test_rows_with_gaps_between_their_numbers_give_the_same(data: Ratings, dtype: Any) -> None:
    order, r = sides(data, dtype)[0]
    U, V = (matrix[:, ::2] for matrix in matrices(data, 6, dtype))
    sums = []
    for own, other in ((U, V), (U.copy(), V.copy())):
        out, squared = np.zeros_like(own), np.zeros(len(own))
        gradients.add_gradient(
            0, len(r), order.rows, order.cols, r, own, other, dtype(1), out, squared
        )
        sums.append((out, squared))
    for gaps, none in zip(*sums, strict=True):
        np.testing.assert_allclose(gaps, none, rtol=10 * TOLERANCE[dtype], atol=TOLERANCE[dtype])


@SIZES
@DTYPES
def test_echoes_equal_their_twin(data: Ratings, d: int, dtype: Any) -> None:
    _, V = matrices(data, d, dtype)
    order, r = sides(data, dtype)[0]
    fast, slow = np.ones_like(V), np.ones_like(V)
    for step in (1, 3):
        arguments = (2, len(data.users), step, order.ptr, order.cols, r, dtype(2), V)
        gradients.add_normal_product(*arguments, fast)
        reference.add_normal_product(*arguments, slow)
    np.testing.assert_allclose(fast, slow, rtol=1e2 * TOLERANCE[dtype], atol=1e2 * TOLERANCE[dtype])


@SIZES
@DTYPES
def test_steps_equal_their_twin(data: Ratings, d: int, dtype: Any) -> None:
    order, r = sides(data, dtype)[0]
    results = []
    for kernels in (gradients, reference):
        U, V = matrices(data, d, dtype)
        sizes = (dtype(0.05 / d), dtype(0.99), dtype(0.98))
        squared = kernels.take_steps(3, len(r) - 1, order.rows, order.cols, r, U, V, *sizes)
        results.append((U, V, squared))
    for fast, slow in zip(*results, strict=True):
        np.testing.assert_allclose(
            fast, slow, rtol=1e3 * TOLERANCE[dtype], atol=1e2 * TOLERANCE[dtype]
        )


@DTYPES
def test_projection_equals_its_twin_and_moves_nothing_inside(data: Ratings, dtype: Any) -> None:
    U, _ = matrices(data, 8, dtype)
    fast, slow = U.copy(), U.copy()
    gradients.project_rows(0, len(U), fast)
    reference.project_rows(0, len(U), slow)
    np.testing.assert_allclose(fast, slow, rtol=TOLERANCE[dtype])
    norms = np.linalg.norm(U, axis=1)
    assert (norms > 1).any()
    assert (fast[norms < 1] == U[norms < 1]).all()
    assert np.linalg.norm(fast, axis=1).max() < 1 + TOLERANCE[dtype]


def test_shuffled_records_stay_together_and_others_stay_where_they_are() -> None:
    columns = [np.arange(100, dtype=dtype) for dtype in (np.int32, np.int32, np.float32)]
    gradients.shuffle(20, 90, *columns, 7)
    rows = columns[0]
    assert sorted(rows) == list(range(100))
    assert (rows[:20] == np.arange(20)).all()
    assert (rows[90:] == np.arange(90, 100)).all()
    assert (rows[20:90] != np.arange(20, 90)).sum() > 60
    assert all((column == rows).all() for column in columns)
