"""From a file of 10 million ratings to a table that can be fitted, beside Polars itself.

    python benchmarks/reading.py

Polars is timed twice: reading the file alone, and making the same table of it, ids numbered in
order and records sorted by person and item. Netflix' ratings where they are here, else made-up
ones; written in random order, item by item as Netflix' own files are, and in order.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl

from common import least, synthetic
from discreet.readers import datasets
from discreet.readers.tables import read_ratings


def table() -> pl.DataFrame:
    source = datasets.find("netflix-10m")
    if source is not None and source.suffix == ".parquet":
        return pl.read_parquet(source).select("user", "item", "rating")
    return synthetic(10_000_000).to_frame().select("user", "item", "rating")


def read(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)


def by_polars(path: Path) -> pl.DataFrame:
    """The same table with Polars alone."""
    frame = read(path)
    for side in ("user", "item"):
        ids = frame.select(pl.col(side).unique().sort()).with_row_index(f"{side}_row")
        frame = frame.join(ids, on=side, how="left")
    return frame.sort("user_row", "item_row").select("user_row", "item_row", "rating")


def main() -> None:
    frame = table()
    orders = {
        "random": frame.sample(fraction=1.0, shuffle=True, seed=0),
        "by item": frame.sort("item", "user"),
        "sorted": frame.sort("user", "item"),
    }
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("csv", "parquet"):
            for order, rows in orders.items():
                path = Path(folder) / f"{order}.{suffix}"
                getattr(rows, f"write_{suffix}")(path)
                ours, alone, same = (
                    least(lambda w=work, p=path: w(p), 7)
                    for work in (read_ratings, read, by_polars)
                )
                print(
                    f"{suffix:8} {order:7} {rows.height:,} ratings: {ours:.2f} s; Polars reads in "
                    f"{alone:.2f} s ({ours / alone:.1f}x), makes the same table in {same:.2f} s "
                    f"({ours / same:.2f}x)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
