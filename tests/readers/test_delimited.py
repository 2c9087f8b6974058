"""The quick reader of plain tables says the same as the general one, or nothing."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from discreet.errors import DataError
from discreet.readers import delimited
from discreet.readers.tables import read_ratings

NAMES = {name: name for name in ("user", "item", "rating", "epsilon", "timestamp")}
PLAIN = b"user,item,rating\n7,1,4.5\n-12,30,3\n"


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is large, and cut into many pieces."""
    monkeypatch.setattr(delimited, "LARGE", 0)
    monkeypatch.setattr(delimited, "LONGEST_LINE", 48)


def outcome(path: Path, columns: dict[str, str] | None = None) -> object:
    """What reading gives: a table, with the sign of a zero, or an error's words."""
    try:
        return repr(read_ratings(path, columns, scale=(0, 100)).to_frame().rows())
    except DataError as error:
        return str(error)


def both_outcomes(path: Path, columns: dict[str, str] | None = None) -> tuple[object, object]:
    """What quick reading gives, and general reading."""
    quick = outcome(path, columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "LARGE", 1 << 40)
        return quick, outcome(path, columns)


ids = st.integers(-(10**18), 10**18).map(str) | st.integers(0, 9).map(str)
odd = st.sampled_from(["07", "+7", "-0", "x", "", " 7", '"7"', "é", "1.0", "9" * 20])
stars = st.sampled_from(["1", "4.5", "3.0", "0.123456789", "-0", "100", "12345.6789012345678"])
strange = st.sampled_from(["", "nan", "1e1", ".5", "5.", "1.2.3", "101"])
times = st.integers(0, 2**40).map(str)


@pytest.mark.usefixtures("short_lines")
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.tuples(ids, ids, stars, times), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 29), st.integers(0, 3), odd | strange), max_size=1),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)  # fmt: skip
@example([("1", "2", "3", "4")] * 9, [], "\n", False)
def test_quick_and_general_reading_say_the_same(
    tmp_path: Path,
    rows: list[tuple[str, ...]],
    spoiled: list[tuple[int, int, str]],
    newline: str,
    ended: bool,
) -> None:
    fields = [list(row) for row in rows]
    for row, column, text in spoiled:
        fields[row % len(rows)][column] = text
    lines = [["user", "item", "rating", "timestamp"], *fields]
    path = tmp_path / "r.csv"
    text = newline.join(",".join(line) for line in lines) + newline * ended
    path.write_bytes(text.encode())
    quick, general = both_outcomes(path)
    assert quick == general


def test_a_large_plain_file_takes_the_quick_way(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    count = 400_000
    frame = pl.DataFrame(
        {
            "title": np.resize(["Ada's", "B|C"], count),
            "user": rng.permutation(count) * 3,
            "item": rng.integers(-5, 2**40, count),
            "rating": rng.integers(1, 11, count) / 2,
            "epsilon": rng.integers(1, 1000, count) / 1000,
        }
    )
    path = tmp_path / "r.csv"
    frame.write_csv(path)
    assert path.stat().st_size > delimited.LARGE
    found = delimited.read_plain(path, ",", NAMES, set())
    assert found is not None
    assert found.equals(frame.drop("title"))


@pytest.mark.usefixtures("short_lines")
@pytest.mark.parametrize(
    "text",
    [
        b"user,item,rating\n7,1,5\n\n",
        b"user,item,rating\n7,1,5,9\n",
        b"user,item,rating\n7,1\n",
        b"user,item,rating\n7,1,\n",
        b'user,item,rating\n"7",1,5\n',
        b"user,item,rating\n07,1,5\n",
        b"user,item,stars\n7,1,5\n",
        b"user,user,item,rating\n7,7,1,5\n",
        b'user,item,rating,title\n7,1,5,"a,b"\n',
        "user,item,rating,title\n7,1,5,Amélie\n".encode(),
        b"\xef\xbb\xbfuser,item,rating\n7,1,5\n",
        b"user,item,rating\n" + b"7,1," + b"0" * 60 + b"5\n",
        b"user,item,rating\n7,1,-0\n",
        b"user,item,rating",
        b"",
    ],
)
def test_what_is_not_plain_is_left_to_the_general_reader(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(text)
    assert delimited.read_plain(path, ",", NAMES, set()) is None


@pytest.mark.usefixtures("short_lines")
def test_what_is_plain_is_not(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(PLAIN)
    found = delimited.read_plain(path, ",", NAMES, set())
    assert found is not None
    assert found.rows() == [(7, 1, 4.5), (-12, 30, 3.0)]
    assert delimited.read_plain(path, ".", NAMES, set()) is None
    # In a text file ids are text, also where they were read as integers.
    assert read_ratings(path).users.values.to_list() == ["-12", "7"]
    path.write_bytes(PLAIN.replace(b",3\n", b",30\n"))
    with pytest.raises(DataError, match=r"at row 2 \(user '-12', item '30'\)"):
        read_ratings(path)


@pytest.mark.usefixtures("short_lines")
def test_a_movielens_header_makes_integers(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(b"userId,movieId,rating,timestamp\n10,7,0.5,1\n9,7,5,2\n")
    found = read_ratings(path)
    assert found.users.values.to_list() == [9, 10]
    assert str(found.scale) == "0.5..5"


@pytest.mark.usefixtures("short_lines")
@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (b"userId,item,rating\n10,7,5\n9,8,3\n", {"user": "userId"}),
        (b"userId,item,rating,title\n10,7,5,a\n", None),
        (b"user,item,rating,x\n10,7,5,1\n", {"timestamp": "missing"}),
        (b"user,userId,movieId,rating\n10,7,5,1\n", None),
        (b"user,item,rating,epsilon\n10,7,5,0.5\n10,8,5,\n", None),
        (b"user,item,rating\n" + b"7,1,4\n" * 3 + b"a,1,4.5\n", None),
    ],
)
def test_ambiguous_tables_read_the_same(
    text: bytes, columns: dict[str, str] | None, tmp_path: Path
) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(text)
    quick, general = both_outcomes(path, columns)
    assert quick == general


def test_half_a_movielens_header_keeps_integers(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(b"userId,item,rating\n10,7,5\n9,7,3\n")
    assert read_ratings(path, {"user": "userId"}).users.values.to_list() == [9, 10]


def test_numbers_may_get_decimals_late(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    rows = [f"{k},1,4,x" for k in range(11_000)]
    path.write_text("user,item,rating,other\n" + "\n".join([*rows, "a,1,4.5,7"]) + "\n")
    assert read_ratings(path).rating.max() == 4.5


@pytest.mark.usefixtures("short_lines")
def test_a_file_that_becomes_shorter_while_it_is_read_is_left_to_the_general_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(PLAIN)
    monkeypatch.setattr(delimited.os, "preadv", lambda *_: 0)
    assert delimited.read_plain(path, ",", NAMES, set()) is None


def test_a_large_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.mkdir()
    assert delimited.read_plain(path, ",", NAMES, set()) is None


def test_an_empty_separator_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(PLAIN)
    with pytest.raises(DataError, match="a separator must be at least one character"):
        read_ratings(path, separator="")
