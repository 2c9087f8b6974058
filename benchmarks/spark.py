"""Spark beside the other engines: a skewed table, what it costs by size, and a lost executor.

    python benchmarks/spark.py skewed          # 20 million ratings, a tenth of them of one item
    python benchmarks/spark.py cost 1 10 100   # millions of ratings: local, stream and Spark
    python benchmarks/spark.py loss            # an executor is killed in the middle

Needs the extra `spark` and Java. Every case runs in a process of its own; what Spark sent is read
from its event log; memory and processor time are those of the process and all its children. On a
machine with other work, processor time tells more than the clock.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
import discreet.engines.spark as ds
from common import synthetic
from discreet.engines import fit_release
from discreet.engines.stream import open_stream
from discreet.readers.tables import read_ratings
from discreet.release.release import Release
from report import keep

SPEC = dc.PrivacySpec.column()


def skewed(count: int, path: Path) -> None:
    """Everybody rates item 0 and nine others, so item 0 has a tenth of all ratings."""
    rng = np.random.default_rng(0)
    users = count // 10
    item = np.sort(1 + (9_999 * rng.random((users, 9)) ** 2).astype(np.int32), axis=1)
    item += np.arange(9, dtype=np.int32)  # never twice
    frame = pl.DataFrame(
        {
            "user": np.repeat(np.arange(users, dtype=np.int32), 10),
            "item": np.column_stack([np.zeros(users, dtype=np.int32), item]).ravel(),
            "rating": rng.integers(1, 6, count).astype(np.float32),
            "epsilon": rng.uniform(0.1, 1.0, count),
        }
    )
    path.mkdir()
    for k, part in enumerate(frame.iter_slices(count // 16)):
        part.write_parquet(path / f"{k}.parquet")


def family() -> list[int]:
    """This process and all its children."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
    found = [os.getpid()]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def memory() -> float:
    """Resident memory of the family, in GiB; what processes share counts once for each."""
    total = 0
    for pid in family():
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue
    return total * os.sysconf("SC_PAGE_SIZE") / 2**30


class Processors:
    """Processor time of the family, and of those of it that have ended, in seconds.

    PySpark's daemon does not wait for the workers that end, so that their time is in nobody's
    account: what was seen of each is remembered, and whoever asks often enough misses little.
    """

    def __init__(self) -> None:
        self.seen: dict[tuple[int, str], int] = {}

    def __call__(self) -> float:
        for pid in family():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            began = fields[19]  # another process may get the same number
            self.seen[pid, began] = sum(int(field) for field in fields[11:13])
        return sum(self.seen.values()) / os.sysconf("SC_CLK_TCK")


@contextmanager
def watched() -> Iterator[dict[str, float]]:
    """Seconds, seconds of processors and the peak of memory of what happens within."""
    found = {"seconds": 0.0, "processor": 0.0, "peak": 0.0}
    done, processor = threading.Event(), Processors()

    def watch() -> None:
        while not done.wait(0.1):
            found["peak"] = max(found["peak"], memory())
            processor()

    began, used = time.perf_counter(), processor()
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        found["seconds"] = time.perf_counter() - began
        done.set()
        thread.join()
        found["processor"] = processor() - used


@contextmanager
def session(folder: Path, master: str = "local[2]", **more: str) -> Iterator[Any]:
    (folder / "events").mkdir(exist_ok=True)
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "8",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(folder / "events"),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    with ds.open_session(master, **settings | more) as opened:
        yield opened


def events(folder: Path) -> list[dict[str, Any]]:
    logs = sorted((folder / "events").iterdir(), key=lambda p: p.stat().st_mtime)
    return [json.loads(line) for line in logs[-1].read_text().splitlines()]


def shuffled(log: list[dict[str, Any]]) -> tuple[int, int]:
    """(bytes, records) that tasks wrote for others."""
    metrics = [
        e["Task Metrics"]["Shuffle Write Metrics"]
        for e in log
        if e["Event"] == "SparkListenerTaskEnd" and e.get("Task Metrics")
    ]
    return (
        sum(m["Shuffle Bytes Written"] for m in metrics),
        sum(m["Shuffle Records Written"] for m in metrics),
    )


def show_skewed() -> None:
    for count in (5_000_000, 20_000_000):
        for unique in (True, False):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                skewed(count, folder / "ratings")
                with session(folder) as opened, watched() as found:
                    table = ds.read_ratings(opened, str(folder / "ratings"), unique_pairs=unique)
                    ds.fit(dc.Tally(), table, SPEC, seed=0)
                sent, records = shuffled(events(folder))
            print(
                f"Tally of {count:,} ratings, {'key declared' if unique else 'pairs checked'}: "
                f"{found['seconds']:.1f} s, peak {found['peak']:.2f} GiB, shuffled "
                f"{sent / 2**20:.1f} MiB in {records:,} records",
                flush=True,
            )


