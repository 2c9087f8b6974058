"""What every library is asked to do, and how it is timed; needs NumPy alone.

`measure(library)` is called by a script of each library's own, in an environment of its own, with
the folder of the split and the grid of epochs as arguments. It prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

THREADS = 2
FACTORS = 20
_PATIENCE = 20.0
"""Seconds after which the lists of some people stand for those of all."""


class Split(NamedTuple):
    """The same arrays for every library; users and items are numbered from zero."""

    users: int
    items: int
    user: Any
    item: Any
    rating: Any
    test_user: Any
    test_item: Any
    test_rating: Any

    @classmethod
    def load(cls, folder: Path) -> Split:
        """From the folder that the driver wrote."""
        arrays = np.load(folder / "split.npz")
        sizes = (int(arrays["sizes"][0]), int(arrays["sizes"][1]))
        return cls(*sizes, *(arrays[name] for name in cls._fields[2:]))


class Library(Protocol):
    """One library; a method it does not have is left out of the results."""

    regularisations: tuple[float, ...]

    def prepare(self, split: Split) -> Any:
        """The library's own table."""
        ...

    def fit(self, table: Any, regularisation: float, epochs: int) -> Any:
        """Train from scratch with FACTORS factors on THREADS threads."""
        ...

    def predict(self, model: Any, user: Any, item: Any) -> Any:
        """A predicted rating for every pair."""
        ...

    def top_ten(self, model: Any, table: Any, users: Any) -> Any:
        """Ten unrated items for each of these users."""
        ...


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and the result."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def least(work: Callable[[], Any], repeats: int) -> float:
    """The least seconds of several repeats."""
    return min(timed(work)[0] for _ in range(repeats))


def rmse(predicted: Any, split: Split) -> float:
    """On the test pairs."""
    return float(np.sqrt(np.mean((np.asarray(predicted) - split.test_rating) ** 2)))


def _curve(library: Library, table: Any, split: Split, epochs: list[int]) -> list[Any]:
    points = []
    for regularisation in library.regularisations:
        for count in epochs:
            seconds, model = timed(lambda r=regularisation, c=count: library.fit(table, r, c))
            error = rmse(library.predict(model, split.test_user, split.test_item), split)
            points.append((regularisation, count, seconds, error))
    return points


def _lists(library: Library, model: Any, table: Any, split: Split) -> dict[str, Any]:
    some = np.arange(0, split.users, max(1, split.users // 50))
    library.top_ten(model, table, some)
    if least(lambda: library.top_ten(model, table, some), 2) * split.users / len(some) < _PATIENCE:
        some = np.arange(split.users)
    seconds = least(lambda: library.top_ten(model, table, some), 3)
    return {"top_ten": seconds * split.users / len(some), "listed": len(some)}


def _peak() -> float:
    """The most memory that was resident, in GiB.

    Not the kernel's maxrss, which begins with the memory of the process that started this one.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 2**20


def measure(library: Library, version: str) -> None:
    """Everything the library can do, as one line of JSON on standard output."""
    folder, epochs = Path(sys.argv[1]), [int(count) for count in sys.argv[2].split(",")]
    split = Split.load(folder)
    table = library.prepare(split)
    first, model = timed(lambda: library.fit(table, library.regularisations[0], 1))
    found: dict[str, Any] = {
        "version": version,
        "prepare": least(lambda: library.prepare(split), 3),
        "first_fit": first,
    }
    few, many = (
        least(lambda c=count: library.fit(table, library.regularisations[0], c), 3)
        for count in (1, 6)
    )
    found["epoch"] = (many - few) / 5
    if hasattr(library, "predict"):
        found["score"] = least(lambda: library.predict(model, split.test_user, split.test_item), 3)
        found["curve"] = _curve(library, table, split, epochs)
    if hasattr(library, "top_ten"):
        found |= _lists(library, model, table, split)
    found["peak_gib"] = _peak()
    os.write(_STANDARD_OUTPUT, (json.dumps(found) + "\n").encode())


# Libraries chat on standard output: only the line of JSON shall go there.
_STANDARD_OUTPUT = os.dup(1)
os.dup2(2, 1)
