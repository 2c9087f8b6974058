"""What the benchmarks share: the least of several repeats, made-up tables, memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data.ids import Ids
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.readers import datasets

RESULTS = Path(".bench")
"""Where tables, figures and the peers' environments go."""


def seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def least(work: Callable[[], Any], repeats: int = 7, lasting: float = 0.0) -> float:
    """The least seconds of several repeats, after one that compiles and warms up.

    There are more of them until so many seconds have passed: others may slow down a shared machine
    for as long as all repeats of something short.
    """
    work()
    times: list[float] = []
    while len(times) < repeats or sum(times) < lasting:
        times.append(seconds(work))
    return min(times)


def least_in_turns(
    works: Mapping[str, Callable[[], Any]], repeats: int = 7, lasting: float = 0.0
) -> dict[str, float]:
    """The least seconds of each, taking turns: what slows down a shared machine slows down all."""
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    while any(len(own) < repeats or sum(own) < lasting for own in times.values()):
        for name, work in works.items():
            times[name].append(seconds(work))
    return {name: min(own) for name, own in times.items()}


def synthetic(count: int, users: int = 480_000, items: int = 17_770) -> Ratings:
    """Netflix-shaped: everybody rates about as much, popularity falls off along the catalogue.

    Nobody rates an item twice, and no two people the same ones: records reach for all of it.
    """
    rng = np.random.default_rng(0)
    users = min(users, count // 200)
    per_user = np.full(users, count // users)
    per_user[: count - per_user.sum()] += 1
    place = np.arange(count) - np.repeat(np.cumsum(per_user) - per_user, per_user)
    # A person's k-th item: somewhere in the k-th part of the catalogue, denser at its beginning.
    spread = (place + rng.random(count)) / np.repeat(per_user, per_user)
    item = (place + (items - per_user.max()) * spread**3).astype(np.int32)
    return Ratings(
        users=Ids(pl.Series("user", np.arange(users))),
        items=Ids(pl.Series("item", np.arange(items))),
        ptr=np.concatenate([[0], np.cumsum(per_user)]),
        item=item,
        rating=rng.integers(1, 6, count).astype(np.float32),
        epsilon=rng.uniform(0.1, 1.0, count),
        timestamp=None,
        scale=RatingScale(),
    )


def million() -> tuple[str, Ratings]:
    """MovieLens 1M where it is here, else a table of its size."""
    if datasets.find("ml-1m") is not None:
        return "MovieLens 1M", datasets.load_ratings("ml-1m")
    return "synthetic", synthetic(1_000_000)


def resident(*, peak: bool = False) -> float:
    """Resident memory of this process in GiB, now or at most so far (Linux)."""
    label = "VmHWM:" if peak else "VmRSS:"
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(label)) / 2**20


def forget_peak() -> None:
    """Let `resident(peak=True)` start from what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")
