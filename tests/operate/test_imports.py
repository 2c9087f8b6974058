"""Tables into the database: checked as a whole, and never against what people decided."""

import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import sqlalchemy as sa

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import catalogue, own_ratings, people, schema
from discreet.database.connection import Database
from discreet.database.declaration import Declaration, establish
from discreet.errors import DataError, DiscreetError
from discreet.operate.imports import Imported, add_items, add_ratings
from discreet.operate.snapshot import read_snapshot
from discreet.readers.tables import read_ratings
from tests.databases import filled, films


def import_ratings(
    database: Database, declared: Declaration, table: Path, *, replace: bool = False
) -> Imported:
    ratings = read_ratings(table, scale=declared.rating_scale)
    return add_ratings(database, declared, ratings, replace=replace)


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ("ann,100,9,0.1", "rating must be within the scale"),
        ("ann,100,4,7", "epsilon must be within the declared max_level"),
        ("ann,100,4,0", "epsilon must be finite and > 0"),
        ("ann,nothing,4,0.1", "'nothing' is not in the catalogue"),
        ("ann,100,4,0.1\nann,100,3,0.1", "two ratings of one pair"),
        (f"{'a' * 300},100,4,0.1", "1 to 200 letters"),
    ],
)
def test_a_bad_table_is_refused_as_a_whole(
    sqlite: Database, tmp_path: Path, rows: str, error: str
) -> None:
    declared = establish(sqlite)
    add_items(sqlite, films())
    table = tmp_path / "ratings.csv"
    table.write_text(f"user,item,rating,epsilon\nzoe,101,3,0.1\n{rows}\n")
    with pytest.raises(DiscreetError, match=error):
        import_ratings(sqlite, declared, table)
    assert len(read_snapshot(sqlite, declared).ratings) == 0


def test_a_blank_level_in_an_import_is_the_declared_default(
    sqlite: Database, tmp_path: Path
) -> None:
    declared = establish(sqlite, {"default_level": 0.3})
    add_items(sqlite, films())
    table = tmp_path / "ratings.csv"
    table.write_text("user,item,rating,epsilon\nann,100,5,0.1\nann,101,5,\n")
    import_ratings(sqlite, declared, table)
    with sqlite.reading() as connection:
        assert {o.item: o.epsilon for o in own_ratings.of(connection, "ann")} == {
            "100": 0.1, "101": 0.3,
        }  # fmt: skip


def test_an_import_keeps_what_people_said_unless_told(sqlite: Database, tmp_path: Path) -> None:
    declared = establish(sqlite)
    add_items(sqlite, films())
    table = tmp_path / "ratings.csv"
    table.write_text("user,item,rating\nann,100,5\nann,101,5\n")
    with sqlite.writing() as connection:
        people.new_person(connection, "ann")
        own_ratings.put(connection, "ann", "100", 1.0, 1.0)
    assert import_ratings(sqlite, declared, table) == (2, 0)
    with sqlite.reading() as connection:
        assert {o.item: (o.rating, o.epsilon) for o in own_ratings.of(connection, "ann")} == {
            "100": (1.0, 1.0), "101": (5.0, declared.usual_level),
        }  # fmt: skip
    import_ratings(sqlite, declared, table, replace=True)
    with sqlite.reading() as connection:
        own = own_ratings.of(connection, "ann")
        # Replaced, but at the smaller level of the two: nobody's is raised behind their back.
        assert {(o.rating, o.epsilon) for o in own} == {(5.0, declared.usual_level)}


def test_an_import_does_not_undo_what_people_decided(database: Database, tmp_path: Path) -> None:
    declared = establish(database)
    add_items(database, films())
    table = tmp_path / "ratings.csv"
    table.write_text("user,item,rating\nann,100,5\nann,101,5\nbob,100,5\nzoe,100,5\n")
    import_ratings(database, declared, table)
    with database.writing() as connection:
        own_ratings.remove(connection, "ann", "100")
        people.erase(connection, "bob")
    for replace in (False, True):
        assert import_ratings(database, declared, table, replace=replace) == (4, 2)
        snapshot = read_snapshot(database, declared)
        assert snapshot.ratings.users.values.to_list() == ["ann", "zoe"]
        assert len(snapshot.ratings) == 2
    with database.writing() as connection:
        own_ratings.put(connection, "ann", "100", 1.0, 0.1)  # their own change of mind counts
    assert import_ratings(database, declared, table) == (4, 2)
    assert len(read_snapshot(database, declared).ratings) == 3


