"""What the vector instructions in kernels/simd are worth, beside the next best way.

    python benchmarks/simd.py
    DISCREET_VECTOR_BYTES=32 NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES= python benchmarks/simd.py

As for this processor, then as for one with AVX2. On MovieLens 1M where it is here, else on a table
of its size, one thread. The two ways take turns; the least of many repeats is shown, and how many
times as long the other way takes. kernels/simd/README.md says what stays by which ratios.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from numba import njit

import discreet as dc
from common import least_in_turns, million
from discreet.data.ratings import Ratings
from discreet.kernels import gradients, least_squares
from discreet.kernels.simd.batches import fits_batches
from discreet.kernels.simd.vectors import FAST
from discreet.kernels.simd.width import BYTES
from discreet.release.scoring import Own, fold_in
from discreet.schemes.pmf.als import solve_side

LASTING = 1.0
"""Seconds that each way is repeated for at least."""


def show(title: str, ours: str, other: str, works: tuple[Callable[[], Any], ...]) -> None:
    first, second = least_in_turns(
        dict(zip((ours, other), works, strict=True)), 5, LASTING
    ).values()
    print(
        f"  {title:28} {ours} {1e3 * first:6.2f} ms, {other} {1e3 * second:6.2f} ms: "
        f"{second / first:.2f}x",
        flush=True,
    )


def against_tiles(title: str, d: int, itemsize: int, work: Callable[[], Any]) -> None:
    """Batches, where they are used at all, beside what is used for longer rows."""
    if not fits_batches(d, itemsize):
        print(f"  {title:28} is done in tiles: too long for batches at this width")
        return

    def in_tiles() -> None:
        with patch.object(least_squares, "fits_batches", lambda *_: False):
            work()

    show(title, "batches", "tiles", (work, in_tiles))


def sweep(data: Ratings, d: int) -> Callable[[], None]:
    """Both halves of a sweep of ALS."""
    V = np.random.default_rng(0).normal(0, 0.5, (len(data.items), d)).astype(np.float32)
    people, items = data.by_user, data.by_item

    def work() -> None:
        U = solve_side(people, people.values, V, 0.05, weighted=True)
        solve_side(items, items.values, U, 0.05, weighted=True)

    return work


def fold_ins(data: Ratings) -> None:
    """Everybody's own ratings folded into what a scheme has released."""
    own = Own(data.by_user.ptr, data.by_user.cols, data.by_user.values)
    schemes = {
        "Tally": dc.Tally(),
        "Chorus": dc.Chorus(delta=1e-7),
        "PMF, 8 factors": dc.PMF(factors=8),
        "PMF": dc.PMF(),
    }
    for name, scheme in schemes.items():
        release = scheme.fit(data, dc.PrivacySpec.groups(), seed=0).release
        d, itemsize = release.item_factors.shape[1], release.item_factors.itemsize
        against_tiles(
            f"fold-in, {name}, d={d}",
            d,
            itemsize,
            partial(fold_in, release.item_scores, own, release.fold_in, 1),
        )


def known_lengths(data: Ratings, d: int) -> None:
    """A loop over rows of a length that is known when it is compiled, beside any length's.

    SGD keeps its rows in registers by now, which a row of any length cannot be.
    """
    rng = np.random.default_rng(0)
    U = rng.normal(0, 0.2, (len(data.users), d)).astype(np.float32)
    V = rng.normal(0, 0.2, (len(data.items), d)).astype(np.float32)
    order, squared = data.by_user, np.empty(len(data.users))
    arguments = (0, len(U), order.ptr, order.cols, order.values, U, V, squared)
    known = gradients.squared_errors
    unknown = njit(fastmath=FAST)(known.__wrapped__)
    # The length of an array, unlike that of a tuple, is no part of its type.
    works = partial(known, *arguments), partial(unknown, *arguments, np.empty(d))
    show(f"squared_errors, d={d}", "known length", "any length", works)


def main() -> None:
    name, data = million()
    print(f"{name}: {len(data):,} ratings, vectors of {BYTES} bytes")
    for d in (8, 10, 20):
        against_tiles(f"sweep of ALS, d={d}", d, 4, sweep(data, d))
    fold_ins(data)
    for d in (8, 20):
        known_lengths(data, d)


if __name__ == "__main__":
    main()
