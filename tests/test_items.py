import polars as pl
import pytest

from discreet.errors import DataError
from discreet.items import Items


def test_items_come_out_in_canonical_order() -> None:
    items = Items.from_frame(pl.DataFrame({"title": ["B", "A"], "item": [20, 10]}))
    assert items.frame.columns == ["item", "title"]
    assert items.ids.values.to_list() == [10, 20]


def test_a_title_falls_back_to_the_id() -> None:
    items = Items.from_frame(pl.DataFrame({"item": ["x", "y"], "title": ["X", None]}))
    assert items.titles(["x", "y", "z"]) == ["X", "y", "z"]
    assert Items.from_frame(pl.DataFrame({"item": [1]})).titles([1]) == ["1"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame({"id": [1]}), "no column 'item'"),
        (pl.DataFrame({"item": []}), "empty"),
        (pl.DataFrame({"item": [1, 1]}), "item 1 stands twice"),
        (pl.DataFrame({"item": [1], "_effect": [0]}), "reserved"),
    ],
)
def test_a_bad_item_table_is_named(frame: pl.DataFrame, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Items.from_frame(frame)
