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


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5))), st.booleans())
def test_distinct_integers_are_those_of_numpy(values: list[list[int]], ascending: bool) -> None:
    flat = [value for part in values for value in part]
    whole = sorted(flat) if ascending else flat
    cuts = np.cumsum([len(part) for part in values])[:-1]
    column = np.array(whole, dtype=np.int64)
    known, rows = numbering.distinct_integers(np.split(column, cuts))
    assert known.tolist() == sorted(set(whole))
    assert (known[rows] == column).all()


@THREADS
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("ascending", [False, True])
def test_many_dense_integers(threads: int, dtype: Any, ascending: bool) -> None:
    values = (np.random.default_rng(1).integers(0, 80, MANY) * 3).astype(dtype)
    values = np.sort(values) if ascending else values
    expected: Any = np.unique(values, return_inverse=True)
    for parts in ([values], np.array_split(values, 7)):
        known, rows = numbering.distinct_integers(parts, threads)
        assert (known == expected[0]).all()
        assert (rows == expected[1]).all()


@THREADS
def test_numbers_are_narrowed_where_nothing_is_lost(threads: int) -> None:
    values = np.random.default_rng(2).integers(2, 11, MANY) / 2
    parts = np.array_split(values, 5)
    narrow, within, exact = numbering.narrowed(parts, 1, 5, threads)
    assert (narrow == values).all()
    assert within
    assert exact
    assert numbering.narrowed(parts, 1.5, 5, threads)[1:] == (False, True)
    parts[3][100] = 1.1
    assert numbering.narrowed(parts, 1, 5, threads)[1:] == (True, False)
    parts[3][100] = np.nan
    assert not numbering.narrowed(parts, 1, 5, threads)[1]


@THREADS
def test_the_first_pair_out_of_order_is_seen(threads: int) -> None:
    first, second = np.arange(MANY) // 9, np.arange(MANY) % 9
    assert numbering.pairs_ascend(first, second, threads)
    for place in (1, MANY // 3, MANY - 1):
        wrong = second.copy()
        wrong[place] = wrong[place - 1] if first[place] == first[place - 1] else -1
        first_wrong = first.copy()
        first_wrong[place] = 0
        assert numbering.pairs_ascend(first, wrong, threads) == (first[place] != first[place - 1])
        assert numbering.pairs_ascend(first_wrong, second, threads) == (place == 1)


def test_what_is_outside_of_a_table_has_no_row() -> None:
    table = np.array([4, -1, 2], dtype=np.int32)
    values = np.array([10, 11, 12, 13, 9, 2**63 - 1, -(2**63)])
    assert numbering.look_up(values, 10, table).tolist() == [4, -1, 2, -1, -1, -1, -1]
