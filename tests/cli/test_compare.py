"""discreet compare and audit --field as a person uses them."""

from pathlib import Path

import polars as pl

from discreet.data.ratings import Ratings
from discreet.field.roster import ROSTER
from tests.cli.running import ok, refused


def test_the_field_is_compared_on_a_table_of_one_s_own_and_cells_are_kept(
    small: Ratings, tmp_path: Path
) -> None:
    table, out = tmp_path / "mine.parquet", tmp_path / "out"
    small.to_frame().write_parquet(table)
    asked = ("compare", "--data", table, "--epsilons", "10", "--splits", "1", "--out", out)
    shown = ok(*asked, "--workers", "1")
    assert "computed from the ratings themselves" in shown.replace("\n", " ")
    results = pl.read_csv(out / "results.csv")
    labels = {entry.label for entry in ROSTER if "person" in entry.units}
    assert labels | {"Chorus", "Tally", "SVD++", "EASE"} <= set(results["label"])
    assert results["seconds"].null_count() == 0
    assert (results.filter(pl.col("rmse").is_not_null())["rmse"] < 2).all()
    page = (out / "report.html").read_text()
    assert "<svg" in page
    assert "What each scheme promises" in page
    cells = {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    ok(*asked)
    assert cells == {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    assert "'person', 'rating'" in refused("compare", "--data", "club", "--unit", "household")
    assert "--epsilons" in refused("compare", "--data", "club", "--epsilons", "much")
    assert "by itself" in refused("audit", "--field", "--mutants")
    assert not list(tmp_path.iterdir())
