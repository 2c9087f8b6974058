from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels import numbering, reference, tables

THREADS = pytest.mark.parametrize("threads", [1, 3])
MANY = 3 * 2**16 + 5  # enough for every thread to have records


@given(st.lists(st.integers(0, 9)))
def test_a_stable_order_equals_its_twin(keys: list[int]) -> None:
    array = np.array(keys, dtype=np.int32)
    fast, slow = tables.stable_order(array, 10), reference.stable_order(array, 10)
    for mine, theirs in zip(fast, slow, strict=True):
        assert (mine == theirs).all()


@THREADS
def test_long_orders_are_stable_too(threads: int) -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 50, (2, MANY), dtype=np.int32)
    order, ptr = tables.stable_order(first, 60, threads)
    assert (order == np.argsort(first, kind="stable")).all()
    assert (np.diff(ptr) == np.bincount(first, minlength=60)).all()
    pairs = tables.pair_order(first, second, (50, 50), threads)
    assert (pairs == np.lexsort((second, first))).all()
    assert (tables.take(second, pairs, threads) == second[pairs]).all()


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5)))
def test_distinct_integers_are_those_of_numpy(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    known, rows = numbering.distinct_integers(array)
    assert known.tolist() == sorted(set(values))
    assert (known[rows] == array).all()


@THREADS
def test_many_dense_integers(threads: int) -> None:
    values = np.random.default_rng(1).integers(-7, 900, MANY) * 3
    known, rows = numbering.distinct_integers(values, threads)
    expected: Any = np.unique(values, return_inverse=True)
    assert (known == expected[0]).all()
    assert (rows == expected[1]).all()


def test_what_is_outside_of_a_table_has_no_row() -> None:
    table = np.array([4, -1, 2], dtype=np.int32)
    values = np.array([10, 11, 12, 13, 9, 2**63 - 1, -(2**63)])
    assert numbering.look_up(values, 10, table).tolist() == [4, -1, 2, -1, -1, -1, -1]
