"""Predictions for very many people: 10 million pairs of 480,000 people, from a release of Tally.

    python benchmarks/predicting.py                # 96 million made-up ratings, 9 GiB of memory
    python benchmarks/predicting.py 10_000_000     # of fewer ratings, by people with 200 each

Everybody is folded in from their own ratings once, then pairs are predicted at random: seconds and
the peak of memory, all cores.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import discreet as dc
from common import forget_peak, resident, synthetic
from discreet.release.scoring import Own, fold_in, score_pairs
from report import keep

PAIRS = 10_000_000


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 96_000_000
    data = synthetic(count)
    release = dc.Tally().fit(data, dc.PrivacySpec.column(), seed=0).release
    order, scores = data.with_items(release.item_ids).by_user, release.item_scores
    own = Own(order.ptr, order.cols, order.values)
    rng = np.random.default_rng(0)
    who = rng.integers(0, len(data.users), PAIRS)
    what = rng.integers(0, len(data.items), PAIRS)
    few = Own(own.ptr[:3], own.items[: own.ptr[2]], own.ratings[: own.ptr[2]])
    score_pairs(scores, fold_in(scores, few, release.fold_in), who[:2] % 2, what[:2])  # compiled
    forget_peak()
    began = time.perf_counter()
    people = fold_in(scores, own, release.fold_in)
    folded = time.perf_counter()
    score_pairs(scores, people, who, what)
    done = time.perf_counter()
    keep(
        "predicting",
        ["", "fold-in", "predictions", "memory at most"],
        [
            [
                f"{PAIRS // 10**6} million pairs of {len(data.users):,} people, "
                f"{count // 10**6} million ratings",
                f"{folded - began:.1f} s",
                f"{done - folded:.1f} s",
                f"{resident(peak=True):.1f} GiB",
            ]
        ],
        add=True,
    )


if __name__ == "__main__":
    main()
