from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.kernels import numbering, pairs, reference, sorting

THREADS = pytest.mark.parametrize("threads", [1, 3])
MANY = 3 * 2**16 + 5  # enough for every thread to have records


@THREADS
def test_a_column_in_the_order_of_keys_is_stable(threads: int) -> None:
    keys = np.random.default_rng(0).integers(0, 50, MANY, dtype=np.int32)
    order, _ = reference.stable_order(keys, 60)
    column = np.arange(MANY)
    assert (sorting.sort_column(keys, 60, column, threads) == order).all()
    assert (sorting.take(keys, order, threads) == keys[order]).all()


@THREADS
def test_a_turned_table_holds_the_same_records(threads: int) -> None:
    rng = np.random.default_rng(0)
    rows = np.sort(rng.integers(0, 5000, MANY, dtype=np.int32))
    cols, values = rng.integers(0, 50, MANY, dtype=np.int32), rng.random(MANY)
    ptr = np.searchsorted(rows, np.arange(5001))
    assert (numbering.rows_of(ptr, threads) == rows).all()
    order, by_column = reference.stable_order(cols, 60)
    transpose = sorting.transpose(ptr, cols, values, 60, threads)
    for mine, theirs in zip(transpose, (rows[order], values[order], by_column), strict=True):
        assert (mine == theirs).all()


def check_sorted(first: Any, second: Any, size: int, threads: int = 1) -> None:
    """That pairs are sorted as their twin sorts them, with one column or several."""
    whole = np.concatenate(first)
    order = reference.pair_order(whole, second)
    column = numbering.Column(first, threads)
    places, longer = np.arange(len(second), dtype=np.uint32), np.arange(len(second)) / 7
    for columns in ([places], [longer], [places, longer], []):
        moved = [c.copy() for c in (second, *columns)]
        counts = pairs.sort_pairs(column, moved[0], size, moved[1:])
        assert (counts == np.bincount(whole - whole.min())).all()
        for mine, before in zip(moved, (second, *columns), strict=True):
            assert (mine == before[order]).all()


def check_twice(first: Any, second: Any, size: int, expected: int, threads: int = 1) -> None:
    """That the first pair that is there twice is found."""
    with pytest.raises(pairs.PairTwiceError) as error:
        pairs.sort_pairs(numbering.Column(first, threads), second.copy(), size, [])
    assert error.value.first == expected


@pytest.mark.parametrize("few", [0, 1 << 14])
@given(
    st.sets(st.tuples(st.integers(-70, 5000) | st.integers(-2, 2), st.integers(0, 99)), min_size=1),
    st.booleans(),
)
def test_pairs_are_sorted_as_their_twin_sorts_them(few: int, drawn: Any, twice: bool) -> None:
    first, second = np.array(list(drawn) + list(drawn)[:twice]).T
    second = second.astype(np.int32)
    with patch.object(pairs, "_FEW", few):
        for size in (100, 10_000, 2**31 - 1):  # rows are ranked by bits, or by comparing
            if twice:
                check_twice([first], second, size, first[0])
            else:
                check_sorted([first], second, size)


@THREADS
@pytest.mark.parametrize(("spread", "size"), [(1, 3000), (40, 3000), (1, 1 << 24)])
def test_many_pairs_are_sorted(threads: int, spread: int, size: int) -> None:
    rng = np.random.default_rng(3)
    both = rng.permutation(np.unique(rng.integers(0, [400, 3000], (MANY, 2)), axis=0))
    first, second = spread * both[:, 0].astype(np.int32), both[:, 1].astype(np.int32)
    parts = np.array_split(first, 5)
    check_sorted(parts, second, size, threads)
    middle, third = len(second) // 2, len(second) // 3
    for place in (middle, third):
        second[place] = second[first == first[place]][-1]
    check_twice(parts, second, size, min(first[middle], first[third]), threads)


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5))), st.booleans())
@example([[1], [0]], False)
@example([[5], [5], [1]], False)
def test_distinct_integers_are_those_of_numpy(values: list[list[int]], ascending: bool) -> None:
    flat = [value for part in values for value in part]
    whole = sorted(flat) if ascending else flat
    cuts = np.cumsum([len(part) for part in values])[:-1]
    column = np.array(whole, dtype=np.int64)
    known, rows = numbering.Column(np.split(column, cuts)).numbered()
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
        known, rows = numbering.Column(parts, threads).numbered()
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
def test_the_first_value_out_of_order_is_seen(threads: int) -> None:
    values, ptr = np.arange(MANY) % 9, np.minimum(np.arange(0, MANY + 9, 9), MANY)
    assert numbering.rows_ascend(ptr, values, threads)
    for place in (1, 9 * (MANY // 27), MANY - 1):
        wrong = values.copy()
        wrong[place] = wrong[place - 1] if place % 9 else -1  # a row may begin with anything
        assert numbering.rows_ascend(ptr, wrong, threads) == (place % 9 == 0)


def test_what_is_outside_of_a_table_has_no_row() -> None:
    table = np.array([4, -1, 2], dtype=np.int32)
    values = np.array([10, 11, 12, 13, 9, 2**63 - 1, -(2**63)])
    assert numbering.look_up(values, 10, table).tolist() == [4, -1, 2, -1, -1, -1, -1]
