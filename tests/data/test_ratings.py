import contextlib
import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.ids import Ids
from discreet.data.ratings import Ratings
from discreet.errors import DataError, DiscreetError

ROWS = {"user": ["b", "a", "a"], "item": [2, 2, 1], "rating": [5, 4, 3]}
MANY = 20_000
"""More records than are sorted in one go: a table of so many takes the other way."""


def table(**changes: object) -> pl.DataFrame:
    return pl.DataFrame(ROWS | changes, strict=False)


def test_rows_come_out_sorted_by_user_then_item() -> None:
    ratings = Ratings.from_frame(table())
    assert ratings.to_frame().rows() == [("a", 1, 3.0), ("a", 2, 4.0), ("b", 2, 5.0)]


def test_both_orders_hold_the_same_records(small: Ratings) -> None:
    users, items = small.by_user, small.by_item
    assert sorted(zip(users.rows, users.cols, users.values, strict=True)) == sorted(
        zip(items.cols, items.rows, items.values, strict=True)
    )
    for order in (users, items):
        assert (np.repeat(np.arange(len(order.ptr) - 1), np.diff(order.ptr)) == order.rows).all()
    assert (small.in_item_order(small.item) == items.rows).all()
    assert (small.in_item_order(small.rating) == items.values).all()


def test_a_table_and_its_copies_are_read_only_and_what_it_was_made_of_is_not(
    small: Ratings,
) -> None:
    own = np.array(small.rating)
    made = replace(small, rating=own)
    assert len(made.user) == len(made.by_item.cols)  # computed now, and not copied below
    for each in (made, pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        columns = (each.user, each.item, each.rating, *each.by_user, *each.by_item)
        assert not any(column.flags.writeable for column in columns)
    assert own.flags.writeable


@pytest.mark.parametrize("user", [[1, 2, 3], [3, 1, 2]])
@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
@pytest.mark.parametrize("times", [1, MANY // 3])
def test_a_table_and_what_it_was_made_of_share_no_memory(
    user: list[int], kind: Any, times: int
) -> None:
    columns = {
        "user": np.concatenate([np.array(user) + 3 * k for k in range(times)]),
        "item": np.tile(np.array([4, 5, 6], dtype=np.int32), times),
        "rating": np.tile([1.1, 2, 3], times),
        "epsilon": np.tile([0.1, 0.2, 0.3], times),
        "timestamp": np.tile([10, 20, 30], times),
    }
    before = {name: column.copy() for name, column in columns.items()}
    made = Ratings.from_frame(kind(columns))
    rows = made.to_frame().rows()
    for name, column in columns.items():
        assert (column == before[name]).all()
        column[:] = -1
    assert made.to_frame().rows() == rows
    assert rows == sorted(zip(*before.values(), strict=True))


@pytest.mark.parametrize("ptr", [[0, 2], [1, 2, 3], [0, 1, 2], [0, 4, 3]])
def test_pointers_that_do_not_fit_are_refused(ptr: list[int]) -> None:
    with pytest.raises(DataError, match="ptr must ascend from 0"):
        replace(Ratings.from_frame(table()), ptr=np.array(ptr))


@pytest.mark.parametrize("mask", [[True], [2, 1, 0], [[True, True, False]]])
def test_a_subset_needs_a_truth_value_for_every_record(mask: list[Any]) -> None:
    with pytest.raises(DataError, match="true or false for each record"):
        Ratings.from_frame(table()).subset(np.array(mask))


@pytest.mark.parametrize(
    "users", [[7, 6, 5], [2**62, -5, 7], ["c", "b", "a"], ["10", "9", "1"], [0, 0, 5]]
)
@pytest.mark.parametrize("items", [[3, 9, 8], ["z", "y", "x"], [-(2**62), 5, 2**61]])
def test_any_ids_out_of_order_and_in_parts_are_put_in_order(
    users: list[Any], items: list[Any]
) -> None:
    frame = pl.DataFrame({"user": users, "item": items, "rating": [1, 2, 3]})
    expected = frame.sort("user", "item").cast({"rating": pl.Float32}).rows()
    parts = pl.concat([frame[:1], frame[1:2], frame[2:]], rechunk=False)
    for each in (frame, parts):
        assert Ratings.from_frame(each).to_frame().rows() == expected


def test_texts_over_a_catalogue_of_integers_stay_in_order() -> None:
    texts = table(item=["10", "9", "8"], user=["a", "a", "a"], epsilon=[0.1, 0.2, 0.3])
    moved = Ratings.from_frame(texts).with_items(Ids.of([8, 9, 10], "item"))
    assert moved.to_frame().rows() == [("a", 8, 3.0, 0.3), ("a", 9, 4.0, 0.2), ("a", 10, 5.0, 0.1)]


def test_polars_pandas_and_arrow_give_the_same_table() -> None:
    plain = Ratings.from_frame(table(epsilon=[0.1, None, 0.3])).to_frame()
    rows = ROWS | {"epsilon": [0.1, None, 0.3]}
    for frame in (pd.DataFrame(rows), pa.table(rows), pl.LazyFrame(rows)):
        assert Ratings.from_frame(frame).to_frame().equals(plain)


def test_columns_can_be_mapped() -> None:
    frame = table().rename({"user": "customer", "item": "sku"})
    mapped = Ratings.from_frame(frame, {"user": "customer", "item": "sku"})
    assert mapped.to_frame().equals(Ratings.from_frame(table()).to_frame())


@pytest.mark.parametrize("scale", [(1, 5), (0, 10), (-10, 10), (0.5, 5)])
def test_ratings_keep_their_value_on_any_scale(scale: tuple[float, float]) -> None:
    values = [scale[0], sum(scale) / 2 + 0.1, scale[1]]
    ratings = Ratings.from_frame(table(rating=values), scale=scale)
    assert sorted(ratings.rating.tolist()) == sorted(values)


def test_whole_and_half_stars_take_half_the_memory() -> None:
    assert Ratings.from_frame(table(rating=[1.5, 2, 3])).rating.dtype == np.float32
    assert Ratings.from_frame(table(rating=[1.1, 2, 3])).rating.dtype == np.float64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rating": [5, 4, float("nan")]}, r"within the scale 1..5: got nan at row 3 \(user 'a'"),
        ({"rating": [5, float("inf"), 3]}, "got inf at row 2"),
        ({"rating": [5, 4, 0]}, "got 0 at row 3"),
        ({"rating": [5, None, 3]}, "rating is missing at row 2"),
        ({"rating": ["5", "four", "3"]}, "rating must be a number: got 'four' at row 2"),
        ({"user": ["b", None, "a"]}, "user id is missing at row 2"),
        ({"item": [2.5, 2, 1]}, "item ids must be integers or strings"),
        ({"user": ["a", "a", "a"]}, r"two ratings of one pair: row 1 and again at row 2 \(user"),
        ({"epsilon": [0.1, -0.3, 1]}, r"epsilon must be finite and > 0: got -0.3 at row 2 \(user"),
        ({"epsilon": [0.1, 0, 1]}, "epsilon must be finite and > 0: got 0 at row 2"),
        ({"epsilon": [0.1, float("nan"), 1]}, "epsilon must be finite and > 0: got nan at row 2"),
        ({"epsilon": [0.1, float("inf"), 1]}, "epsilon must be finite and > 0: got inf at row 2"),
        (
            {"timestamp": ["2005-09-06", "soon", "2005-09-08"]},
            "timestamp must be seconds or an ISO date: got 'soon'",
        ),
    ],
)
def test_a_bad_value_is_named_with_its_place(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Ratings.from_frame(table(**changes))


def test_an_empty_table_and_a_missing_column_are_errors() -> None:
    with pytest.raises(DataError, match="the ratings table is empty"):
        Ratings.from_frame(table().head(0))
    with pytest.raises(DataError, match="no column 'rating' in the ratings table: it has 'user'"):
        Ratings.from_frame(table().drop("rating"))
    with pytest.raises(DataError, match="Polars, pandas or Arrow table: got list"):
        Ratings.from_frame([1, 2])


@pytest.mark.parametrize("others", [0, MANY])
def test_the_latest_of_a_pair_is_kept_on_request(others: int) -> None:
    one = table(user=["a", "a", "a"], timestamp=[30, 20, 10])
    more = pl.DataFrame(
        {
            "user": [f"b{k}" for k in range(others)],
            "item": [1] * others,
            "rating": [3] * others,
            "timestamp": [5] * others,
        },
        schema=one.schema,
    )
    frame = pl.concat([more, one])
    kept = Ratings.from_frame(frame, keep="last")
    assert len(kept) == others + 2
    assert kept.to_frame().rows()[:2] == [("a", 1, 3.0, 10), ("a", 2, 5.0, 30)]
    same = Ratings.from_frame(frame.with_columns(timestamp=20), keep="last")
    assert len(same) == others + 2
    assert same.to_frame().rows()[:2] == [("a", 1, 3.0, 20), ("a", 2, 4.0, 20)]  # the later row
    with pytest.raises(DataError, match="needs a timestamp column"):
        Ratings.from_frame(frame.drop("timestamp"), keep="last")


def test_dates_are_read_as_seconds() -> None:
    dated = Ratings.from_frame(table(timestamp=["2005-09-06", "2005-09-07", "1970-01-02"]))
    assert dated.timestamp is not None
    assert dated.timestamp.tolist() == [86_400, 1_126_051_200, 1_125_964_800]


def test_a_catalogue_drops_other_items_silently_and_keeps_unrated_ones() -> None:
    kept = Ratings.from_frame(table()).with_items(Ids.of([2, 7], "item"))
    assert kept.to_frame().rows() == [("a", 2, 4.0), ("b", 2, 5.0)]
    assert len(kept.items) == 2


@given(st.permutations(range(12)))
def test_the_order_of_the_rows_does_not_matter(order: list[int]) -> None:
    frame = pl.DataFrame(
        {"user": [k % 4 for k in range(12)], "item": [k // 4 for k in range(12)], "rating": 3}
    ).with_columns(timestamp=pl.int_range(12))
    shuffled = Ratings.from_frame(frame[order])
    assert shuffled.to_frame().equals(Ratings.from_frame(frame).to_frame())


ANYTHING = st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=3), st.booleans())


@given(
    st.fixed_dictionaries(
        {name: st.lists(ANYTHING, min_size=3, max_size=3) for name in ("user", "item", "rating")},
        optional={n: st.lists(ANYTHING, min_size=3, max_size=3) for n in ("epsilon", "timestamp")},
    )
)
def test_any_table_is_taken_or_refused_by_name(rows: dict[str, list[object]]) -> None:
    frame = pl.DataFrame(
        {name: pl.Series(_encodable(values), strict=False) for name, values in rows.items()}
    )
    # Anything but our own error fails the test by itself.
    with contextlib.suppress(DiscreetError):
        ratings = Ratings.from_frame(frame)
        assert ((ratings.rating >= 1) & (ratings.rating <= 5)).all()


def _encodable(values: list[object]) -> list[object]:
    return [v.encode("utf-8", "ignore").decode() if isinstance(v, str) else v for v in values]
