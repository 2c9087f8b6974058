"""The stream engine gives the release that a fit in memory gives, bit for bit."""

import stat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.data.ratings import Ratings
from discreet.engines import fit_release
from discreet.engines.stream import open_stream
from discreet.errors import DataError, DataMissingError, ParameterError, SpecError
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.readers.club import Club
from discreet.release.release import Release
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.tally import Tally

GROUPS = PrivacySpec.groups(seed=7)


def same(one: Release, other: Release) -> None:
    assert one.item_ids == other.item_ids
    assert one.mean == other.mean
    assert (one.item_effects == other.item_effects).all()
    assert (one.item_factors == other.item_factors).all()
    assert one.tallies is not None
    assert other.tallies is not None
    assert (one.tallies.against == other.tallies.against).all()
    assert (one.tallies.in_favour == other.tallies.in_favour).all()
    assert one.certificate == other.certificate
    assert (one.choices is None) == (other.choices is None)
    if one.choices is not None and other.choices is not None:
        assert (one.choices.columns == other.choices.columns).all()
        assert (one.choices.reliability == other.choices.reliability).all()


@pytest.fixture(scope="module")
def table(club: Club, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stream") / "ratings.parquet"
    club.ratings.to_frame().sample(fraction=1.0, shuffle=True, seed=3).write_parquet(path)
    return path


@pytest.mark.parametrize(
    "scheme",
    [
        Tally(),
        Tally(personalisation="sample"),
        Tally(unit="person"),
        Tally(neighbours=Neighbours.REPLACE),
        Chorus(delta=1e-6, factors=3),
        Chorus(delta=1e-6, factors=3, purpose="lists"),
        Chorus(delta=1e-6, factors=3, unit="person"),
        Chorus(delta=1e-6, factors=2, neighbours=Neighbours.REPLACE),
    ],
)
def test_parts_on_disk_give_the_release_of_the_table_in_memory(
    scheme: Any, club: Club, table: Path
) -> None:
    here = scheme.fit(club.ratings, GROUPS, seed=5).release
    with open_stream(table, rows=40_000) as stream:
        assert len(stream.parts) == 4
        same(here, fit_release(scheme, stream, GROUPS, seed=5))


def test_with_a_catalogue_and_auto_too(club: Club, table: Path) -> None:
    scheme, spec = Chorus(delta=1e-6, items=club.items), PrivacySpec.uniform(4.0)
    here = scheme.fit(club.ratings, spec, seed=5).release
    with open_stream(table, rows=60_000) as stream:
        same(here, fit_release(scheme, stream, spec, seed=5))


def test_a_folder_of_files_and_a_csv_and_mapped_columns(small: Ratings, tmp_path: Path) -> None:
    frame = small.to_frame().rename({"user": "customer"})
    here = Tally().fit(small, seed=1).release
    (tmp_path / "parts" / "day=1").mkdir(parents=True)
    for k, name in enumerate(("a.parquet", "day=1/b.parquet")):
        frame[k * 200 : k * 200 + 200].write_parquet(tmp_path / "parts" / name)
    frame.write_csv(tmp_path / "ratings.csv")
    with open_stream(tmp_path / "parts", {"user": "customer"}, rows=150) as stream:
        same(here, fit_release(Tally(), stream, seed=1))
    with open_stream(tmp_path / "ratings.csv", {"user": "customer"}, rows=150) as stream:
        found = fit_release(Tally(), stream, seed=1)
    assert found.tallies is not None
    assert here.tallies is not None
    assert (found.tallies.in_favour == here.tallies.in_favour).all()  # ids of text files are text


def test_decimal_commas_are_read_as_in_memory(tmp_path: Path) -> None:
    table = tmp_path / "commas.csv"
    table.write_text("user;item;rating\na;1;3,5\nb;1;4.5\na;2;5\n")
    with open_stream(table, separator=";", rows=2) as source:
        assert source.per_item.sums.tolist() == [8.0, 5.0]
        read = np.concatenate([source.load(part).rating for part in range(len(source.parts))])
    assert sorted(read) == [3.5, 4.5, 5]


def test_parts_are_secret_and_go(table: Path, tmp_path: Path) -> None:
    with open_stream(table, rows=60_000, folder=tmp_path) as stream:
        [place] = tmp_path.iterdir()
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert len(stream.parts) == 3
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ZeroDivisionError), open_stream(table, folder=tmp_path):
        1 / 0  # noqa: B018
    assert list(tmp_path.iterdir()) == []


def test_nobody_is_in_two_parts(table: Path) -> None:
    with open_stream(table, rows=30_000) as stream:
        people = [set(stream.load(k).users.values) for k in range(len(stream.parts))]
    assert sum(map(len, people)) == len(set().union(*people))


def test_a_bad_table_gets_the_same_clear_error(small: Ratings, tmp_path: Path) -> None:
    frame = small.to_frame()
    cases = {
        "two ratings of one pair": pl.concat([frame, frame[:1]]),
        "within the scale": frame.with_columns(rating=pl.lit(9.0)),
        "rating": frame.drop("rating"),
        "epsilon": frame.with_columns(epsilon=pl.lit(-1.0)),
        "has no level": frame.with_columns(epsilon=pl.when(pl.col("item") > 100).then("epsilon")),
    }
    for words, bad in cases.items():
        path = tmp_path / "bad.parquet"
        bad.write_parquet(path)
        with pytest.raises((DataError, SpecError), match=words), open_stream(path, rows=100) as s:
            fit_release(Tally(), s, seed=1)
    with pytest.raises(DataMissingError, match="no file or folder"), open_stream(tmp_path / "no"):
        pass
    (tmp_path / "text.parquet").write_text("not a table")
    with pytest.raises(DataError, match="reads Parquet"), open_stream(tmp_path / "text.parquet"):
        pass
    frame[:0].write_parquet(tmp_path / "empty.parquet")
    with pytest.raises(DataError, match="is empty"), open_stream(tmp_path / "empty.parquet"):
        pass


def test_what_needs_a_table_in_memory_is_refused(small: Ratings, tmp_path: Path) -> None:
    small.to_frame().write_parquet(tmp_path / "r.parquet")
    with (
        open_stream(tmp_path / "r.parquet") as stream,
        pytest.raises(ParameterError, match="goes with a ledger"),
    ):
        fit_release(Chorus(delta=1e-6, publications=2), stream, seed=1)
    np.testing.assert_equal(len(stream.items), 30)
