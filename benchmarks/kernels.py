"""How long the kernels take, on MovieLens 1M where it is here, else on a table of its size.

Run by `make bench`. The least of several repeats is shown, with the time of the NumPy twin or of a
plain copy of the data beside it: machines differ, ratios less so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from discreet.io import datasets
from discreet.kernels import cpu, reference
from discreet.kernels.threads import record_ranges, run_ranges
from discreet.privacy.spec import PrivacySpec
from discreet.ratings import Ratings
from discreet.schemes.als import solve_side
from discreet.schemes.dppmf import PDPPMF
from discreet.schemes.gradient import GradientSteps


def million() -> tuple[str, Ratings]:
    if datasets.find("ml-1m") is not None:
        return "MovieLens 1M", datasets.load_ratings("ml-1m")
    rng = np.random.default_rng(0)
    user, item = rng.integers(0, 6000, 1_100_000), rng.zipf(1.3, 1_100_000) % 3700
    pairs = pl.DataFrame({"user": user, "item": item}).unique(maintain_order=True)
    return "synthetic", Ratings.from_frame(
        pairs.with_columns(rating=pl.Series(rng.integers(1, 6, pairs.height)))
    )


def least(work: Callable[[], Any], repeats: int = 7) -> float:
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return 1e3 * min(times)


def gradient(data: Ratings, threads: int, dtype: Any, d: int) -> Callable[[], None]:
    rng = np.random.default_rng(0)
    U = rng.normal(0, 0.2, (len(data.users), d)).astype(dtype)
    V = rng.normal(0, 0.2, (len(data.items), d)).astype(dtype)
    sides = [
        (o.rows, o.cols, o.values.astype(dtype), record_ranges(o.rows, 0, len(data), threads))
        for o in (data.by_user, data.by_item)
    ]

    def work() -> None:
        for (rows, cols, r, ranges), own, other in zip(sides, (U, V), (V, U), strict=True):
            out, squared = own.copy(), np.zeros(len(own))
            run_ranges(
                cpu.add_gradient, ranges, threads,
                rows, cols, r, own, other, dtype(1e-4), out, squared,
            )  # fmt: skip

    return work


def als(data: Ratings, threads: int, dtype: Any, d: int) -> Callable[[], None]:
    V = np.random.default_rng(0).normal(0, 0.5, (len(data.items), d)).astype(dtype)
    by_user, by_item = data.by_user.values.astype(dtype), data.by_item.values.astype(dtype)

    def work() -> None:
        U = solve_side(data.by_user, by_user, V, 0.05, weighted=True, threads=threads)
        solve_side(data.by_item, by_item, U, 0.05, weighted=True, threads=threads)

    return work


def epoch(data: Ratings, threads: int) -> float:
    steps = GradientSteps(data, 50.0, np.random.default_rng(0), np.float32, threads)
    U, V = steps.start(20, "signed")
    passes = 5
    return least(lambda: steps.train(U, V, 0.01, 0.01, passes, lambda *_: None), 3) / passes


def main() -> None:
    name, data = million()
    print(f"{name}: {len(data):,} ratings; least of several repeats, milliseconds\n")
    for threads in (1, 2):
        print(f"one pass of the paper's steps, d=20, float32, {threads} thread(s): "
              f"{epoch(data, threads):8.1f}")  # fmt: skip
    for d in (8, 20, 64):
        for dtype in (np.float32, np.float64):
            for threads in (1, 2):
                both, sweep = (least(make(data, threads, dtype, d), 5) for make in (gradient, als))
                print(
                    f"d={d:<3} {dtype.__name__} {threads} thread(s): "
                    f"gradient of both sides {both:8.1f}   ALS sweep {sweep:8.1f}"
                )
    order, few = data.by_user, min(len(data), 100_000)
    V = np.random.default_rng(0).normal(size=(len(data.items), 20))
    U = np.zeros((len(data.users), 20))
    arguments = (order.rows, order.cols, order.values, U, V, 1e-4, U.copy(), np.zeros(len(U)))
    fast = least(lambda: cpu.add_gradient(0, few, *arguments))
    slow = least(lambda: reference.add_gradient(0, few, *arguments), 2)
    print(f"\ngradient of {few:,} records: {fast:.2f}, NumPy twin {slow:.1f}")
    spec = PrivacySpec.groups()
    print(f"levels by hash: {least(lambda: spec.levels(data), 3):.0f}")
    print(f"a whole PDP-PMF fit: {least(lambda: PDPPMF().fit(data, spec, seed=0), 1):.0f}")


if __name__ == "__main__":
    main()
