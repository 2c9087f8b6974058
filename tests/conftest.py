"""What the tests share: the cinema club, small tables, and real data where they are present."""

import gc
import os
from collections.abc import Callable
from typing import Any

# Tests run side by side, one a core: more threads inside each would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Java's second compiler and its parallel collector pay in programs that run for minutes; without
# it frames are larger, and Spark reads long plans by recursion.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss16m")

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

from discreet.data.ratings import Ratings
from discreet.kernels.ahead import help_compiling
from discreet.readers import datasets
from discreet.readers.club import Club, cinema_club

# Kernels are compiled here; to look for garbage as often as usual takes a seventh longer.
gc.set_threshold(100_000)
# The machines are shared: a slow example is no defect, and a failing one prints how to repeat it.
settings.register_profile("discreet", deadline=None, print_blob=True, max_examples=60)
settings.load_profile("discreet")

GENTLE: dict[str, Any] = {"factors": 3, "gamma": 5.0, "k1": 20, "k2": 20}
"""Settings of the paper's schemes that suit a small table."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """From a clean clone all workers would compile the same at the same time: each has a share."""
    worker = getattr(session.config, "workerinput", None)
    if worker is not None:
        help_compiling(int(worker["workerid"].removeprefix("gw")), worker["workercount"])


@pytest.fixture(scope="session")
def club() -> Club:
    return cinema_club()


@pytest.fixture(scope="session")
def small() -> Ratings:
    """400 ratings of 40 people on 30 items, with levels and string ids."""
    return random_ratings(40, 30, 400, seed=1)


def random_ratings(users: int, items: int, count: int, seed: int) -> Ratings:
    rng = np.random.default_rng(seed)
    pairs = rng.choice(users * items, count, replace=False)
    taste, quality = rng.normal(0, 0.7, users), rng.normal(0, 0.7, items)
    user, item = pairs // items, pairs % items
    rating = np.clip(np.rint(3.2 + taste[user] + quality[item] + rng.normal(0, 0.7, count)), 1, 5)
    return Ratings.from_frame(
        pl.DataFrame(
            {
                "user": [f"u{k}" for k in user],
                "item": item + 100,
                "rating": rating,
                "epsilon": rng.uniform(0.1, 1.0, count),
                "timestamp": rng.integers(0, 10**9, count),
            }
        )
    )


@pytest.fixture(scope="session")
def real() -> Callable[[str], Ratings]:
    """A real data set by name; the test is skipped, with a reason, where it is absent."""

    def load(name: str) -> Ratings:
        if datasets.find(name) is None:
            pytest.skip(f"data set {name} is not here: set DISCREET_DATA to its folder")
        return datasets.load_ratings(name)

    return load
