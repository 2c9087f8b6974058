"""Against the limit: bytes that must move and arithmetic that must be done, beside what is taken.

    python benchmarks/limits.py

Tally, a round of Chorus, a sweep of PMF and lists for everybody, 10 million made-up ratings on one
core; seconds of processor time, the least of several repeats in turns. The limit of a piece of work
is the longer of two times: its bytes by what a pass over memory reads in the same run, and its
arithmetic by what a large matrix product does in the same run, in 32 or 64 bits. Bytes are counted
once, as if caches held everything but what is as long as the table. Everything is measured a second
time as a processor with AVX2 and no AVX-512 would have it compiled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import discreet as dc
from common import synthetic
from discreet.data.ratings import Ratings
from discreet.kernels.compute import Rows
from discreet.kernels.simd.width import BYTES
from discreet.schemes.chorus.rounds import Contributions, sums_of
from discreet.schemes.pmf.als import solve_side
from report import keep

COUNT, LISTS_FOR = 10_000_000, 2_000
ALONE = dc.Compute(threads=1)
FACTORS, VOICES = 20, 8
REPEATS = 4
AVX2 = {
    "DISCREET_VECTOR_BYTES": "32",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+sse4.2,+avx,+avx2,+fma,+bmi,+bmi2,+popcnt,+lzcnt,+f16c,+movbe",
}


class Work(NamedTuple):
    """What is done, and what cannot be avoided in doing it."""

    run: Callable[[], Any]
    gigabytes: float
    gigaflops: float
    bits: int
    why: str
    """Where the time beyond the limit goes."""


def tally(data: Ratings) -> Work:
    spec = dc.PrivacySpec.column()
    # Item, rating and level of every record, once; a weight and two products.
    return Work(
        lambda: dc.Tally().fit(data, spec, compute=ALONE),
        16e-9 * len(data),
        5e-9 * len(data),
        64,
        "most of it makes weights of the levels, in several passes over numbers of 64 bits; votes "
        "go to places that depend on the item; then 17,770 items are concluded upon, whatever the "
        "ratings",
    )


def chorus_round(data: Ratings) -> Work:
    rng = np.random.default_rng(0)
    by_user = rng.integers(-(2**15), 2**15, len(data)).astype(np.int32)
    people, items = data.by_user, data.by_item
    some = Contributions(
        Rows(people.ptr, people.cols, by_user),
        Rows(items.ptr, items.cols, data.in_item_order(by_user)),
    )
    z = rng.normal(0, 2.0**10, (len(data.items), VOICES)).astype(np.int32)
    # Two tables of a column and a value; people's vectors are written, then read.
    vectors = 2 * 8 * VOICES * len(data.users)
    return Work(
        lambda: sums_of(z, ALONE, some),
        1e-9 * (16 * len(data) + vectors),
        1e-9 * 2 * 2 * VOICES * len(data),
        64,
        "products are cut off to integers before they are added up; every record reads a vector of "
        "64 bytes, of a megabyte of items and three of people: a third longer than if all lay in "
        "the first cache",
    )


def pmf_sweep(data: Ratings) -> Work:
    d = FACTORS
    V = np.random.default_rng(0).normal(0, 0.5, (len(data.items), d)).astype(np.float32)
    by_user, by_item = data.by_user.values, data.by_item.values

    def run() -> None:
        U = solve_side(data.by_user, by_user, V, 0.05, weighted=True, threads=1)
        solve_side(data.by_item, by_item, U, 0.05, weighted=True, threads=1)

    solved = len(data.users) + len(data.items)
    return Work(
        run,
        1e-9 * (16 * len(data) + 2 * 4 * d * solved),
        1e-9 * (2 * (d * (d + 1) + 2 * d) * len(data) + solved * d**3 / 3),
        32,
        "a product of two rows has 230 different numbers, which do not fill whole vectors; every "
        "record reads a row of 80 bytes, an eighth longer than if all lay in the first cache",
    )


def lists(data: Ratings) -> Work:
    people = data.users.values[:LISTS_FOR]
    model = dc.Tally().fit(data, dc.PrivacySpec.column(), seed=0, compute=ALONE)
    release = model.release
    order = data.with_items(release.item_ids).by_user.take(np.arange(len(people)))
    from discreet.release.ranking import BEST
    from discreet.release.recommending import recommend
    from discreet.release.scoring import Own

    own = Own(order.ptr, order.cols, order.values)
    columns = release.liked_choices.rows.shape[1]
    pairs = len(people) * len(data.items)
    # Two products of a person's vectors with every item's row, and one look at every score.
    return Work(
        lambda: recommend(release, own, 10, BEST, 1),
        1e-9 * (4 * columns * len(data.items) + 8 * len(order.cols)),
        1e-9 * (2 * 2 * columns + 1) * pairs,
        32,
        "a score is a logarithm more than two products, and is looked at again to find the best; "
        "everybody's own ratings are folded in, and 60 candidates judged by liking",
    )


WORKS = {
    "Tally, drawn for real": tally,
    f"Chorus, a round of {VOICES} factors": chorus_round,
    f"PMF, a sweep of {FACTORS} factors": pmf_sweep,
    f"lists of 10 for {LISTS_FOR:,} people": lists,
}


def measure() -> dict[str, Any]:
    """Processor seconds of every piece of work, and what the machine does beside them."""
    data = synthetic(COUNT)
    data.by_item  # noqa: B018
    works = {name: build(data) for name, build in WORKS.items()}
    long, A = np.ones(1 << 26, dtype=np.float32), np.ones((1500, 1500))
    B = A.astype(np.float32)
    machine = {"read": lambda: long.sum(), "64": lambda: A @ A, "32": lambda: B @ B}
    every = machine | {name: work.run for name, work in works.items()}
    times: dict[str, float] = {}
    for run in every.values():
        run()
    for _ in range(REPEATS):
        for name, run in every.items():
            began = time.process_time()
            run()
            took = time.process_time() - began
            times[name] = min(took, times.get(name, took))
    return {
        "gigabytes": 1e-9 * long.nbytes / times["read"],
        "gigaflops": {bits: 2e-9 * len(A) ** 3 / times[bits] for bits in ("64", "32")},
        "works": {
            name: {
                "seconds": times[name],
                "gigabytes": work.gigabytes,
                "gigaflops": work.gigaflops,
                "bits": work.bits,
                "why": work.why,
            }
            for name, work in works.items()
        },
    }


def child(environment: dict[str, str]) -> dict[str, Any]:
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, __file__, "measure"],
        check=True, stdout=subprocess.PIPE, text=True, env=os.environ | one | environment,
    )  # fmt: skip
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    here, narrow = child({}), child(AVX2)
    rows = []
    for name, work in here["works"].items():
        speed = here["gigaflops"][str(work["bits"])]
        moving, counting = work["gigabytes"] / here["gigabytes"], work["gigaflops"] / speed
        limit, took = max(moving, counting), work["seconds"]
        rows.append(
            [
                name,
                f"{work['gigabytes']:.2f} GB",
                f"{work['gigaflops']:.2f}",
                f"{1e3 * limit:,.0f} ms, by {'bytes' if moving > counting else 'arithmetic'}",
                f"{1e3 * took:,.0f} ms",
                f"{took / limit:.1f}",
                f"{narrow['works'][name]['seconds'] / took:.2f}",
                work["why"] if took > 2 * limit else "",
            ]
        )
    columns = [
        "work", "must move", "billion operations", "limit", "taken", "times the limit",
        "AVX2 takes, times that", "why more than twice",
    ]  # fmt: skip
    flops = here["gigaflops"]
    keep(
        "limits", columns, rows,
        f"One core reads {here['gigabytes']:.1f} GB/s and does {flops['32']:.0f} billion "
        f"operations a second in 32 bits, {flops['64']:.0f} in 64, vectors of {8 * BYTES} bits.",
    )  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        print(json.dumps(measure()))
    else:
        main()
