"""What exact noise costs: a number beside OpenDP's, and a whole release beside a seeded one.

    python benchmarks/noise.py [rating|person]

Nanoseconds of processor time a number, on one thread, taking turns; how much of it is the operating
system's generator alone; and Chorus on netflix-10m (or as many made-up ratings), unseeded over
seeded, on all threads. The least of several repeats is shown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from common import synthetic
from discreet.data.ratings import Ratings
from discreet.privacy.noise import Randomness, _system_words
from discreet.privacy.spec import PrivacySpec
from discreet.privacy.strips import Law, strips_of
from discreet.readers import datasets
from discreet.schemes.chorus.scheme import Chorus
from report import keep

SCALES = {"laplace": 2.0**20 / 0.3, "gaussian": 1.7 * 2**31}
"""Of Tally at epsilon = 0.3, and of a round of Chorus."""
MOST = 120
"""Nanoseconds a number: what was promised."""


def least_of_processor(
    works: Mapping[str, tuple[Callable[[], Any], int]], repeats: int
) -> dict[str, float]:
    """The least processor time a number of each, in ns, taking turns."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for work, _ in works.values():
        work()
    for _ in range(repeats):
        for name, (work, count) in works.items():
            began = time.process_time()
            work()
            found[name].append((time.process_time() - began) / count * 1e9)
    return {name: min(times) for name, times in found.items()}


def numbers() -> dict[str, float]:
    """One number of every kind."""
    many, few = np.zeros(2_000_000, np.int64), np.zeros(20_000, np.int64)
    exact, opendp = Randomness(None), Randomness(None, sampler="opendp")
    laplace, gaussian = SCALES["laplace"], SCALES["gaussian"]
    works: dict[str, tuple[Callable[[], Any], int]] = {
        "discrete Laplace": (lambda: exact.add_laplace(many, laplace, threads=1), many.size),
        "rounded Gaussian": (lambda: exact.add_gaussian(many, gaussian, threads=1), many.size),
        "two words of the operating system": (lambda: _words(2 * many.size), many.size),
        "discrete Laplace, OpenDP": (lambda: opendp.add_laplace(few, laplace, threads=1), few.size),
        "discrete Gaussian, OpenDP": (lambda: _opendp_gaussian(few, gaussian), few.size),
    }
    return least_of_processor(works, 7)


def _words(count: int) -> None:
    for _ in range(0, count, 1 << 15):
        _system_words(1 << 15)


def _opendp_gaussian(sums: Any, scale: float) -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    dp.m.make_gaussian(*space, scale=scale)(sums.tolist())


def tables() -> None:
    """What a new scale costs, once."""
    for law in (Law.LAPLACE, Law.ROUNDED):
        began = time.process_time()
        for scale in np.linspace(1e6, 2e6, 20):
            strips_of(law, float(scale))
        print(f"  table of a scale, {law.value}: {(time.process_time() - began) / 20 * 1e3:.1f} ms")


def releases(unit: str, repeats: int = 5) -> list[str]:
    """Chorus as people make it, and with a seed: a row of the table."""
    name, data = _ten_million()
    spec = PrivacySpec.uniform(1.0 if unit == "rating" else 8.0)
    scheme = Chorus(delta=1e-8, unit=unit)
    seconds: dict[str, list[float]] = {"seeded": [], "unseeded": []}
    processor: dict[str, list[float]] = {"seeded": [], "unseeded": []}
    for _ in range(repeats + 1):
        for how, seed in (("seeded", 1), ("unseeded", None)):
            began, used = time.perf_counter(), time.process_time()
            scheme.fit(data, spec, seed=seed)
            seconds[how].append(time.perf_counter() - began)
            processor[how].append(time.process_time() - used)
    print(f"Chorus on {name}, unit {unit}, the least of {repeats} after a first:")
    row = [f"Chorus on {name}, unit {unit}"]
    for what, times in (("seconds", seconds), ("of processors", processor)):
        one, other = (min(times[how][1:]) for how in ("seeded", "unseeded"))
        print(f"  {what}: {one:.2f} seeded, {other:.2f} unseeded: {other / one:.2f} times")
        row += [f"{one:.2f} s", f"{other:.2f} s ({other / one:.2f}x)"]
    return row


def _ten_million() -> tuple[str, Ratings]:
    if datasets.find("netflix-10m") is not None:
        return "netflix-10m", datasets.load_ratings("netflix-10m")
    return "10 million made-up ratings", synthetic(10_000_000)


def main() -> None:
    found = numbers()
    print("Nanoseconds of processor time a number, one thread:")
    for name, ns in found.items():
        print(f"  {name}: {ns:,.0f}")
    rows = []
    for label, ours, theirs in (
        ("discrete Laplace (Tally)", "discrete Laplace", "discrete Laplace, OpenDP"),
        (
            "Gaussian (Chorus): rounded here, discrete there",
            "rounded Gaussian",
            "discrete Gaussian, OpenDP",
        ),
    ):
        kept = "kept" if found[ours] <= MOST else "broken"
        ratio = f"{found[theirs] / found[ours]:.0f}"
        print(f"  {ours}: {ratio} times as fast; {MOST} ns: {kept}")
        rows.append([label, f"{found[ours]:.0f}", f"{found[theirs]:,.0f}", ratio])
    keep("noise", ["", "ours", "OpenDP", "ratio"], rows)
    tables()
    columns = ["", "seeded", "drawn for real", "processors, seeded", "drawn for real"]
    for unit in sys.argv[1:] or ["rating", "person"]:
        keep("noise-releases", columns, [releases(unit)], add=True)


if __name__ == "__main__":
    main()
