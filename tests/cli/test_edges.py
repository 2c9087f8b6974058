"""What the owner is told at the command line where a ratings table meets an item table."""

import re
from pathlib import Path

import polars as pl
import pytest

from discreet.data.ratings import Ratings
from discreet.release.release import Release
from tests.cli.running import ok, refused, run


@pytest.fixture
def tables(small: Ratings, tmp_path: Path) -> Path:
    """Ratings, and an item table for all but two of their items."""
    small.to_frame().write_parquet(tmp_path / "ratings.parquet")
    items = pl.DataFrame({"item": range(100, 128), "year": [1990 + k % 7 for k in range(28)]})
    items.with_columns(num_ratings=pl.col("item") % 5).write_csv(tmp_path / "items.csv")
    items.with_columns(item=pl.format("00{}", "item")).write_csv(tmp_path / "zeros.csv")
    counts = pl.Series(small.per_item.counts[:28])
    items.with_columns(shelf_mark=counts).write_csv(tmp_path / "counts.csv")
    return tmp_path


@pytest.mark.parametrize("engine", ["local", "stream"])
def test_fit_tells_the_owner_what_it_leaves_out(tables: Path, engine: str) -> None:
    words = ("fit", tables / "ratings.parquet", "--items", tables / "items.csv")
    words += ("--engine", engine, "--out", tables / "release")
    done = run(*words)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "Warning" in line]
    assert "neither used nor published: 'num_ratings'" in told[0]
    assert "--public-column num_ratings" in told[0]
    assert told[1].startswith("Warning, for you alone: ")
    assert "128, 129; in the catalogue: 100, 101, 102" in told[1].replace("'", "")
    assert "outside" not in done.stdout
    assert Release.load(tables / "release").items.frame.columns == ["item", "year"]
    vouched = run(*words, "--public-column", "num_ratings")
    assert "neither used" not in vouched.stderr
    items = Release.load(tables / "release").items
    assert items.frame.columns == ["item", "year", "num_ratings"]
    assert items.vouched == ("num_ratings",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "--items", "zeros.csv"], "no rating is of an item .* differ by leading zeros"),
        (["evaluate", "--items", "zeros.csv"], "no rating is of an item"),
        (["sweep", "--items", "zeros.csv"], "no rating is of an item"),
        (["fit", "--items", "counts.csv"], "column 'shelf_mark' .* the number of their ratings"),
        (["fit", "--items", "counts.csv", "--engine", "stream"], "column 'shelf_mark'"),
        (["fit", "--public-column", "year"], "--public-column goes with an item table"),
        (["fit", "--items", "items.csv", "--public-column", "sales"], "no column 'sales' to vouch"),
    ],
)
def test_tables_that_do_not_go_together_are_refused(
    tables: Path, words: list[str], message: str
) -> None:
    said = refused(words[0], "ratings.parquet", *words[1:], cwd=tables)
    assert re.match(f"error: .*{message}", said), said
    assert not (tables / "release").exists()


def test_a_column_that_orders_items_as_their_ratings_do_can_be_vouched_for(tables: Path) -> None:
    words = ("ratings.parquet", "--items", "counts.csv", "--public-column", "shelf_mark")
    ok("fit", *words, cwd=tables)
    assert Release.load(tables / "release").items.vouched == ("shelf_mark",)
    ok("sweep", *words, "--scheme", "tally", "--epsilons", "1", "--folds", "2", cwd=tables)


def test_a_blank_level_is_refused_until_a_default_is_declared(tables: Path) -> None:
    frame = pl.read_parquet(tables / "ratings.parquet")
    blank = pl.when(pl.int_range(pl.len()) > 0).then("epsilon")
    frame.with_columns(blank).write_csv(tables / "blank.csv")
    assert "has no level" in refused("fit", "blank.csv", cwd=tables)
    assert "0.3 if none was given" in ok("fit", "blank.csv", "--default-level", "0.3", cwd=tables)
