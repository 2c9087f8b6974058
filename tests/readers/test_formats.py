"""A format is one value and one line in a table: readers, data sets, engines and faces follow."""

from pathlib import Path

import polars as pl
import pytest

from discreet.cli import app
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.engines import fit_release
from discreet.engines.stream import open_stream
from discreet.errors import DataError
from discreet.privacy.spec import PrivacySpec
from discreet.readers import datasets
from discreet.readers.base import Dialect, Format, RatingsTable, table_format
from discreet.readers.formats import FORMATS, scanned_endings
from discreet.readers.tables import read_items, read_people, read_ratings
from discreet.release.release import Release
from discreet.schemes.tally import Tally


def read_lines(path: Path, dialect: Dialect) -> pl.DataFrame:
    del dialect
    return pl.read_ndjson(path, infer_schema_length=None)


def scan_lines(path: Path, dialect: Dialect) -> pl.LazyFrame:
    del dialect
    return pl.scan_ndjson(path, infer_schema_length=None)


JSON_LINES = table_format(read_lines, scan_lines)


@pytest.fixture
def json_lines(small: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table in a format that nobody but this file knows."""
    monkeypatch.setitem(FORMATS, ".lines", JSON_LINES)
    small.to_frame().write_ndjson(tmp_path / "table.lines")
    return tmp_path / "table.lines"


def test_a_line_in_the_table_makes_a_format_readable(json_lines: Path, small: Ratings) -> None:
    for read in (read_ratings, lambda path: datasets.load_ratings(str(path))):
        assert read(json_lines).to_frame().equals(small.to_frame())
    assert len(read_people(json_lines, RatingScale())) == len(small)


def test_item_tables_come_along(json_lines: Path) -> None:
    path = json_lines.with_name("items.lines")
    path.write_text('{"sku": 100, "title": "A", "genres": "x|y"}\n{"sku": 101, "title": "B"}\n')
    items = read_items(path, {"item": "sku"})
    assert items.frame["genres"].to_list() == [["x", "y"], []]
    path.write_text(path.read_text().replace("sku", "item"))
    assert datasets.load_items(str(path)).ids.values.to_list() == [100, 101]


def test_the_stream_engine_scans_it(json_lines: Path, small: Ratings) -> None:
    here = Tally().fit(small, seed=1).release
    with open_stream(json_lines, rows=150) as stream:
        found = fit_release(Tally(), stream, seed=1)
    assert found.certificate == here.certificate
    assert (found.item_effects == here.item_effects).all()


@pytest.mark.parametrize("engine", ["local", "stream"])
def test_the_command_line_fits_it(engine: str, json_lines: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    app(["fit", str(json_lines), "--engine", engine, "--out", str(out)], standalone_mode=False)
    assert len(Release.load(out).item_ids) == 30


def test_errors_name_it(json_lines: Path, tmp_path: Path) -> None:
    json_lines.write_text('{"user": 1,')
    with pytest.raises(DataError, match=r"not a readable \.lines table"):
        read_ratings(json_lines)
    with (
        pytest.raises(DataError, match=r"the stream engine reads .*\.lines"),
        open_stream(json_lines),
    ):
        pass
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"use one of .*\.ipc, \.lines \(and"):
        read_ratings(tmp_path / "table.xlsx")


def test_a_format_that_is_recognised_by_its_files_is_found_as_a_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_survey(path: Path) -> bool:
        return (path / "survey.txt").is_file()

    def read_survey(path: Path, dialect: Dialect) -> pl.DataFrame:
        del dialect
        rows = [line.split() for line in (path / "survey.txt").read_text().splitlines()]
        return pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")

    survey = Format(
        lambda path, dialect: RatingsTable(read_survey(path, dialect), RatingScale(0, 10)),
        lambda path, dialect: read_survey(path, dialect).select("item").unique(),
        recognises_ratings=is_survey,
        recognises_items=is_survey,
        rating_files=("survey.txt",),
    )
    monkeypatch.setitem(FORMATS, "survey", survey)
    monkeypatch.setitem(datasets.DATA_SETS, "ours", datasets.DataSet("what we were told"))
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    (tmp_path / "ours").mkdir()
    with pytest.raises(DataError, match=r"combined_data_\*\.txt, survey\.txt\)"):
        read_ratings(tmp_path / "ours")
    (tmp_path / "ours" / "survey.txt").write_text("ada 1 10\nbob 1 0\nbob 2 7\n")
    ratings = datasets.load_ratings("ours")
    assert str(ratings.scale) == "0..10"
    assert ratings.users.values.to_list() == ["ada", "bob"]
    assert sorted(datasets.load_items("ours").ids.values) == ["1", "2"]


WRITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}


@pytest.mark.parametrize("ending", [*scanned_endings(), ".parquet", ".pq"])
def test_what_is_scanned_is_what_is_read(ending: str, small: Ratings, tmp_path: Path) -> None:
    name = "u.data" if ending == "MovieLens" else f"table{ending}"
    path, frame = tmp_path / name, small.to_frame()
    if ending == "MovieLens":
        people = frame["user"].rank("dense").cast(pl.Int64)
        times = pl.lit(9).alias("timestamp")
        frame = frame.select(people, "item", pl.col("rating").cast(pl.Int64), times)
        frame.write_csv(path, separator="\t", include_header=False)
    elif ending in (".jsonl", ".ndjson"):
        frame.write_ndjson(path)
    elif ending in WRITERS:
        frame.write_csv(path, separator=WRITERS[ending])
    elif ending in (".parquet", ".pq"):
        frame.write_parquet(path)
    else:
        frame.write_ipc(path)
    spec = None if "epsilon" in frame.columns else PrivacySpec.uniform(1.0)
    here = Tally().fit(read_ratings(path), spec, seed=1).release
    with open_stream(path, rows=150) as stream:
        found = fit_release(Tally(), stream, spec, seed=1)
    assert found.item_ids == here.item_ids
    assert found.certificate == here.certificate
    assert (found.item_effects == here.item_effects).all()


def test_movielens_ids_are_integers_for_the_stream_engine_too(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("userId,movieId,rating\n" + "".join(f"{k},{k % 3},4.0\n" for k in range(9)))
    with open_stream(path, {"user": "userId", "item": "movieId"}) as stream:
        assert stream.items.values.to_list() == read_ratings(path).items.values.to_list()


@pytest.mark.parametrize("name", ["u.item", "movies.dat"])
def test_a_film_without_a_number_is_named(name: str, tmp_path: Path) -> None:
    fields = ["one", "Title", *["0"] * 22] if name == "u.item" else ["one", "Title", "Drama"]
    (tmp_path / name).write_text(("|" if name == "u.item" else "::").join(fields) + "\n")
    with pytest.raises(DataError, match="line 1 does not begin with a film's number: got 'one'"):
        read_items(tmp_path / name)


@pytest.mark.parametrize("text", ["", "movieId,title\n1,A\n", "movieId,title,genres\n1,A\xe9,\n"])
def test_a_damaged_table_of_films_in_a_folder_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "movies.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=f"cannot read {tmp_path}"):
        read_items(tmp_path)
