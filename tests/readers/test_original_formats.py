"""The original MovieLens and Netflix formats: on lines of our own, and on the files themselves."""

import io
import zipfile
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import DataError
from discreet.readers import datasets
from discreet.readers.tables import read_items, read_ratings

U_DATA = "1\t10\t5\t881250949\n2\t10\t3\t881250950\n2\t11\t1\t881250951\n"
RATINGS_DAT = "1::10::5::978300760\n2::10::3::978302109\n2::11::1::978301968\n"
HALF_DAT = "1::10::5::978300760\n2::10::3.5::978302109\n2::11::0.5::978301968\n"
RATINGS_CSV = "userId,movieId,rating,timestamp\n1,10,5.0,978300760\n2,10,0.5,1\n2,11,1.0,2\n"
MOVIES_DAT = "10::Café: The Bar (1999)::Comedy|Drama\n11::Untitled::(no genres listed)\n"
MOVIES_CSV = 'movieId,title,genres\n10,"Café, The (1999)",Comedy|Drama\n11,Untitled,\n'
U_ITEM = (
    "10|Café (1999)|01-Jan-1999||http://x|" + "|".join("000001001" + "0" * 10) + "\n"
    "11|Untitled||||" + "|".join("1" + "0" * 18) + "\n"
)
MV = "10:\n1,5,2005-09-06\n2,3,2005-05-13\n"
COMBINED = MV + "11:\n2,1,2005-10-19\n"


def zipped(path: Path, files: dict[str, str], encoding: str = "utf-8") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text.encode(encoding))
    return path


def pairs(path: Path) -> list[tuple[int, int]]:
    return read_ratings(path).to_frame().select("user", "item").rows()


PAIRS = [(1, 10), (2, 10), (2, 11)]


@pytest.mark.parametrize(
    ("name", "text", "scale"),
    [
        ("u.data", U_DATA, "1..5"),
        ("ratings.dat", RATINGS_DAT, "1..5"),
        ("ratings.dat", HALF_DAT, "0.5..5"),
        ("ratings.csv", RATINGS_CSV, "0.5..5"),
        ("combined_data_1.txt", COMBINED, "1..5"),
    ],
)
def test_a_loose_file_is_read(name: str, text: str, scale: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    for path in (tmp_path / name, tmp_path):
        ratings = read_ratings(path)
        assert ratings.to_frame().select("user", "item").rows() == PAIRS
        assert str(ratings.scale) == scale
        assert ratings.timestamp is not None


@pytest.mark.parametrize(
    ("archive", "files", "scale"),
    [
        ("ml-100k.zip", {"ml-100k/u.data": U_DATA, "ml-100k/u.item": U_ITEM}, "1..5"),
        ("ml-1m.zip", {"ml-1m/ratings.dat": RATINGS_DAT, "ml-1m/movies.dat": MOVIES_DAT}, "1..5"),
        ("a.zip", {"ml-10M/ratings.dat": RATINGS_DAT, "ml-10M/movies.dat": MOVIES_DAT}, "0.5..5"),
        ("b.zip", {"ml-25m/ratings.csv": RATINGS_CSV, "ml-25m/movies.csv": MOVIES_CSV}, "0.5..5"),
    ],
)  # fmt: skip
def test_an_official_archive_is_read(
    archive: str, files: dict[str, str], scale: str, tmp_path: Path
) -> None:
    latin = archive in ("ml-100k.zip", "ml-1m.zip")
    path = zipped(tmp_path / archive, files, "latin-1" if latin else "utf-8")
    assert pairs(path) == PAIRS
    assert str(read_ratings(path).scale) == scale
    items = read_items(path).frame
    assert items["item"].to_list() == [10, 11]
    assert items["title"][0].startswith("Café")
    assert items["year"].to_list() == [1999, None]
    assert items["genres"].to_list() == [["Comedy", "Drama"], []]


def test_netflix_files_are_read_one_by_one_in_a_folder_and_zipped(tmp_path: Path) -> None:
    folder = tmp_path / "training_set"
    folder.mkdir()
    (folder / "mv_0000010.txt").write_text(MV)
    (folder / "mv_0000011.txt").write_text("11:\n2,1,2005-10-19\n")
    (tmp_path / "movie_titles.txt").write_bytes(
        "10,1999,Café, The\n11,NULL,Untitled\n".encode("latin-1")
    )
    assert pairs(folder / "mv_0000010.txt") == PAIRS[:2]
    assert pairs(tmp_path) == pairs(folder) == PAIRS
    assert pairs(zipped(tmp_path / "n.zip", {"combined_data_1.txt": COMBINED})) == PAIRS
    for path in (tmp_path, tmp_path / "movie_titles.txt"):
        items = read_items(path).frame
        assert items.rows() == [(10, "Café, The", 1999), (11, "Untitled", None)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("u.data", "1,10,5,881250949\n", "not a MovieLens ratings file"),
        ("ratings.dat", "1,10,5\n", "not a MovieLens ratings file"),
        ("mv_1.txt", "1,5,2005-09-06\n", "does not begin with a line such as '1:'"),
        ("mv_1.txt", "10:\n1,five,2005-09-06\n", "rating is missing at row 1"),
        ("u.data", "", "empty|not a MovieLens"),
    ],
)
def test_a_damaged_original_file_is_named(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        read_ratings(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("u.item", "1|Toy Story (1995)\n", "u.item line 1 has 2 fields"),
        ("movies.dat", "1,Toy Story\n", "movies.dat line 1 is not"),
        ("movie_titles.txt", "Toy Story\n", "line 1 is not 'item,year,title'"),
    ],
)
def test_a_damaged_item_file_is_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        read_items(tmp_path / name)


