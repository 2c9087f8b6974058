"""Tally and Chorus on 1 to 100 million ratings in memory: seconds, and peak memory.

Run by `make bench`. The 10 million are Netflix's where they are here, else synthetic like the
others. Each case runs in a process of its own; levels are a column of the table, as in a real one.
Chorus has a given number of factors, so that every size does the same work per rating, and runs
once with the exact noise that releases use and once with a seed: the difference is the noise.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

from discreet.ids import Ids
from discreet.io import datasets
from discreet.privacy.spec import PrivacySpec
from discreet.ratings import Ratings
from discreet.scale import RatingScale
from discreet.schemes.chorus import Chorus
from discreet.schemes.tally import Tally


def synthetic(count: int, users: int = 480_000, items: int = 17_770) -> Ratings:
    """Netflix-shaped: everybody rates about as much, popularity falls off along the catalogue."""
    rng = np.random.default_rng(0)
    users = min(users, count // 200)
    per_user = np.full(users, count // users)
    per_user[: count - per_user.sum()] += 1
    user = np.repeat(np.arange(users, dtype=np.int32), per_user)
    place = np.arange(count) - np.repeat(np.cumsum(per_user) - per_user, per_user)
    # A person's k-th item: spread over the catalogue, denser at its beginning, never twice.
    spread = (place + 1) / np.repeat(per_user + 1, per_user)
    item = (place + (items - per_user.max() - 1) * spread**3).astype(np.int32)
    return Ratings(
        users=Ids(pl.Series("user", np.arange(users))),
        items=Ids(pl.Series("item", np.arange(items))),
        user=user,
        item=item,
        rating=rng.integers(1, 6, count).astype(np.float32),
        epsilon=rng.uniform(0.1, 1.0, count),
        timestamp=None,
        scale=RatingScale(),
    )


def load(count: int) -> tuple[str, Ratings]:
    if count == 10_000_000 and datasets.find("netflix-10m") is not None:
        data = datasets.load_ratings("netflix-10m")
        levels = PrivacySpec.groups().levels(data)
        return "netflix-10m", Ratings(**vars(data) | {"epsilon": levels})
    return "synthetic", synthetic(count)


def resident(*, peak: bool = False, forget_peak: bool = False) -> int:
    """Resident memory of this process in KiB, now or at most since the last forgetting (Linux)."""
    if forget_peak:
        Path("/proc/self/clear_refs").write_text("5")
    label = "VmHWM:" if peak else "VmRSS:"
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(label))


def measure(scheme: str, count: int) -> None:
    name, data = load(count)
    spec = PrivacySpec.column()
    chosen = Tally() if scheme == "Tally" else Chorus(delta=0.1 / count, factors=8)
    before = resident(forget_peak=True)
    times = []
    for seed in (0, 0, None):  # the first also loads or compiles kernels and sorts the table
        began = time.perf_counter()
        chosen.fit(data, spec, seed=seed)
        times.append(time.perf_counter() - began)
    peak = resident(peak=True)
    print(
        f"{scheme} on {len(data):,} ratings ({name}): first fit {times[0]:.1f} s, then "
        f"{times[1]:.2f} s with a seed and {times[2]:.2f} s with exact noise; peak memory "
        f"{peak / 2**20:.2f} GiB, {(peak - before) / 2**20:.2f} of it above the data",
        flush=True,
    )


def main() -> None:
    if len(sys.argv) > 1:
        measure(sys.argv[1], int(sys.argv[2]))
        return
    for scheme in ("Tally", "Chorus"):
        for count in (1_000_000, 10_000_000, 100_000_000):
            subprocess.run([sys.executable, __file__, scheme, str(count)], check=True)


if __name__ == "__main__":
    main()
