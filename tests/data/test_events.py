"""Events: rows become one record a pair by declared rules, whatever order they come in."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.edges import check_tables
from discreet.data.event_rules import STEPS, EventRules, Quantity
from discreet.data.events import Events, of_values, read_table
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import DataError, DiscreetError, ParameterError
from discreet.readers.datasets import DATA_SETS, load_events, load_ratings
from discreet.readers.tables import read_events, read_people

PLAYS = {
    "user": ["b", "a", "a", "a"],
    "item": [2, 2, 1, 2],
    "hours": [40.0, 1.0, 5.0, 3.0],
    "timestamp": [1, 5, 2, 4],
}


def plays(**changes: object) -> pl.DataFrame:
    return pl.DataFrame(PLAYS | changes, strict=False)


def values(events: Events) -> list[tuple[Any, ...]]:
    return events.to_frame().select("user", "item", "weight").rows()


def test_every_event_counts_one_and_a_pair_once() -> None:
    events = Events.from_frame(plays())
    assert values(events) == [("a", 1, 1.0), ("a", 2, 1.0), ("b", 2, 1.0)]
    assert events.events
    assert events.rules == EventRules()
    assert (events.scale.lo, events.scale.hi) == (0, 1)
    assert not Ratings.from_frame(plays(), {"rating": "hours"}, scale=(0, 99), keep="last").events


@pytest.mark.parametrize(("repeats", "weight"), [("any", 3.0), ("last", 1.0), ("sum", 4.0)])
def test_several_events_of_a_pair_are_one_by_the_declared_rule(repeats: str, weight: float) -> None:
    events = Events.from_frame(plays(), quantity=Quantity(8), repeats=repeats)
    assert values(events) == [("a", 1, 0.625), ("a", 2, weight / 8), ("b", 2, 1.0)]


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
@pytest.mark.parametrize("repeats", ["any", "last", "sum"])
def test_the_order_of_rows_and_the_kind_of_table_do_not_matter(kind: Any, repeats: str) -> None:
    rng = np.random.default_rng(1)
    count = 400
    columns = {
        "user": rng.integers(0, 9, count),
        "item": rng.integers(0, 9, count),
        "weight": rng.exponential(3.0, count),
        "epsilon": rng.uniform(0.1, 1.0, count),
        "timestamp": rng.integers(0, 20, count),
    }
    made = Events.from_frame(kind(columns), quantity=Quantity(20, "log"), repeats=repeats)
    order = rng.permutation(count)
    shuffled = kind({name: column[order] for name, column in columns.items()})
    again = Events.from_frame(shuffled, quantity=Quantity(20, "log"), repeats=repeats)
    assert made.to_frame().equals(again.to_frame())
    assert len(made) < count
    assert values(pickle.loads(pickle.dumps(made))) == values(made)


def test_a_pair_has_the_smallest_level_of_its_events_and_the_latest_time() -> None:
    for repeats in ("any", "last", "sum"):
        events = Events.from_frame(
            plays(epsilon=[0.5, 0.9, 0.4, 0.2]), quantity=Quantity(8), repeats=repeats
        )
        assert events.epsilon is not None
        assert events.timestamp is not None
        assert events.epsilon.tolist() == [0.4, 0.2, 0.5]
        assert events.timestamp.tolist() == [2, 5, 1]


def test_a_level_beside_a_blank_of_one_pair_is_refused() -> None:
    with pytest.raises(DataError, match=r"epsilon is missing at row 2 \(user 'a', item 2\)"):
        Events.from_frame(plays(epsilon=[0.5, None, 0.4, 0.2]))
    blank = Events.from_frame(plays(epsilon=[0.5, None, 0.4, None]))
    assert blank.epsilon is not None
    assert np.isnan(blank.epsilon[1])


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ([1, -2, 3, 4], r"weight must be finite and >= 0: got -2 at row 2 \(user 'a', item 2\)"),
        ([1, 2, float("inf"), 4], "got inf at row 3"),
        ([1, 2, 3, None], "weight is missing at row 4 .* Quantity\\(missing=...\\)"),
        ([1, 2, 3, float("nan")], "weight is missing at row 4"),
        (["1", "2", "3", "much"], "weight must be a number: got 'much' at row 4"),
    ],
)
def test_a_bad_weight_is_refused_with_its_row(weight: list[Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        Events.from_frame(plays(hours=weight), quantity=Quantity(8))
    assert len(Events.from_frame(plays(hours=weight))) == 3  # where nobody asked for it


def test_what_stands_for_a_missing_weight_is_declared() -> None:
    table = plays(hours=[None, 1.0, float("nan"), 3.0])
    events = Events.from_frame(table, quantity=Quantity(8, missing=2.0))
    assert values(events) == [("a", 1, 0.25), ("a", 2, 0.375), ("b", 2, 0.25)]


def test_rows_are_counted_where_quantities_are_not_given() -> None:
    logged = plays().drop("hours")
    events = Events.from_frame(logged, quantity=Quantity(4), repeats="sum")
    assert values(events) == [("a", 1, 0.25), ("a", 2, 0.5), ("b", 2, 0.25)]
    with pytest.raises(DataError, match="no column of quantities"):
        Events.from_frame(logged, quantity=Quantity(4))


def test_usual_names_are_known_and_ambiguous_ones_asked_for() -> None:
    usual = plays().rename({"user": "user_id", "item": "itemId"})
    assert len(Events.from_frame(usual)) == 3
    assert len(Events.from_frame(usual, quantity=Quantity(8))) == 3
    both = usual.with_columns(plays=1)
    assert len(Events.from_frame(both)) == 3
    with pytest.raises(DataError, match="which column is the weight: 'hours' or 'plays'"):
        Events.from_frame(both, quantity=Quantity(8))
    chosen = Events.from_frame(both, {"weight": "plays"}, quantity=Quantity(2))
    assert set(chosen.rating.tolist()) == {0.5}


@pytest.mark.parametrize(
    ("changes", "options", "error"),
    [
        ({}, {"columns": {"weight": "hours"}}, "was not declared"),
        ({}, {"columns": {"rating": "hours"}}, "a mapped column must be one of 'user', 'item'"),
        ({}, {"columns": {"user": "who"}}, "no column 'who'"),
        ({}, {"repeats": "sum"}, "needs to know how much makes a whole"),
        ({}, {"repeats": "first"}, "repeats must be one of 'any', 'last', 'sum'"),
        ({"timestamp": None}, {"repeats": "last"}, "timestamp"),
        ({"user": [None, "a", "a", "a"]}, {}, "user id is missing at row 1"),
    ],
)
def test_what_does_not_fit_is_refused(changes: Any, options: Any, error: str) -> None:
    with pytest.raises(DiscreetError, match=error):
        Events.from_frame(plays(**changes), **options)


def test_a_table_without_times_has_no_latest_event() -> None:
    with pytest.raises(DataError, match="needs a timestamp column"):
        Events.from_frame(plays().drop("timestamp"), repeats="last")
    with pytest.raises(DataError, match="the table of events is empty"):
        Events.from_frame(plays()[:0])


@pytest.mark.parametrize(
    "text", ["", "log", "log:", "10", "log:10:1:1", "log:ten", "cubic:3", "log:0", "log:-1",
             "linear:inf", "linear:5:-1", "linear:nan"],
)  # fmt: skip
def test_a_quantity_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        Quantity.parse(text)


@given(
    st.floats(1e-6, 1e6),
    st.sampled_from(["linear", "log"]),
    st.lists(st.floats(0, 1e300), min_size=2, max_size=9),
)
def test_values_are_steps_from_zero_to_one_and_grow_with_the_quantity(
    cap: float, shape: str, weights: list[float]
) -> None:
    quantity = Quantity(cap, shape)
    found = quantity.values(sorted(weights))
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()
    assert (found * STEPS == np.floor(found * STEPS)).all()
    assert (found.astype(np.float32) == found).all()
    assert quantity.values([0.0, cap]).tolist() == [0.0, 1.0]
    assert Quantity.parse(str(Quantity(3.0, shape, 0.5))) == Quantity(3.0, shape, 0.5)


def test_a_subset_over_a_catalogue_and_a_copy_are_events_still() -> None:
    events = Events.from_frame(plays(), quantity=Quantity(8))
    catalogue = Items.from_frame(pl.DataFrame({"item": [2, 9]}))
    for table in (
        events.subset(events.rating < 1),
        events.with_items(catalogue.ids),
        read_table(events.to_frame(), rules=EventRules(Quantity(1))),
    ):
        assert isinstance(table, Events)
        assert table.scale == events.scale
    assert events.over(catalogue.ids).events
    assert events.over(catalogue.ids).rules == events.rules
    made = of_values(events.to_frame().rename({"weight": "rating"}), events.rules)
    assert (made.rating == events.rating).all()
    assert made.rules == events.rules
    assert "3 events of 2 users on 2 items" in repr(events)


def test_the_owner_is_told_of_events_not_of_ratings() -> None:
    items = Items.from_frame(pl.DataFrame({"item": [2, 9]}))
    assert str(check_tables(Events.from_frame(plays()), items)).startswith("1 of 3 events are")
    strange = Items.from_frame(pl.DataFrame({"item": [7]}))
    with pytest.raises(DataError, match="no event is of an item in the item table"):
        check_tables(Events.from_frame(plays()), strange)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow"])
def test_every_format_is_read(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"plays.{ending}"
    table = plays().rename({"user": "user_id"})
    writers = {
        "csv": table.write_csv,
        "tsv": lambda p: table.write_csv(p, separator="\t"),
        "parquet": table.write_parquet,
        "arrow": table.write_ipc,
    }
    writers[ending](path)
    events = read_events(path, quantity="linear:8")
    assert [value for *_, value in values(events)] == [0.625, 0.375, 1.0]
    assert events.items.are_integers == (ending in ("parquet", "arrow"))


def test_large_plain_files_are_read_quickly_and_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plays.csv"
    plays(user=[11, 5, 5, 5]).rename({"user": "user_id"}).write_csv(path)
    slow = read_events(path, quantity="linear:8", repeats="sum")
    monkeypatch.setattr("discreet.readers.delimited.LARGE", 1)
    monkeypatch.setattr("discreet.readers.text._read", None)
    quick = read_events(path, quantity="linear:8", repeats="sum")
    assert values(quick) == values(slow)


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "plays.csv"
    path.write_text("user;item\na;1\n")
    with pytest.raises(DataError, match=r"plays\.csv: no columns 'user', 'item'.*separated by ';'"):
        read_events(path)


def test_somebody_s_own_events_need_no_user_and_no_value(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("item\n7\n9\n")
    mine = read_people(path, Events.from_frame(plays()).scale, events=True)
    assert mine.events
    assert values(mine) == [("you", "7", 1.0), ("you", "9", 1.0)]  # type: ignore[arg-type]


def test_data_sets_of_events_are_read_as_events_alone(club: Any) -> None:
    assert len(load_events("club")) == len(club.ratings)
    for name in ("book-events", "steam-events"):
        assert DATA_SETS[name].events
        with pytest.raises(DataError, match="holds events, which have no ratings"):
            load_ratings(name)


@pytest.mark.parametrize(("name", "people"), [("book-events", 2946), ("steam-events", 12393)])
def test_real_events_fit_as_they_are(name: str, people: int) -> None:
    from discreet.readers.datasets import find, load_items

    if find(name) is None:
        pytest.skip(f"data set {name} is not here: set DISCREET_DATA to its folder")
    events = load_events(name)
    assert len(events.users) == people
    assert check_tables(events, load_items(name)).outside == 0
