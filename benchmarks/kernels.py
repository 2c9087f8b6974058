"""How near the kernels are to the machine: gradient, SGD and ALS, by factors and threads.

    python benchmarks/kernels.py

On MovieLens 1M where it is here, else on a table of its size, and on 20 million made-up ratings
whose factors leave the caches. The least of several repeats is shown, with useful arithmetic per
second as a share of what a large matrix product does in the same process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from common import least, million, synthetic
from discreet.data.ratings import Ratings
from discreet.kernels import gradients, reference
from discreet.kernels.threads import record_ranges, run_ranges
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.pmf.als import solve_side
from discreet.schemes.pmf.gradient import GradientSteps
from discreet.schemes.pmf.pdp import PDPPMF
from discreet.schemes.pmf.sgd import Blocks
from report import keep

Rows = list[list[str]]
"""Of a table in the documents."""


def gradient(data: Ratings, threads: int, dtype: Any, d: int) -> Callable[[], None]:
    """The full-batch gradient of U and V."""
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
                gradients.add_gradient, ranges, threads,
                rows, cols, r, own, other, dtype(1e-4), out, squared,
            )  # fmt: skip

    return work


def als(data: Ratings, threads: int, dtype: Any, d: int) -> Callable[[], None]:
    """Both halves of a sweep."""
    V = np.random.default_rng(0).normal(0, 0.5, (len(data.items), d)).astype(dtype)
    by_user, by_item = data.by_user.values.astype(dtype), data.by_item.values.astype(dtype)

    def work() -> None:
        U = solve_side(data.by_user, by_user, V, 0.05, weighted=True, threads=threads)
        solve_side(data.by_item, by_item, U, 0.05, weighted=True, threads=threads)

    return work


def sgd(data: Ratings, threads: int, dtype: Any, d: int) -> Callable[[], None]:
    """A step for every rating, one after another."""
    rng = np.random.default_rng(0)
    U = rng.normal(0, 0.2, (len(data.users), d)).astype(dtype)
    V = rng.normal(0, 0.2, (len(data.items), d)).astype(dtype)
    blocks = Blocks.of(data, 2.0, np.dtype(dtype), rng, threads)
    sizes = (dtype(0.01), dtype(0.9996), dtype(0.9996))
    return lambda: blocks.walk(range(blocks.bands), U, V, threads, *sizes)


def epoch(data: Ratings, threads: int) -> float:
    """One pass of the paper's mini-batch steps."""
    steps = GradientSteps(data, 50.0, np.random.default_rng(0), np.float32, threads)
    U, V = steps.start(20, "signed")
    passes = 5
    return least(lambda: steps.train(U, V, 0.01, 0.01, passes, lambda *_: None), 5) / passes


def peaks() -> float:
    """What a large product and a large copy reach; the product's operations per second."""
    A = np.random.default_rng(0).random((3000, 3000), dtype=np.float32)
    product = 2 * len(A) ** 3 / least(lambda: A @ A, 5)
    source = np.ones(1 << 27, dtype=np.uint8)
    target = np.empty_like(source)
    copy = 2 * len(source) / least(lambda: np.copyto(target, source), 5)
    print(f"the machine: matrix product {product / 1e9:.0f} GFLOP/s, copy {copy / 1e9:.0f} GB/s\n")
    return product


def compare(name: str, data: Ratings, sizes: tuple[int, ...], repeats: int, peak: float) -> Rows:
    rows = len(data.users) + len(data.items)
    print(f"{name}: {len(data):,} ratings; milliseconds (share of the matrix product's speed)")
    found = []
    for d in sizes:
        cells: dict[str, list[str]] = {}
        for threads in (1, 2):
            pair = 2 * len(data) * 4 * d
            squares = 2 * len(data) * d * (d + 1) + rows * d**3 / 3
            line = f"  d={d:<3} {threads} thread(s):"
            for what, work, flops in (
                ("gradient of both sides", gradient, pair),
                ("SGD, a pass", sgd, pair),
                ("ALS, a sweep", als, squares),
            ):
                time = least(work(data, threads, np.float32, d), repeats, 1.0)
                line += f"   {what} {1e3 * time:8.1f} ({flops / time / peak:4.0%})"
                shown = f"{1e3 * time:,.1f} ({flops / time / peak:.0%})"
                cells.setdefault(what, []).append(shown)
            print(line, flush=True)
        found.append([f"{name}, d = {d}", *(cell for both in cells.values() for cell in both)])
    return found


def main() -> None:
    peak = peaks()
    name, data = million()
    rows = compare(name, data, (8, 20, 64, 128), 15, peak)
    for threads in (1, 2):
        print(f"  one pass of the paper's steps, d=20, {threads} thread(s): "
              f"{1e3 * epoch(data, threads):.1f}")  # fmt: skip
    order, few = data.by_user, min(len(data), 100_000)
    V = np.random.default_rng(0).normal(size=(len(data.items), 20))
    U = np.zeros((len(data.users), 20))
    r = order.values.astype(np.float64)
    arguments = (order.rows, order.cols, r, U, V, 1e-4, U.copy(), np.zeros(len(U)))
    fast = least(lambda: gradients.add_gradient(0, few, *arguments))
    slow = least(lambda: reference.add_gradient(0, few, *arguments), 2)
    print(f"  gradient of {few:,} records: {1e3 * fast:.2f}, NumPy twin {1e3 * slow:.1f}")
    spec = PrivacySpec.groups()
    print(f"  levels by hash: {1e3 * least(lambda: spec.levels(data), 3):.0f}")
    fit = least(lambda: PDPPMF().fit(data, spec, seed=0), 1)
    print(f"  a whole PDP-PMF fit: {1e3 * fit:.0f}\n")
    rows += compare("20 million made-up", synthetic(20_000_000), (20, 64), 3, peak)
    works = ("gradient of U and V", "a pass of SGD", "a sweep of ALS")
    columns = [column for work in works for column in (f"{work}, one thread", "two")]
    keep("kernels", ["", *columns], rows)


if __name__ == "__main__":
    main()
