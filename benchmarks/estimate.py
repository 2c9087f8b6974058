"""How long it takes to conclude something from a release, and from one's own ratings.

    python benchmarks/estimate.py

Item effects of 17,770 items from noisy tallies, and everybody folded in and predicted, once with
the released columns as they are and once bent. On Netflix' 7,128 people where they are here, else
on a made-up table of that shape. Milliseconds, the least of several repeats.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import discreet as dc
from common import least, synthetic
from discreet.data.features import encode
from discreet.readers import datasets
from discreet.release.release import Release
from discreet.release.scoring import ItemScores, Own, fold_in, score_pairs
from discreet.schemes.effects import estimate
from discreet.schemes.model import FactorModel

TABLE = "netflix-7128"
THREADS = (1, 2)


def table() -> tuple[str, dc.Ratings, dc.Items | None]:
    """Ratings of a catalogue of 17,770 items."""
    if datasets.find(TABLE) is None:
        return "synthetic", synthetic(700_000), None
    return TABLE, datasets.load_ratings(TABLE), datasets.load_items(TABLE)


def show_estimates(ratings: dc.Ratings, items: dc.Items | None) -> None:
    for epsilon in (0.1, 0.3, 1.0, 4.0):
        release = (
            dc.Tally(items=items).fit(ratings, dc.PrivacySpec.uniform(epsilon), seed=0).release
        )
        tallies, features = release.tallies, encode(items, len(release.items))
        assert tallies is not None
        took = [
            least(partial(estimate, tallies, release.scale, features, 1.0, n), 20, lasting=2.0)
            for n in THREADS
        ]
        print(
            f"  effects of {len(tallies):,} items at {epsilon:g}: "
            + ", ".join(
                f"{1e3 * t:.1f} ({n} thread(s))" for t, n in zip(took, THREADS, strict=True)
            )
        )


def predict_all(release: Release, scores: ItemScores, model: FactorModel, threads: int) -> None:
    """Fold everybody in, and predict all that they rated."""
    order = model.ratings.by_user
    own = Own(order.ptr, order.cols, order.values)
    people = fold_in(scores, own, release.fold_in, threads)
    score_pairs(scores, people, order.rows, order.cols, threads)


def show_fold_in(ratings: dc.Ratings, items: dc.Items | None) -> None:
    model = dc.Chorus(items=items, delta=1e-7).fit(ratings, dc.PrivacySpec.uniform(1.0), seed=0)
    release, bent = model.release, model.release.item_scores
    plain = bent._replace(
        factors=release.item_factors, prior=np.zeros(release.item_factors.shape[1]), level=None
    )
    for n in THREADS:
        times = [
            least(lambda s=s, n=n: predict_all(release, s, model, n), 5) for s in (plain, bent)
        ]
        print(
            f"  fold-in and prediction, {n} thread(s): {1e3 * times[0]:.0f} as released "
            f"({plain.factors.shape[1]} columns), {1e3 * times[1]:.0f} bent "
            f"({bent.factors.shape[1]}): {times[1] / times[0]:.1f} times"
        )


def main() -> None:
    name, ratings, items = table()
    print(f"{name}: {len(ratings):,} ratings")
    show_estimates(ratings, items)
    show_fold_in(ratings, items)


if __name__ == "__main__":
    main()
