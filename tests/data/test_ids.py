import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.ids import Ids, id_series
from discreet.errors import DataError, UnknownIdError

INTEGERS = st.integers(-(2**63), 2**63 - 1)
# Surrogates cannot be encoded, and Polars refuses them like every UTF-8 reader.
STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(st.one_of(st.lists(INTEGERS, min_size=1), st.lists(STRINGS, min_size=1)))
def test_rows_and_take_are_inverse(values: list[int] | list[str]) -> None:
    ids = Ids.of(values, "user")
    assert ids.take(ids.rows(values)).to_list() == values
    assert ids.values.to_list() == sorted(set(values), key=_utf8_key)


def _utf8_key(value: int | str) -> int | bytes:
    return value.encode() if isinstance(value, str) else value


@given(st.sets(INTEGERS, min_size=1), st.lists(INTEGERS))
def test_an_unknown_integer_has_row_minus_one(known: set[int], wanted: list[int]) -> None:
    ids = Ids.of(list(known), "item")
    assert ((ids.rows(wanted) >= 0) == [w in known for w in wanted]).all()


def test_dense_and_sparse_integers_give_the_same_rows() -> None:
    dense = np.arange(5, 5000)
    sparse = dense * 10**12
    wanted = np.array([4, 5, 77, 4999, 5000, -3])
    assert (Ids.of(dense, "u").rows(wanted) == Ids.of(sparse, "u").rows(wanted * 10**12)).all()


def test_strict_names_the_unknown_id() -> None:
    with pytest.raises(UnknownIdError, match="unknown item 'zz'"):
        Ids.of(["a", "b"], "item").rows(["a", "zz"], strict=True)
    with pytest.raises(UnknownIdError, match=r"unknown item 3: "):
        Ids.of(["a", "b"], "item").rows([3], strict=True)


def test_ids_are_the_same_if_their_texts_are() -> None:
    assert Ids.of([1, 20], "item").rows(["20", "1", "01", "x"]).tolist() == [1, 0, -1, -1]
    assert Ids.of(["1", "20", "x"], "item").rows([20, 1, 3]).tolist() == [1, 0, -1]


def test_whole_floats_and_categories_are_taken_as_ids() -> None:
    assert id_series(pl.Series([1.0, 2.0]), "user").dtype == pl.Int64
    assert id_series(pl.Series(["a"], dtype=pl.Categorical), "user").dtype == pl.String


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.5], "integers or strings"),
        ([True], "integers or strings"),
        ([1, "a"], "all integers or all strings"),
        ([1, None], "missing at row 2"),
        (pl.Series([2**63], dtype=pl.UInt64), "64 bits"),
    ],
)
def test_bad_ids_are_named(values: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        id_series(values, "user")


@given(st.lists(st.integers(-(10**12), 10**12).map(str) | st.sampled_from(["7", "07", "+7", "x"])))
def test_factorising_texts_does_not_depend_on_how_they_look(texts: list[str]) -> None:
    ids, rows = Ids.factorise(id_series(texts, "user"))
    assert ids == Ids.of(texts, "user")
    assert ids.take(rows).to_list() == texts


@pytest.mark.parametrize("values", [["3", "20", "3", "-1"], [3, 20, 3, -1], ["b", "a", "b"]])
def test_factorising_gives_the_rows_that_a_look_up_gives(values: list[int | str]) -> None:
    ids, rows = Ids.factorise(id_series(values, "user"))
    assert ids == Ids.of(values, "user")
    assert (rows == ids.rows(values)).all()
