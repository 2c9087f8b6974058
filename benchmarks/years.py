"""Twelve publications with one ledger: errors on held-out ratings after each, and of one release.

    python benchmarks/years.py ml-1m netflix-10m                  # all ratings there from the start
    python benchmarks/years.py ml-1m netflix-10m --arriving       # in twelve equal parts, by time

(at random, where a table has no times, as the two of Netflix.)

To compare with another version, put its src folder first on PYTHONPATH. Spends are added up in
memory, as every ledger adds them up, so that errors are measured and no disk. A tenth is held out,
by splits on which nothing was chosen; predictions are clipped to the scale.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import discreet as dc
from discreet.kernels.compute import Compute
from discreet.privacy.history import History
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.schemes.base import LedgerState, Run
from report import keep

DELTAS = {"ml-1m": 1e-7, "netflix-7128": 1e-7, "netflix-10m": 1e-8}
LEVELS = {
    "epsilon 1": dc.PrivacySpec.uniform(1.0),
    "paper's levels": dc.PrivacySpec.groups(seed=7),
}


def added(spends: Any, batch: Any, levels: Any) -> Any:
    """What is spent after a publication, in this version or one that knew a single purse."""
    if hasattr(batch, "costs"):
        return spends.after(batch.costs)
    counted = (batch.epsilons > 0) | (batch.deltas > 0)
    level = np.where(counted, np.maximum(levels, spends.level), spends.level)
    return Spends(level, spends.epsilon + batch.epsilons, spends.delta + batch.deltas)


def publish(
    scheme: dc.Chorus, train: dc.Ratings, spec: dc.PrivacySpec, parts: np.ndarray, seed: int
) -> Iterator[Any]:
    """The model of every publication; a rating is there from its part on."""
    compute, before, share = Compute(threads=1), None, {}
    spends = Spends(*np.zeros((len(Spends._fields), len(train))))
    for number in range(scheme.publications):
        there = parts <= number
        spec, data = scheme.prepare(train.subset(there), spec)
        known = Spends(*(column[there] for column in spends))
        history = History(release=number + 1, generation="benchmark")
        state = LedgerState(known, before, history, number, **share)
        run = Run(Randomness(seed, run=number), compute)
        batch = scheme.publish_batch(data, spec, state, run)
        found = added(known, batch, spec.levels(data))
        for column, values in zip(spends, found, strict=True):
            column[there] = values
        if getattr(batch, "share", None) is not None:
            share = {"share": batch.share}
        before = batch.model.release
        yield batch.model


def rmse(model: Any, test: dc.Ratings) -> float:
    """Of clipped predictions; somebody who has not rated yet gets what everybody does."""
    errors = model.predict_ratings(test, clip=True) - test.rating
    return float(np.sqrt((errors**2).mean()))


def show(row: str, found: list[float], one: float | None) -> None:
    """In the file of results: the first, a middle and the last publication, and a single one."""
    some = [f"{found[k]:.4f}" for k in (0, len(found) // 2 - 1, -1)]
    columns = [
        "error after",
        "the first",
        "half of them",
        "the last",
        "one release with everything",
    ]
    keep("years", columns, [[row, *some, "" if one is None else f"{one:.4f}"]], add=True)


def measure(name: str, given: argparse.Namespace, seed: int) -> None:
    """One table and one split, at every level."""
    ratings, items = dc.load_ratings(name), dc.load_items(name)
    train, test = dc.hold_out(ratings, 0.1, seed=seed)
    del ratings
    parts, n = np.zeros(len(train), np.int64), given.publications
    if given.arriving:
        order = np.random.default_rng(seed).permutation(len(train))
        if train.timestamp is not None:
            order = np.argsort(train.timestamp, kind="stable")
        parts[order] = np.arange(len(train)) * n // len(train)
    how = {"items": items, "delta": DELTAS[name], "purpose": given.purpose}
    for label, spec in LEVELS.items():
        if given.only not in (None, label):
            continue
        began = time.perf_counter()
        scheme = dc.Chorus(**how, publications=n)
        found = [rmse(model, test) for model in publish(scheme, train, spec, parts, seed)]
        took = time.perf_counter() - began
        told = " ".join(f"{error:.4f}" for error in found)
        when = "from the start"
        if given.arriving:
            when = "arriving at random" if train.timestamp is None else "arriving by time"
        row = f"{name}, {label}, {given.purpose}, split {seed}, {n} publications {when}"
        print(f"{row}: {told}")
        if given.arriving or given.without_one:
            print(f"    {took:.0f} s", flush=True)
            show(row, found, None)
            continue
        whole = dc.Chorus(**how).fit(train, spec, seed=seed, compute=Compute(threads=1))
        one = rmse(whole, test)
        print(f"    one release with everything: {one:.4f} ({took:.0f} s)", flush=True)
        show(row, found, one)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("names", nargs="+", choices=tuple(DELTAS))
    words.add_argument("--arriving", action="store_true", help="in equal parts, by time")
    words.add_argument("--publications", type=int, default=12)
    words.add_argument("--purpose", default="both")
    words.add_argument("--splits", default="21", help="seeds, as 21,22")
    words.add_argument("--only", choices=tuple(LEVELS))
    words.add_argument("--without-one", action="store_true", help="leave the single release out")
    given = words.parse_args()
    for name in given.names:
        for seed in map(int, given.splits.split(",")):
            measure(name, given, seed)


if __name__ == "__main__":
    main()
