"""A table in order of people needs no exchange: the same release, and nobody is in two parts."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
import discreet.engines.spark as ds
from discreet.data.ratings import Ratings
from discreet.engines.spark import ratings as spark_table
from discreet.engines.spark.parts import KeptParts, KeptPeople
from discreet.engines.spark.people import Order, Rows, order_of, runs_of_people
from discreet.errors import DataError
from tests.engines.test_stream import same

pytestmark = pytest.mark.xdist_group("spark")
CHORUS = dc.Chorus(delta=1e-6, factors=2, rounds=2, purpose="ratings")
SPEC = dc.PrivacySpec.uniform(1.0)


def cut(users: list[Any], ends: list[int], files: list[int]) -> tuple[list[Rows], pl.Series]:
    """Runs that end at these places, of files that end at some of them."""
    places = sorted({end % (len(users) + 1) for end in [*ends, *files]} | {0, len(users)})
    breaks = {end % (len(users) + 1) for end in files}
    rows, path, start = [], 0, 0
    for lo, hi in pairwise(places):
        if lo in breaks:
            path, start = path + 1, lo
        rows.append(Rows(f"{path}", lo - start, hi - lo))
    return rows, pl.Series(users)


def users_in(rows: Rows, first_of: dict[str, int], users: pl.Series) -> pl.Series:
    start = first_of[rows.path] + rows.first
    return users[start : start + rows.number]


def starts(rows: list[Rows]) -> dict[str, int]:
    first_of: dict[str, int] = {}
    done = 0
    for some in rows:
        first_of.setdefault(some.path, done)
        done += some.number
    return first_of


@given(
    people=st.lists(st.integers(1, 6), min_size=1, max_size=12),
    texts=st.booleans(),
    ends=st.lists(st.integers(0, 100), max_size=8),
    files=st.lists(st.integers(0, 100), max_size=2),
    shuffled=st.randoms(use_true_random=False),
)
def test_runs_hold_every_row_once_and_nobody_twice(
    people: list[int], texts: bool, ends: list[int], files: list[int], shuffled: Any
) -> None:
    names: list[Any] = [f"{k:03}" if texts else 5 * k - 20 for k in range(len(people))]
    users = [name for name, count in zip(names, people, strict=True) for _ in range(count)]
    rows, column = cut(users, ends, files)
    first_of = starts(rows)
    whole = all(
        order_of(users_in(a, first_of, column)).last  # type: ignore[union-attr]
        != order_of(users_in(b, first_of, column)).first  # type: ignore[union-attr]
        for a, b in pairwise(rows)
        if a.path != b.path
    )
    shuffled.shuffle(rows)  # files come in any order
    orders = [order_of(users_in(some, first_of, column)) for some in rows]
    runs = runs_of_people(rows, orders)
    assert (runs is not None) == whole, "but for somebody who is in two files"
    if runs is None:
        return
    found = [users_in(run.rows, first_of, column) for run in runs]
    assert pl.concat(found).to_list() == users
    for run, own in zip(runs, found, strict=True):
        assert (run.first, run.last) == (own[0], own[-1])
    assert all(a.last < b.first for a, b in pairwise(runs))  # type: ignore[operator]


def test_whoever_comes_back_is_in_no_order() -> None:
    assert order_of(pl.Series([1, 2, 1])) is None
    assert order_of(pl.Series([None, 1, 2])) is None
    assert order_of(pl.Series(["a", "b", "b"])) == Order("a", 1, "b", "b")
    assert order_of(pl.Series([7, 7])) == Order(7, 2, None, 7)
    rows = [Rows("a", 0, 2), Rows("a", 2, 2), Rows("b", 0, 2)]
    ascending = [Order(1, 1, 2, 2), Order(2, 1, 3, 3), Order(4, 2, None, 4)]
    runs = runs_of_people(rows, ascending)
    assert runs is not None
    assert [run.rows for run in runs] == [Rows("a", 0, 3), Rows("a", 3, 1), Rows("b", 0, 2)]
    assert runs_of_people(rows, [*ascending[:2], Order(3, 1, 4, 4)]) is None, "in two files"
    assert runs_of_people(rows, [*ascending[:2], Order(2, 1, 4, 4)]) is None, "within another run"
    assert runs_of_people(rows, [*ascending[:2], None]) is None


@pytest.fixture
def table(small: Ratings) -> pl.DataFrame:
    return small.to_frame().select("user", "item", "rating", "epsilon").sort("user", "item")


def in_one_file(table: pl.DataFrame, place: Path) -> str:
    table.write_parquet(place / "one.parquet")
    return str(place / "one.parquet")


def in_files_of_other_names(table: pl.DataFrame, place: Path) -> str:
    folder = place / "many"
    folder.mkdir()
    middle = table["user"][table.height // 2]
    for name, some in ("z", table["user"] < middle), ("a", table["user"] >= middle):
        table.filter(some).write_parquet(folder / f"{name}.parquet")
    return str(folder)


@pytest.mark.parametrize("written", [in_one_file, in_files_of_other_names])
@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
def test_a_table_in_order_of_people_gives_the_same_release_without_an_exchange(
    written: Callable[..., str],
    kind: Any,
    spark: Any,
    table: pl.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spark_table, "RECORDS", 37)  # many runs, whose ends part people
    numbers = table["user"].rank("dense").cast(kind)
    own = table.with_columns(user=numbers).sort("user")
    source = ds.read_ratings(spark, written(own, tmp_path), unique_pairs=True)
    assert isinstance(source.kept, KeptPeople)
    assert source.scan is not None
    assert source.scan.people is not None
    assert len(source.scan.people) > 5
    here = CHORUS.fit(Ratings.from_frame(own), SPEC, seed=3).release
    same(here, ds.fit(CHORUS, source, SPEC, seed=3))
    person = dc.Chorus(delta=1e-6, factors=1, rounds=2, unit="person")
    here = person.fit(Ratings.from_frame(own), SPEC, seed=4).release
    same(here, ds.fit(person, source, SPEC, seed=4))


def test_every_core_has_a_run_and_a_wanted_number_is_kept(
    spark: Any, table: pl.DataFrame, tmp_path: Path
) -> None:
    frame = spark.read.parquet(in_one_file(table, tmp_path))
    for wanted, least in (None, spark.sparkContext.defaultParallelism), (4, 4):
        source = ds.spark_ratings(frame, partitions=wanted, unique_pairs=True)
        assert source.scan is not None
        assert source.scan.people is not None
        assert len(source.scan.people) >= least


def test_a_table_in_another_order_is_exchanged(
    spark: Any, table: pl.DataFrame, tmp_path: Path
) -> None:
    path = in_one_file(table.sample(fraction=1.0, shuffle=True, seed=1), tmp_path)
    source = ds.read_ratings(spark, path, unique_pairs=True)
    assert source.scan is not None
    assert source.scan.people is None
    assert isinstance(source.kept, KeptParts)


def come_back(table: pl.DataFrame) -> pl.DataFrame:
    """Somebody of the last run is in the first as well, as somebody between two others."""
    last, place = table["user"][-1], pl.int_range(pl.len())
    return table.with_columns(user=pl.when(place == 10).then(pl.lit(last)).otherwise("user"))


def of_another(table: pl.DataFrame, at: int) -> pl.DataFrame:
    """In order, but the first or the last row of it is somebody else's."""
    place = pl.int_range(pl.len()) == at % table.height
    beyond = ("~" if at else "!") if table["user"].dtype == pl.String else (10**9 if at else -1)
    return table.with_columns(user=pl.when(place).then(pl.lit(beyond)).otherwise("user"))


@pytest.mark.parametrize(
    "changed",
    [
        come_back,
        lambda table: of_another(table, 0),
        lambda table: of_another(table, -1),
        lambda table: table[1:],
        lambda table: table.reverse(),
    ],
)
def test_a_file_whose_people_moved_since_they_were_looked_at_is_refused(
    changed: Callable[[pl.DataFrame], pl.DataFrame],
    spark: Any,
    table: pl.DataFrame,
    tmp_path: Path,
) -> None:
    """Else somebody could be in two parts, and weigh twice as much as their level allows."""
    path = in_one_file(table, tmp_path)
    source = ds.read_ratings(spark, path, unique_pairs=True)
    in_one_file(changed(table), tmp_path)
    with pytest.raises(DataError, match="changed while the job ran"):
        ds.fit(CHORUS, source, SPEC, seed=3)
