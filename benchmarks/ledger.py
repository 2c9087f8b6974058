"""Publishing with a ledger against the same fit without one: seconds and memory.

The aim for 9 million pairs in a file: within twice the time of the fit, plus 20 s. Every number is
measured in a process of its own. `--database URL` measures a database instead, a path or an empty
PostgreSQL one: publications, what the operator's page and preview read, and with `--only migration`
how long tables of the version before take. To compare with another version, put its src folder
first on PYTHONPATH.
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
from typing import Any

import numpy as np
import polars as pl

from report import keep

ITEMS, EACH, LEVELS = 17_000, 60, (0.1, 0.3, 1.0)
FACTORS, ROUNDS, PUBLICATIONS, DELTA = 8, 6, 12, 1e-8
SOME = 100_000
"""Spends that are written at once, where a ledger of the version before is made."""

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
    say(f"filling, {kind(opened)}", *clock)
    for number in ("first", "second"):
        clock = time.perf_counter(), time.process_time()
        publish(opened, declared)
        say(f"{number} publication, {kind(opened)}", *clock)


def operator(pairs: int, url: str) -> None:
    """What a preview reads of a database that was published from, and the operator's page."""
    del pairs
    from discreet.database import ledger
    from discreet.database.connection import Database
    from discreet.database.declaration import establish
    from discreet.operate.releases import preview

    opened = Database(url)
    declared = establish(opened)
    clock = time.perf_counter(), time.process_time()
    with opened.reading() as connection:
        ledger.overview(connection, declared.levels)
    say(f"the operator's page after a release, {kind(opened)}", *clock)
    clock = time.perf_counter(), time.process_time()
    preview(opened, declared)
    say(f"preview, {kind(opened)}", *clock)


def migration(pairs: int, url: str) -> None:
    """Bringing a ledger of the version before, with a row for every pair, to pages."""
    import sqlalchemy as sa
    from alembic import command

    from discreet.database.connection import Database
    from discreet.database.migrations import config, migrate
    from discreet.privacy.hashing import HASH_BITS

    opened, steps = Database(url), config()
    rng = np.random.default_rng(1)
    with opened.writing() as connection:
        steps.attributes["connection"] = connection
        command.upgrade(steps, "0005")
        spends = sa.Table("spends", sa.MetaData(), autoload_with=connection)
        for first in range(0, pairs, SOME):
            some = min(SOME, pairs - first)
            hashes = rng.integers(0, 1 << HASH_BITS, (2, some)).tolist()
            spent = {"level": 1.0, "spent": 0.0, "delta": 0.0, "pure": 0.45, "mu2": 0.01}
            rows = [
                {"h1": one, "h2": other, **spent, "release": None, "revision": first}
                for one, other in zip(*hashes, strict=True)
            ]
            connection.execute(sa.insert(spends), rows)
    clock = time.perf_counter(), time.process_time()
    migrate(opened)
    say(f"migration of spends, {kind(opened)}", *clock)


def kind(opened: Any) -> str:
    """What keeps a database."""
    return "SQLite" if opened.sqlite else "PostgreSQL"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--pairs", type=int, default=9_000_000)
    words.add_argument("--database", help="a path, or the URL of an empty database")
    in_files = {"fit": fit, "file": file, "lookups": lookups}
    in_databases = {"database": database, "operator": operator, "migration": migration}
    words.add_argument("--only", choices=(*in_files, *in_databases))
    given = words.parse_args()
    PAIRS.append(given.pairs)
    if given.only in in_databases:
        in_databases[given.only](given.pairs, given.database)
    elif given.only is not None:
        in_files[given.only](given.pairs)
    else:
        print(f"{given.pairs:,} pairs, {FACTORS} factors, {ROUNDS} rounds")
        for only in ("fit", *(("database", "operator") if given.database else ("file",))):
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--only", only], check=True)


if __name__ == "__main__":
    main()
