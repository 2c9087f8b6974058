"""What a stranger brings is read, or refused with words that help: never a traceback."""

from pathlib import Path

import pytest

from discreet.errors import DataError
from discreet.readers.tables import read_ratings
from tests.readers.odd_files import ODD_FILES, PLAIN, Odd, messages

LONGEST = 600
"""Characters that a message may have: newcomers read no more, and a file must not fill it."""


@pytest.mark.parametrize("odd", ODD_FILES, ids=lambda odd: f"{odd.about}, {odd.name}")
def test_an_odd_file_is_read_or_gets_a_message_that_helps(odd: Odd, tmp_path: Path) -> None:
    path = odd.write(tmp_path)
    if isinstance(odd.says, str):
        with pytest.raises(DataError) as caught:
            read_ratings(path, **odd.how)
        message = str(caught.value)
        assert odd.says in message
        assert odd.name in message
        assert len(message) - len(str(tmp_path)) < LONGEST
    else:
        found = read_ratings(path, **odd.how)
        assert len(found) == odd.says
        assert odd.users is None or set(found.users.values) == set(odd.users)


def test_there_are_fifty_and_the_page_of_messages_has_them_all(tmp_path: Path) -> None:
    assert len(ODD_FILES) >= 50
    assert len(messages(tmp_path).splitlines()) == len(ODD_FILES)


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