def test_nobody_gets_the_id_of_somebody_who_was_erased(database: Database) -> None:
    establish(database)
    with database.writing() as connection:
        people.new_person(connection, "ann")
        people.erase(connection, "ann")
    with database.writing() as connection, pytest.raises(DataError, match="was erased"):
        people.new_person(connection, "ann")


def test_to_say_the_same_again_is_no_change(database: Database) -> None:
    establish(database)
    add_items(database, films())
    with database.writing() as connection:
        people.new_person(connection, "ann")
        first = own_ratings.put(connection, "ann", "100", 4.0, 0.1)
        assert own_ratings.put(connection, "ann", "100", 4.0, 0.1) == first
        assert own_ratings.put(connection, "ann", "100", 4.0, 0.3).revision != first.revision


@pytest.mark.parametrize(
    "table",
    [
        {"item": ["z"], "genres": ["Drama"]}, {"item": ["z"], "year": [float("inf")]},
        {"item": ["z"], "year": ["unknown"]}, {"item": ["z"], "title": [7]},
        {"item": ["z"], "rating": [5]}, {"item": ["z"], "User": ["ann"]},
        {"item": ["a\x00b"]}, {"item": ["z" * 300]}, {"item": ["z"], "title": ["a\x00b"]},
        {"item": ["z"], "when": [datetime.date(2020, 1, 1)]},
    ],
)  # fmt: skip
def test_an_item_table_that_does_not_go_with_the_catalogue_is_refused(
    sqlite: Database, table: dict[str, list[object]]
) -> None:
    declared = establish(sqlite)
    add_items(sqlite, films())
    with pytest.raises(DataError):
        add_items(sqlite, Items.from_frame(pl.DataFrame(table)))
    assert len(read_snapshot(sqlite, declared).items) == 30


def test_what_was_vouched_for_is_remembered_with_the_catalogue(database: Database) -> None:
    declared = establish(database)
    add_items(database, films())
    scored = pl.DataFrame({"item": ["100", "101"], "critics_score": [7.0, 3.0], "votes": [5, 9]})
    add_items(database, Items.from_frame(scored))
    assert not {"critics_score", "votes"} & set(
        read_snapshot(database, declared).items.frame.columns
    )
    add_items(database, Items.from_frame(scored, public_columns=["critics_score"]))
    add_items(database, Items.from_frame(scored, public_columns=["votes"]))
    add_items(database, films())  # to say nothing takes nothing back
    items = read_snapshot(database, declared).items
    assert items.vouched == ("critics_score", "votes")
    assert items.left_out == ()
    assert items.frame["votes"].drop_nulls().to_list() == [5, 9]


def test_a_catalogue_from_before_such_columns_were_judged_leaves_them_out(
    sqlite: Database,
) -> None:
    declared = establish(sqlite)
    add_items(sqlite, films())
    with sqlite.writing() as connection:
        features = {"title": "Film 0", "num_ratings": 12}
        connection.execute(sa.update(schema.items).values(features=features))
    items = read_snapshot(sqlite, declared).items
    assert items.frame.columns == ["item", "title"]
    assert items.left_out == ("num_ratings",)


def test_mending_an_item_keeps_what_the_table_does_not_name(database: Database) -> None:
    establish(database)
    add_items(database, films())
    add_items(database, Items.from_frame(pl.DataFrame({"item": ["100"], "year": [2001]})))
    with database.reading() as connection:
        items = catalogue.read(connection)
    assert items is not None
    assert items.frame.row(0, named=True) == {
        "item": "100", "title": "Film 0", "year": 2001, "genres": ["Drama"],
    }  # fmt: skip


def test_a_column_that_orders_items_as_their_ratings_do_is_refused_in_either_order(
    sqlite: Database, small: Ratings
) -> None:
    declared = filled(sqlite, small)
    counts = np.bincount(small.item, minlength=len(small.items))
    heat = pl.DataFrame({"item": small.items.values.cast(pl.String), "heat": counts})
    with pytest.raises(DataError, match="column 'heat' of the item table orders the items almost"):
        add_items(sqlite, Items.from_frame(heat))
    assert add_items(sqlite, Items.from_frame(heat, public_columns=["heat"])) == 0
    other = Database(Path(sqlite.url.database or "").with_name("other.db"))
    declared = establish(other)
    assert add_items(other, Items.from_frame(heat)) == len(small.items)
    with pytest.raises(DataError, match="column 'heat' of the item table orders the items almost"):
        add_ratings(other, declared, small)
    other.close()
