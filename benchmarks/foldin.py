"""Fold-in and prediction beside a sweep of PMF: nanoseconds of processor time a rating.

    python benchmarks/foldin.py

Everybody is folded in from their own ratings, and as many pairs are predicted, from releases of
Tally and Chorus; one thread, taking turns, the least of several repeats. A sweep solves for people
and for items. It is measured with 20 factors in 32 bits, and with as many factors, in as many bits,
as fold-in has columns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import discreet as dc
from common import synthetic
from discreet.data.ratings import Ratings
from discreet.readers import datasets
from discreet.release.scoring import Own, fold_in, score_pairs
from discreet.schemes.pmf.als import solve_side
from report import keep

ALONE = dc.Compute(threads=1)
REPEATS = 5
SCHEMES = {"Tally": dc.Tally, "Chorus": dc.Chorus}


def people() -> tuple[str, Ratings, dc.Items | None]:
    """Netflix' 7,128 people where they are here, else as many made-up ratings."""
    if datasets.find("netflix-7128") is not None:
        return (
            "netflix-7128",
            datasets.load_ratings("netflix-7128"),
            datasets.load_items("netflix-7128"),
        )
    return "2 million made-up ratings", synthetic(2_000_000), None


def folding(data: Ratings, release: Any) -> Callable[[], Any]:
    order = data.with_items(release.item_ids).by_user
    own, scores = Own(order.ptr, order.cols, order.values), release.item_scores
    who = np.repeat(np.arange(len(order.ptr) - 1), np.diff(order.ptr))

    def run() -> None:
        found = fold_in(scores, own, release.fold_in, threads=1)
        score_pairs(scores, found, who, order.cols, threads=1)

    return run


def sweep(data: Ratings, factors: int, kind: Any) -> Callable[[], Any]:
    V = np.random.default_rng(0).normal(0, 0.5, (len(data.items), factors)).astype(kind)
    by_user, by_item = (side.values.astype(kind) for side in (data.by_user, data.by_item))

    def run() -> None:
        U = solve_side(data.by_user, by_user, V, 0.05, weighted=True, threads=1)
        solve_side(data.by_item, by_item, U, 0.05, weighted=True, threads=1)

    return run


def nanoseconds(works: dict[str, Callable[[], Any]], ratings: int) -> dict[str, float]:
    """The least of each, a rating."""
    found = dict.fromkeys(works, float("inf"))
    for turn in range(REPEATS + 1):
        for name, work in works.items():
            began = time.process_time()
            work()
            if turn:  # the first compiles
                found[name] = min(found[name], (time.process_time() - began) / ratings * 1e9)
    return found


def main() -> None:
    name, data, items = people()
    works = {"20": sweep(data, 20, np.float32)}
    columns = {}
    for label, scheme in SCHEMES.items():
        made = scheme(items=items).fit(data, dc.PrivacySpec.groups(), seed=0).release
        columns[label] = made.item_scores.factors.shape[1]
        works[label] = folding(data, made)
        works[f"{label}, sweep"] = sweep(data, columns[label], np.float64)
    took = nanoseconds(works, len(data))
    rows = []
    for label in SCHEMES:
        same = took[f"{label}, sweep"]
        rows.append(
            [
                f"{label}, {columns[label]} columns",
                f"{took[label]:.0f} ns",
                f"{took['20']:.0f} ns ({took[label] / took['20']:.1f}x)",
                f"{same:.0f} ns ({took[label] / same:.1f}x)",
            ]
        )
    keep(
        "fold-in", ["", "fold-in and prediction", "a sweep of 20 factors, 32 bits",
                    "a sweep of as many factors, 64 bits"], rows, f"On {name}.",
    )  # fmt: skip


if __name__ == "__main__":
    main()