def test_a_damaged_archive_and_an_empty_folder_are_named(tmp_path: Path) -> None:
    (tmp_path / "ml-1m.zip").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(DataError, match="not a readable zip archive"):
        read_ratings(tmp_path / "ml-1m.zip")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no ratings file known here"):
        read_ratings(tmp_path / "empty")


def original(name: str) -> Path:
    for folder in datasets.folders():
        for candidate in (folder / "raw" / name, folder / name):
            if candidate.is_dir() and any(candidate.iterdir()):
                return candidate
    pytest.skip(f"the original files of {name} are not here: set DISCREET_DATA to their folder")


@pytest.mark.parametrize(
    ("name", "counts", "first"),
    [
        ("ml-100k", (100_000, 943, 1682), (1, 1, 5.0, 874_965_758)),
        ("ml-1m", (1_000_209, 6040, 3706), (1, 1, 5.0, 978_824_268)),
    ],
)
def test_the_original_movielens_files(
    name: str, counts: tuple[int, int, int], first: tuple[int, int, float, int]
) -> None:
    ratings = read_ratings(original(name))
    assert (len(ratings), len(ratings.users), len(ratings.items)) == counts
    assert ratings.to_frame().row(0) == first
    items = read_items(original(name))
    assert ratings.items.values.is_in(items.ids.values.implode()).all()
    assert items.titles([1]) == ["Toy Story (1995)"]
    assert items.frame["genres"][0].to_list() == ["Animation", "Children's", "Comedy"]


def test_the_original_movielens_files_agree_with_the_prepared_table() -> None:
    path = datasets.find("ml-1m")
    if path is None or path.is_dir():
        pytest.skip("no prepared ml-1m.parquet here: set DISCREET_DATA to its folder")
    prepared = read_ratings(path).to_frame()
    assert read_ratings(original("ml-1m")).to_frame().equals(prepared)


def test_the_original_netflix_files() -> None:
    folder = original("netflix")
    ratings = read_ratings(folder)
    files = sorted(folder.glob("mv_*.txt"))
    lines = sum(len(f.read_text().splitlines()) - 1 for f in files)
    assert len(ratings) == lines
    assert len(ratings.items) == len(files)
    one = read_ratings(folder / "mv_0000001.txt")
    assert one.to_frame().filter(pl.col("user") == 1_488_844)["rating"].to_list() == [3.0]
    items = read_items(folder)
    assert len(items) == 17_770
    assert items.titles([1]) == ["Dinosaur Planet"]


def test_an_archive_in_memory_order_does_not_matter(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("ml-1m/README", "x")
        archive.writestr("ml-1m/ratings.dat", RATINGS_DAT)
    (tmp_path / "x.zip").write_bytes(buffer.getvalue())
    assert pairs(tmp_path / "x.zip") == PAIRS
