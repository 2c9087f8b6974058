"""From a file of 10 million ratings to a table that can be fitted, beside Polars itself.

    python benchmarks/reading.py

Polars is timed twice: reading the file alone, and making the same table of it, ids numbered in
order and records sorted by person and item. CSV is also read as files are that our own parser
declines: by Polars, ids as texts, and checked; more than 1.5 times as long is what the parser must
be worth to stay. Netflix' ratings where they are here, else made-up ones; written in random order,
item by item as Netflix' own files are, and in order.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from unittest.mock import patch

import polars as pl

from common import least_in_turns, synthetic
from discreet.data.ratings import Ratings
from discreet.readers import datasets, tables
from report import keep


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


def without_our_parser(path: Path) -> Ratings:
    """As `read_ratings` reads what is not plain numbers, with the same result."""
    with patch.object(tables, "read_plain", return_value=None):
        return tables.read_ratings(path)


SHOWN = {".csv": "CSV", ".parquet": "Parquet"}
ORDERS = {"random": "in random order", "by item": "item by item", "sorted": "in order"}


def compare(path: Path, order: str, count: int) -> list[str]:
    """One line about one file, and its row in the documents."""
    works = {"ours": tables.read_ratings, "reading": read, "table": by_polars}
    if path.suffix == ".csv":
        works["general"] = without_our_parser
    times = least_in_turns({name: partial(work, path) for name, work in works.items()})
    ours = times["ours"]
    line = (
        f"{path.suffix[1:]:8} {order:7} {count:,} ratings: {ours:.2f} s; Polars reads in "
        f"{times['reading']:.2f} s ({ours / times['reading']:.1f}x), makes the same table in "
        f"{times['table']:.2f} s ({ours / times['table']:.2f}x)"
    )
    if "general" in times:
        general = times["general"]
        line += f"; without our parser {general:.2f} s ({general / ours:.1f}x)"
    print(line, flush=True)
    return [
        f"{SHOWN[path.suffix]}, {ORDERS[order]}",
        f"{ours:.2f} s",
        f"{times['reading']:.2f} s ({ours / times['reading']:.1f}x)",
        f"{times['table']:.2f} s",
    ]


def main() -> None:
    frame = table()
    orders = {
        "random": frame.sample(fraction=1.0, shuffle=True, seed=0),
        "by item": frame.sort("item", "user"),
        "sorted": frame.sort("user", "item"),
    }
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("csv", "parquet"):
            for order, rows in orders.items():
                path = Path(folder) / f"{order}.{suffix}"
                getattr(rows, f"write_{suffix}")(path)
                found.append(compare(path, order, rows.height))
    columns = ["", "ours", "Polars reads the file alone (ours over it)"]
    keep("reading", [*columns, "Polars makes the same table"], found)


if __name__ == "__main__":
    main()
