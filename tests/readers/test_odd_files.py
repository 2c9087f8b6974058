"""What a stranger brings is read, or refused with words that help: never a traceback."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.data.uses import decide_uses
from discreet.errors import DataError
from discreet.readers.tables import read_items, read_ratings
from tests.readers.odd_files import ODD_FILES, ODD_ITEM_TABLES, PLAIN, Odd, messages

LONGEST = 600
"""Characters that a message may have: newcomers read no more, and a file must not fill it."""


def require(odd: Odd, read: Callable[..., Ratings | Items], folder: Path) -> Any:
    """What an odd file gives, if it is what its line says."""
    path = odd.write(folder)
    if isinstance(odd.says, int):
        found = read(path, **odd.how)
        assert len(found) == odd.says
        return found
    with pytest.raises(DataError) as caught:
        read(path, **odd.how)
    message = str(caught.value)
    assert odd.says in message
    assert odd.name in message
    assert len(message) - len(str(folder)) < LONGEST
    return None


@pytest.mark.parametrize("odd", ODD_FILES, ids=lambda odd: f"{odd.about}, {odd.name}")
def test_an_odd_file_is_read_or_gets_a_message_that_helps(odd: Odd, tmp_path: Path) -> None:
    found = require(odd, read_ratings, tmp_path)
    assert odd.users is None or set(found.users.values) == set(odd.users)


@pytest.mark.parametrize("odd", ODD_ITEM_TABLES, ids=lambda odd: f"{odd.about}, {odd.name}")
def test_an_odd_item_table_is_read_or_gets_a_message_that_helps(odd: Odd, tmp_path: Path) -> None:
    found = require(odd, read_items, tmp_path)
    assert odd.users is None or set(odd.users) <= set(found.ids.values)
    if found is not None:
        assert all(name.strip() for name in found.frame.columns)
        for use in decide_uses(found):  # what inspect shows, and fit learns from
            assert use.why


def test_there_are_fifty_and_the_page_of_messages_has_them_all(tmp_path: Path) -> None:
    assert len(ODD_FILES) >= 50
    for files in (ODD_FILES, ODD_ITEM_TABLES):
        assert len(messages(tmp_path, files).splitlines()) == len(files)


@pytest.mark.parametrize("frame", [pl.DataFrame, lambda columns: pd.DataFrame(columns)])
def test_a_frame_s_column_without_a_name_is_called_by_its_place(frame: Any) -> None:
    table = frame({"": [3.5, 4.0], "item": [1, 2], "год": [1990, 1991]})
    items = Items.from_frame(table, public_columns=["column 1"])
    assert items.frame.columns == ["item", "column 1", "год"]


def test_a_column_without_a_name_is_published_by_nobody_s_mistake(tmp_path: Path) -> None:
    """What pandas wrote before the first name may be the place of a film by its views."""
    path = tmp_path / "items.csv"
    ranked = pd.DataFrame({"views": [9, 70, 8], "item": ["a", "b", "c"]})
    ranked.sort_values("views").reset_index()[["item"]].to_csv(path)
    items = read_items(path)
    assert (items.frame.columns, items.left_out) == (["item"], ("column 1",))


def test_a_large_file_with_cr_line_ends_is_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    rows = "".join(f"u{k},{k % 7},{k % 5 + 1}\r" for k in range(20_000))
    path.write_text("user,item,rating\r" + rows, newline="")
    assert len(read_ratings(path)) == 20_000


def test_a_mapped_column_is_not_taken_twice(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(PLAIN.replace("item", "title").replace("user", "item"))
    found = read_ratings(path, {"user": "item", "item": "title"})
    assert found.users.values.to_list() == ["ann", "bob"]
