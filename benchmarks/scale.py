"""Reading, fits and lists on 1 to 100 million made-up ratings: cost per rating, and memory.

    python benchmarks/scale.py                 # 1, 10 and 100 million; needs 12 GB
    python benchmarks/scale.py 1 10            # millions of ratings

Netflix-shaped: 200 ratings a person up to 480,000 people, 17,770 items; levels are a column, as in
a real table. Each case runs in a process of its own. PMF is one sweep of ALS with 20 factors.
Chorus has a given number of factors, so that every size does the same work per rating. Tally and
Chorus are fitted with a seed, and for real, with noise from the operating system. Lists are of ten
items for the first 20,000 people at most, from a release of Tally.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from common import RESULTS, forget_peak, least, resident, synthetic
from discreet.figure import canvas
from discreet.kernels.threads import thread_count
from discreet.privacy.spec import PrivacySpec
from discreet.readers.tables import read_ratings
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.pmf.als import alternate, spectral_start
from discreet.schemes.tally import Tally
from report import keep

REAL = ", drawn for real"
LISTS = "lists"
WORK = (
    "reading Parquet", "PMF, a sweep", "Tally, seeded", f"Tally{REAL}", "Chorus, seeded",
    f"Chorus{REAL}", LISTS,
)  # fmt: skip
LISTED = 20_000
"""People with lists, at most."""
REPEATS = 2, 10.0
"""At least so many, for at least so many seconds."""


def write(count: int, path: Path) -> None:
    """The table as a file, in random order: the worst case of reading."""
    data = synthetic(count)
    order = np.random.default_rng(1).permutation(count)
    frame = pl.DataFrame(
        {
            "user": data.user[order], "item": data.item[order],
            "rating": data.rating[order], "epsilon": data.epsilon[order],
        }
    )  # fmt: skip
    frame.write_parquet(path)


def measure(work: str, count: int, folder: Path) -> None:
    """Print seconds and the peak of memory, compilation left out."""
    if work == "reading Parquet":
        path = folder / f"{count}.parquet"
        if not path.exists():
            subprocess.run([sys.executable, __file__, "write", str(count), path], check=True)
        forget_peak()
        took = least(lambda: read_ratings(path, scale=(1, 5)), *REPEATS)
        path.unlink()
    else:
        data = synthetic(count)
        spec = PrivacySpec.column()
        if work.startswith("PMF"):
            start = spectral_start(
                data, 20, np.random.default_rng(0), np.dtype(np.float32), thread_count(None)
            )

            def fit() -> None:
                alternate(
                    data, start, (0.05, 0.05), weighted=True, sweeps=1, threads=None,
                    progress=lambda *_: None,
                )  # fmt: skip
        else:
            scheme = Chorus(delta=0.1 / count, factors=8) if "Chorus" in work else Tally()
            seed = None if work.endswith(REAL) else 0

            def fit() -> Any:
                return scheme.fit(data, spec, seed=seed)

            if work == LISTS:
                model, people = fit(), data.users.values[:LISTED]

                def fit() -> Any:
                    return model.recommend(people, n=10)

        forget_peak()
        took = least(fit, *REPEATS)  # after a first one, which sorts the table
    print(f"{took} {resident(peak=True)}")


def shown(work: str, count: int, took: float) -> str:
    if work == LISTS:
        people = min(LISTED, count // 200)
        return f"{took:.2f} s, {1e3 * took / people:.2f} ms a person"
    return f"{took:.2f} s, {1e9 * took / count:.0f} ns a rating"


def draw(results: dict[str, list[tuple[int, float]]], path: Path) -> None:
    with canvas(path) as axes:
        for work, points in results.items():
            counts, times = np.array(points).T
            axes.plot(counts, 1e9 * times / counts, marker="o", label=work)
        axes.set(
            xscale="log", yscale="log", xlabel="ratings", ylabel="nanoseconds per rating",
            title="Cost per rating, two cores",
        )  # fmt: skip
        axes.set_ylim(top=8 * axes.get_ylim()[1])  # room for the legend
        axes.legend(frameon=False, ncols=2, loc="upper center")


def main() -> None:
    match sys.argv[1:]:
        case ["write", count, path]:
            write(int(count), Path(path))
        case [work, count, folder] if work in WORK:
            measure(work, int(count), Path(folder))
        case millions:
            compare([10**6 * int(m) for m in millions or ("1", "10", "100")])


def compare(counts: list[int]) -> None:
    results: dict[str, list[tuple[int, float]]] = {}
    cells: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for work in WORK:
            for count in counts:
                done = subprocess.run(
                    [sys.executable, __file__, work, str(count), folder],
                    check=True, capture_output=True, text=True,
                )  # fmt: skip
                took, peak = map(float, done.stdout.split())
                results.setdefault(work, []).append((count, took))
                cells.setdefault(work, []).append(shown(work, count, took))
                print(
                    f"{work:24} {count:>11,} ratings: {cells[work][-1]}, {peak:.2f} GiB", flush=True
                )
            cells[work].append(f"{peak:.2f} GiB")
    sizes = [f"{count // 10**6} million" for count in counts]
    columns = ["", *sizes, f"peak memory at {sizes[-1]}"]
    keep("scale", columns, [[work, *row] for work, row in cells.items()])
    del results[LISTS]
    RESULTS.mkdir(exist_ok=True)
    draw(results, RESULTS / "scale.png")
    for work, points in results.items():
        costs = [took / count for count, took in points]
        print(f"{work}: the dearest rating costs {max(costs) / min(costs):.1f} times the cheapest")


if __name__ == "__main__":
    main()
