import contextlib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.errors import DataError, DataMissingError, DiscreetError
from discreet.readers.tables import read_items, read_people, read_ratings


def test_every_format_gives_the_same_table(small: Ratings, tmp_path: Path) -> None:
    frame = small.to_frame()
    frame.write_csv(tmp_path / "r.csv")
    frame.write_csv(tmp_path / "r.tsv", separator="\t")
    frame.write_parquet(tmp_path / "r.parquet")
    frame.write_ipc(tmp_path / "r.arrow")
    for name in ("r.parquet", "r.arrow"):
        assert read_ratings(tmp_path / name).to_frame().equals(frame)
    # In a text file ids are text, whatever they look like.
    text = frame.with_columns(pl.col("item").cast(pl.String))
    for name in ("r.csv", "r.tsv"):
        assert read_ratings(tmp_path / name).to_frame().sort("user", "item").equals(text)


def test_columns_separator_encoding_and_scale_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes("Kunde;Film;Note\nJosé;7;0\nAda;7;10\n".encode("latin-1"))
    ratings = read_ratings(
        path,
        {"user": "Kunde", "item": "Film", "rating": "Note"},
        scale=(0, 10),
        separator=";",
        encoding="latin-1",
    )
    assert ratings.users.values.to_list() == ["Ada", "José"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.csv", b"", "r.csv is empty"),
        ("r.csv", b"user,item,rating\n", "the ratings table is empty"),
        ("r.csv", b"user;item;rating\na;1;5\n", "separated by ';'"),
        ("r.csv", b"user\titem\trating\na\t1\t5\n", "separated by a tab"),
        ("r.tsv", b"user,item,rating\na,1,5\n", "separated by ','"),
        ("r.csv", b"user,item,rating\nJos\xe9,1,5\n", "not UTF-8: byte 0xe9 in line 2"),
        ("r.csv", b"user,item\na,1\n", "no column 'rating'"),
        ("r.csv", b"user,item,rating\na,1,5,9,9\n", "row 1 has 5 fields and the header 3"),
        ("r.csv", b"user,item,rating\na,1,6\n", "within the scale 1..5: got 6 at row 1"),
        ("r.parquet", b"PAR1 nonsense", "not a readable .parquet table"),
        ("r.arrow", b"ARROW1 nonsense", "not a readable .arrow table"),
        ("r.xlsx", b"PK", "cannot tell the format"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_ratings(tmp_path / name)
    assert name in str(caught.value)


def test_a_missing_file_and_an_unknown_encoding_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match=r"no file or folder .*nowhere.csv"):
        read_ratings(tmp_path / "nowhere.csv")
    (tmp_path / "r.csv").write_text("user,item,rating\na,1,5\n")
    with pytest.raises(DataError, match=r"cannot read .* as 'klingon'"):
        read_ratings(tmp_path / "r.csv", encoding="klingon")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200), suffix=st.sampled_from([".csv", ".tsv", ".parquet"]))
def test_any_bytes_are_read_or_refused(content: bytes, suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"x{suffix}").write_bytes(content)
    with contextlib.suppress(DiscreetError):
        read_ratings(tmp_path / f"x{suffix}")


TEXT = st.text("uitemrang,;\n\"'0123456789.-\t:", max_size=120)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXT, name=st.sampled_from(["x.csv", "u.data", "ratings.dat", "mv_1.txt"]))
def test_any_text_is_read_or_refused(text: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with contextlib.suppress(DiscreetError):
        read_ratings(tmp_path / name)


def test_an_item_table_splits_genres_and_maps_columns(tmp_path: Path) -> None:
    path = tmp_path / "i.csv"
    path.write_text("sku,title,genres,length\n2,B,,90\n1,A,Comedy|Drama,120\n")
    items = read_items(path, {"item": "sku"})
    assert items.frame["genres"].to_list() == [["Comedy", "Drama"], []]
    assert items.frame["length"].dtype == pl.Int64
    with pytest.raises(DataError, match="no column 'id' in the item table"):
        read_items(path, {"item": "id"})
    assert read_items(path).ids.values.to_list() == ["1", "2"]  # a usual name
    path.write_text("number,title\n2,B\n")
    with pytest.raises(DataError, match="no column 'item' in the item table"):
        read_items(path)


def test_one_person_s_own_ratings_need_no_user_column(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("item,rating\n1,5\n2,3\n")
    people = read_people(tmp_path / "mine.csv", RatingScale())
    assert len(people.users) == 1
    with pytest.raises(DataError, match="within the scale"):
        read_people(tmp_path / "mine.csv", RatingScale(0, 1))
