"""How accuracy grows with the number of ratings: Tally, Chorus, and its iteration without noise.

`python benchmarks/curve.py` needs netflix-10m and takes some minutes. People are drawn until their
ratings reach the size; one rating in ten is held out. "Without noise" is a level of 50 for
everybody, at which the noise is too small to matter.
"""

from __future__ import annotations

import numpy as np

from discreet.data.ratings import Ratings
from discreet.evaluate.crossval import cross_validate
from discreet.evaluate.splits import hold_out
from discreet.privacy.spec import PrivacySpec
from discreet.readers import datasets
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.tally import Tally


def some_people(data: Ratings, size: int) -> Ratings:
    order = np.random.default_rng(0).permutation(len(data.users))
    reached = np.cumsum(np.bincount(data.user, minlength=len(data.users))[order])
    chosen = np.zeros(len(data.users), dtype=bool)
    chosen[order[: np.searchsorted(reached, size) + 1]] = True
    return data.subset(chosen[data.user])


def main() -> None:
    everything = datasets.load_ratings("netflix-10m")
    items = datasets.load_items("netflix-10m")
    groups = PrivacySpec.groups(seed=7)
    cases = {
        "Tally": (Tally(items=items, families=()), groups),
        "Chorus": (Chorus(delta=1e-8, items=items, families=()), groups),
        "without noise": (Chorus(delta=1e-8, items=items, families=()), PrivacySpec.uniform(50.0)),
    }
    print(f"{'ratings':>12}" + "".join(f"{name:>16}" for name in cases), flush=True)
    for size in (1_000_000, 2_000_000, 5_000_000, len(everything)):
        data = some_people(everything, size)
        splits = [hold_out(data, 0.1, seed=seed) for seed in range(3)]
        errors = [
            cross_validate(scheme, data, spec, folds=splits, clip=True, workers=1)["rmse"].mean()
            for scheme, spec in cases.values()
        ]
        print(f"{len(data):>12,}" + "".join(f"{e:>16.4f}" for e in errors), flush=True)


if __name__ == "__main__":
    main()
