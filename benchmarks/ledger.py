"""Publishing with a ledger against the same fit without one: seconds and memory.

The aim for 9 million pairs in a file: within twice the time of the fit, plus 20 s. Every number is
measured in a process of its own. `--database URL` measures a database instead, a path or an empty
PostgreSQL one. To compare with another version, put its src folder first on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import inspect
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from report import keep

ITEMS, EACH, LEVELS = 17_000, 60, (0.1, 0.3, 1.0)
FACTORS, ROUNDS, PUBLICATIONS, DELTA = 8, 6, 12, 1e-8


PAIRS: list[int] = []
"""How many this process measures."""


def table(pairs: int):
    """People with so many ratings each, of items that nobody rates twice."""
    from discreet import Ratings

    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(pairs // EACH), EACH)
    own = np.tile(np.arange(EACH), pairs // EACH)
    item = (rng.integers(0, ITEMS, pairs // EACH)[user] + own * (ITEMS // EACH)) % ITEMS
    frame = pl.DataFrame(
        {
            "user": user,
            "item": item,
            "rating": rng.integers(1, 6, len(user)).astype(np.float64),
            "epsilon": rng.choice(LEVELS, len(user)),
        }
    )
    return Ratings.from_frame(frame)


def scheme(publications: int = 1):
    from discreet import Chorus, Items

    items = Items.from_frame(pl.DataFrame({"item": np.arange(ITEMS)}))
    return Chorus(
        items=items, delta=DELTA, factors=FACTORS, rounds=ROUNDS, publications=publications
    )


def say(what: str, began: float, cpu: float) -> None:
    """Print it, and keep it."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    took, used = time.perf_counter() - began, time.process_time() - cpu
    print(f"{what:<34}{took:8.1f} s{used:8.1f} s of CPU{peak:8.2f} GB at most", flush=True)
    row = [f"{what}, {PAIRS[0]:,} pairs", f"{took:.1f} s", f"{used:.1f} s", f"{peak:.2f} GB"]
    keep("ledger", ["", "seconds", "of the processor", "memory at most"], [row], add=True)


def fit(pairs: int) -> None:
    """The same without a ledger."""
    ratings = table(pairs)
    scheme().fit(ratings.subset(ratings.user < 60))  # compiled, or loaded from the cache
    clock = time.perf_counter(), time.process_time()
    scheme().fit(ratings)
    say("fit without a ledger", *clock)


def file(pairs: int) -> None:
    """Two publications with one file: new pairs, and the same again."""
    from discreet import publish

    ratings = table(pairs)
    scheme().fit(ratings.subset(ratings.user < 60))
    with tempfile.TemporaryDirectory() as folder:
        for number in ("first", "second"):
            clock = time.perf_counter(), time.process_time()
            publish(
                scheme(PUBLICATIONS),
                ratings,
                out=Path(folder) / "release",
                ledger=Path(folder) / "ledger.db",
            )
            say(f"{number} publication, file", *clock)
        size = (Path(folder) / "ledger.db").stat().st_size / 2**20
        print(f"{'the ledger itself':<34}{size:8.0f} MB")


def lookups(pairs: int) -> None:
    """What one person's spends take to find among so many, in a file."""
    from discreet import FileLedger, publish

    ratings = table(pairs)
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder) / "ledger.db"
        publish(scheme(PUBLICATIONS), ratings, out=Path(folder) / "release", ledger=book)
        ledger = FileLedger(book)
        people = [ratings.subset(ratings.user == person) for person in range(0, 2_000, 40)]
        ledger.spends(people[0])
        clock = time.perf_counter(), time.process_time()
        for own in people:
            ledger.spends(own)
        say(f"{len(people)} lookups of a person's {EACH} pairs, file", *clock)


def database(pairs: int, url: str) -> None:
    """Two publications from one database, which is filled first."""
    from discreet import Items
    from discreet.database.connection import Database
    from discreet.database.declaration import Declaration, establish
    from discreet.operate.imports import add_items, add_ratings
    from discreet.operate.releases import publish

    wanted = {"delta": DELTA, "levels": LEVELS}
    if "publications" in inspect.signature(Declaration).parameters:
        wanted["publications"] = PUBLICATIONS
    opened = Database(url)
    declared = establish(opened, wanted)
    clock = time.perf_counter(), time.process_time()
    add_items(opened, Items.from_frame(pl.DataFrame({"item": np.arange(ITEMS).astype(str)})))
    frame = table(pairs).to_frame().with_columns(pl.col("user", "item").cast(pl.String))
    from discreet import Ratings

    add_ratings(opened, declared, Ratings.from_frame(frame))
    say("filling the database", *clock)
    for number in ("first", "second"):
        clock = time.perf_counter(), time.process_time()
        publish(opened, declared)
        say(f"{number} publication, database", *clock)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--pairs", type=int, default=9_000_000)
    words.add_argument("--database", help="a path, or the URL of an empty database")
    words.add_argument("--only", choices=("fit", "file", "lookups", "database"))
    given = words.parse_args()
    PAIRS.append(given.pairs)
    if given.only == "database":
        database(given.pairs, given.database)
    elif given.only is not None:
        {"fit": fit, "file": file, "lookups": lookups}[given.only](given.pairs)
    else:
        print(f"{given.pairs:,} pairs, {FACTORS} factors, {ROUNDS} rounds")
        for only in ("fit", "database" if given.database else "file"):
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--only", only], check=True)


if __name__ == "__main__":
    main()