def cost_of(engine: str, scheme: str, path: Path) -> None:
    """After a fit of a small table, which compiles whatever has to be: kernels, or Spark's code."""
    chosen = dc.Tally() if scheme == "Tally" else dc.Chorus(delta=1e-9, factors=8)
    warm = synthetic(200_000)
    chosen.fit(warm, SPEC, seed=0)
    if engine == "spark":
        small = path.with_name("small.parquet")
        warm.to_frame().write_parquet(small)
        with session(path.parent) as opened:

            def fit(place: Path) -> Release:
                table = ds.read_ratings(opened, str(place), unique_pairs=True)
                return ds.fit(chosen, table, SPEC, seed=0)

            fit(small)
            with watched() as found:
                made = fit(path)
    elif engine == "stream":
        with watched() as found, open_stream(path) as stream:
            made = fit_release(chosen, stream, SPEC, seed=0)
    else:
        with watched() as found:
            made = chosen.fit(read_ratings(path), SPEC, seed=0).release
    released = made.item_factors.tobytes() + made.item_effects.tobytes()
    print(json.dumps(found | {"released": sha256(released).hexdigest()}))


def show_cost(millions: list[int]) -> None:
    rows = []
    for count in [10**6 * m for m in millions]:
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "ratings.parquet"
            code = (
                "import sys; from pathlib import Path; from common import synthetic; "
                f"synthetic({count}).to_frame().write_parquet(Path({str(path)!r}))"
            )
            subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
            for scheme in ("Tally", "Chorus"):
                rows.append([f"{scheme}, {count // 10**6} million", *costs(scheme, path)])
                print(*rows[-1], sep="; ", flush=True)
    columns = ["", "local", "stream", "Spark, `local[2]`", "Spark over local"]
    keep("spark", columns, rows)


def costs(scheme: str, path: Path) -> list[str]:
    """What every engine takes for one table; the same release, or this ends here."""
    found = {}
    for engine in ("local", "stream", "spark"):
        done = subprocess.run(
            [sys.executable, __file__, "one", engine, scheme, path],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
        )  # fmt: skip
        found[engine] = json.loads(done.stdout.splitlines()[-1])
    if len({each["released"] for each in found.values()}) > 1:
        raise SystemExit(f"engines released different numbers: {scheme}, {path}")
    cells = [
        f"{each['seconds']:.1f} s ({each['processor']:.1f} of processors), {each['peak']:.1f} GiB"
        for each in found.values()
    ]
    ratios = (found["spark"][what] / found["local"][what] for what in ("seconds", "processor"))
    return [*cells, "{:.1f} ({:.1f} of processors)".format(*ratios)]


def show_loss() -> None:
    scheme = dc.Chorus(delta=1e-9, factors=4)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        skewed(2_000_000, folder / "ratings")
        path = folder / "ratings.parquet"
        pl.read_parquet(folder / "ratings" / "*.parquet").write_parquet(path)
        here = scheme.fit(read_ratings(path), SPEC, seed=0).release
        with session(folder, "local-cluster[2,1,1500]") as opened:
            table = ds.read_ratings(opened, str(folder / "ratings"))
            killer = threading.Timer(8.0, kill_one_executor)
            killer.start()
            there = ds.fit(scheme, table, SPEC, seed=0)
            killer.join()
        log = events(folder)
    lost = [e for e in log if e["Event"] == "SparkListenerExecutorRemoved"]
    failed = [
        e for e in log
        if e["Event"] == "SparkListenerTaskEnd" and e["Task End Reason"]["Reason"] != "Success"
    ]  # fmt: skip
    for event in lost:
        print(f"event log: executor {event['Executor ID']} removed: {event['Removed Reason']}")
    print(f"event log: {len(failed)} tasks ended otherwise than well and were run again")
    same = (
        (here.item_factors == there.item_factors).all()
        and (here.item_effects == there.item_effects).all()
        and here.certificate == there.certificate
    )
    print(f"the same release, bit for bit, as in memory: {bool(same)}")
    if not lost or not same:
        raise SystemExit(1)


def kill_one_executor() -> None:
    for pid in family():
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"CoarseGrainedExecutorBackend" in command:
            os.kill(pid, signal.SIGKILL)
            print(f"killed an executor (process {pid})", flush=True)
            return
    print("no executor found", flush=True)


def main() -> None:
    match sys.argv[1:]:
        case ["skewed"]:
            show_skewed()
        case ["cost", *millions]:
            show_cost([int(m) for m in millions] or [1, 10, 100])
        case ["loss"]:
            show_loss()
        case ["one", engine, scheme, path]:
            cost_of(engine, scheme, Path(path))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
