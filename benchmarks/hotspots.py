"""Where the time goes, on one thread: PMF by ALS, Chorus, and lists for everybody.

    python benchmarks/hotspots.py

Every compiled kernel is one call for the profiler, so the shares are those of kernels.
"""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from typing import Any

import discreet as dc
from common import million

ALONE = dc.Compute(threads=1)


def profile(title: str, work: Callable[[], Any]) -> None:
    work()
    profiler = cProfile.Profile()
    profiler.enable()
    work()
    profiler.disable()
    stats = pstats.Stats(profiler)
    total = stats.total_tt
    print(f"\n{title}: {1e3 * total:.0f} ms on one thread")
    entries = sorted(stats.stats.items(), key=lambda entry: -entry[1][2])
    for (path, _, name), (calls, _, own, *_) in entries:
        if own < 0.02 * total:
            break
        where = path.rsplit("discreet/", 1)[-1] if "discreet/" in path else ""
        print(f"  {own / total:4.0%}  {name} {where}, {calls} calls")


def main() -> None:
    name, data = million()
    print(f"{name}: {len(data):,} ratings")
    profile("PMF, 10 sweeps, d = 20", lambda: dc.PMF().fit(data, seed=0, compute=ALONE))
    profile("PMF, 10 sweeps, d = 64", lambda: dc.PMF(factors=64).fit(data, seed=0, compute=ALONE))
    spec = dc.PrivacySpec.groups()
    profile("Chorus, seeded", lambda: dc.Chorus().fit(data, spec, seed=0, compute=ALONE))
    profile("Chorus, exact noise", lambda: dc.Chorus().fit(data, spec, compute=ALONE))
    model = dc.PMF().fit(data, seed=0, compute=ALONE)
    profile("top 10 for everybody", lambda: model.recommend(n=10))


if __name__ == "__main__":
    main()
