"""200,000 trainings of a tiny model (4 people, 3 items, d = 2, k1 = k2 = 50), all cores.

Run by `make bench`; the aim is less than 30 seconds on two cores.
"""

from __future__ import annotations

import time

from discreet.audit.neighbours import four_people
from discreet.audit.paper import PaperRuns
from discreet.kernels.threads import thread_count


def main() -> None:
    for variant in ("printed", "stated", "repaired"):
        runs = PaperRuns(variant, four_people(), 1.0)
        runs(True, 100, 0)  # compiled, or loaded from the cache
        began = time.perf_counter()
        runs(True, 200_000, 1)
        took = time.perf_counter() - began
        print(f"{variant}: 200,000 trainings in {took:.1f} s on {thread_count(None)} cores")


if __name__ == "__main__":
    main()
