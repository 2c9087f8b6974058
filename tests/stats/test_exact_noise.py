"""Exact noise, looked at: distributions, moments, tails, low bits, neighbours; OpenDP as a twin.

Every test refuses the truth less than once in a million runs (a p-value below 1e-7, or 1e-8 where
it looks ten times), and says which defect it would miss as rarely. DISCREET_THOROUGH=1 draws 10^8
numbers where a million are drawn otherwise.
"""

import os
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet.privacy.attempts import add_exactly
from discreet.privacy.noise import Randomness, _system_words
from discreet.privacy.strips import Law, Strips, make_strips, strips_of

MILLIONS = 100 if os.environ.get("DISCREET_THOROUGH") else 1
REFUSED = 1e-7
LAWS = pytest.mark.parametrize("law", list(Law), ids=lambda law: law.name)
Draws = NDArray[np.int64]


def drawn(strips: Strips, count: int) -> Draws:
    out = np.zeros(count, np.int64)
    add_exactly(0, count, strips, _system_words, out)
    return out


def above(law: Law, scale: float, x: NDArray[Any]) -> NDArray[np.float64]:
    """P(X > x) for whole numbers x, from SciPy."""
    if law is Law.LAPLACE:
        return np.asarray(stats.dlaplace(1 / scale).sf(x))
    if law is Law.ROUNDED:
        return np.asarray(stats.norm.sf((x + 0.5) / scale))
    y = np.arange(-int(40 * scale) - 2, int(40 * scale) + 3)
    mass = np.exp(-((y / scale) ** 2) / 2)
    tail = np.cumsum(mass[::-1])[::-1] / mass.sum()
    return np.asarray(tail[np.asarray(x) - y[0] + 1])


def p_value(law: Law, scale: float, numbers: Draws, width: int = 1) -> float:
    """Chi-square of counts, in steps of so many integers; rare ones together."""
    near = int(7 * scale) // width + 1
    edges = np.arange(-near, near + 1) * width
    mass = -np.diff(above(law, scale, edges), prepend=1.0, append=0.0)
    seen = np.bincount(np.searchsorted(edges, numbers), minlength=len(mass))
    # Cells at both ends are joined, so that 50 or more are expected in each.
    enough = mass * len(numbers) >= 50
    first, last = np.flatnonzero(enough)[[0, -1]]
    parts = [(a[: first + 1].sum(), *a[first + 1 : last], a[last:].sum()) for a in (seen, mass)]
    expected = np.array(parts[1]) * len(numbers)
    return float(stats.chisquare(parts[0], expected * (len(numbers) / expected.sum())).pvalue)


@LAWS
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.3, 10.0, 30.0])
def test_every_integer_has_its_probability(law: Law, scale: float) -> None:
    """A million draws; a scale off by 2% would pass less than once in a million."""
    numbers = drawn(strips_of(law, scale), 10**6)
    assert p_value(law, scale, numbers) > REFUSED
    for wrong in (0.98, 1.02):
        assert p_value(law, wrong * scale, numbers) < REFUSED


def all_slow(strips: Strips) -> Strips:
    """Nothing is sure, and no chord decides: every number is answered in Python's integers."""
    columns = strips.columns.copy()
    columns[2], columns[5] = 0, 1 << 41
    columns.setflags(write=False)
    return replace(strips, columns=columns)


def odd(law: Law, scale: int, k: int) -> Strips:
    return make_strips(law, strips_of(law, scale).scale, k)


@pytest.mark.parametrize(
    ("strips", "width"),
    [
        *((all_slow(strips_of(law, 3.0)), 1) for law in Law),
        (all_slow(strips_of(Law.ROUNDED, 3000.0)), 700),
        (odd(Law.LAPLACE, 1000, 0), 250),  # a third of all numbers are from the tail
        (odd(Law.GAUSSIAN, 700, 0), 250),
        (odd(Law.ROUNDED, 3, -9), 1),
        (odd(Law.LAPLACE, 1000, 9), 250),  # three strips hold most, and few draws are sure
        (odd(Law.ROUNDED, 1000, 10), 250),
    ],
)
def test_the_slow_path_has_the_same_law(strips: Strips, width: int) -> None:
    """10,000 draws, always or often in Python; a scale off by 20% would pass once in a million."""
    law, scale = strips.law, float(strips.scale)
    numbers = drawn(strips, 10_000)
    assert p_value(law, scale, numbers, width) > REFUSED
    for wrong in (0.8, 1.25):
        assert p_value(law, wrong * scale, numbers, width) < REFUSED


class Summary(NamedTuple):
    """Counts and sums of many numbers, in deviations."""

    count: int
    mean: float
    square: float
    beyond: NDArray[np.int64]
    """1 to 5 deviations, on either side."""
    low: NDArray[np.int64]
    """Of the low eight bits."""
    pairs: NDArray[np.int64]
    """Of the low three bits of neighbours."""
    products: NDArray[np.float64]
    """Of numbers 1 to 5 apart."""


def summary(numbers: Draws, deviation: float) -> Summary:
    x = numbers / deviation
    reach = np.floor(np.arange(1, 6) * deviation)
    return Summary(
        len(x),
        x.sum(),
        (x**2).sum(),
        np.array([[(numbers > c).sum(), (numbers < -c).sum()] for c in reach]),
        np.bincount(numbers & 255, minlength=256),
        np.bincount((numbers[:-1] & 7) * 8 + (numbers[1:] & 7), minlength=64),
        np.array([(x[lag:] * x[:-lag]).sum() for lag in range(1, 6)]),
    )


def refusals(law: Law, scale: float, all_of: Summary) -> set[str]:
    """Which of the tests a summary fails: each refuses the truth less than once in 10^7 runs."""
    n, laplace = all_of.count, law is Law.LAPLACE
    deviation = np.sqrt(2) * scale if laplace else scale
    z = 5.4  # two-sided 7e-8; ten looks at tails have a hundredth of 1e-7 each
    reach = np.floor(np.arange(1, 6) * deviation)
    chance = above(law, scale, reach)
    failed = {
        "mean": abs(all_of.mean) > z * np.sqrt(n),
        "variance": abs(all_of.square - n) > z * np.sqrt((5 if laplace else 2) * n),
        "tails": any(
            stats.binomtest(int(side), n, p).pvalue < 1e-9
            for seen, p in zip(all_of.beyond, chance, strict=True)
            for side in seen
        ),
        "low bits": stats.chisquare(all_of.low).pvalue < REFUSED,
        "neighbours' bits": stats.chisquare(all_of.pairs).pvalue < REFUSED,
        "neighbours": bool((np.abs(all_of.products) > (z + 0.4) * np.sqrt(n)).any()),
    }
    return {name for name, it_did in failed.items() if it_did}


@pytest.mark.parametrize(
    ("law", "scale"),
    [(Law.LAPLACE, 2.0**20 / 0.7), (Law.ROUNDED, 1.3 * 2**30)],
    ids=lambda value: getattr(value, "name", None),
)
def test_moments_tails_low_bits_and_neighbours_are_as_they_should_be(
    law: Law, scale: float
) -> None:
    """Among a million: a scale off by 1.5%, or a mean by 0.012 deviations, would be noticed."""
    deviation = scale * (np.sqrt(2) if law is Law.LAPLACE else 1)
    strips = strips_of(law, scale)
    parts = [summary(drawn(strips, 10**6), deviation) for _ in range(MILLIONS)]
    together = Summary(*(sum(part[1:], part[0]) for part in zip(*parts, strict=True)))
    assert refusals(law, scale, together) == set()


def test_each_of_these_tests_refuses_what_it_is_for() -> None:
    scale, numbers = 1.3 * 2**30, drawn(strips_of(Law.ROUNDED, 1.3 * 2**30), 10**6)
    held = np.where(np.arange(len(numbers)) % 50 == 0, np.roll(numbers, 1), numbers)
    quiet = np.where(np.abs(numbers) > 3.9 * scale, 0, numbers)
    defects = {
        "mean": numbers + int(0.012 * scale),
        "variance": np.rint(1.015 * numbers).astype(np.int64),
        "tails": quiet,
        "low bits": numbers | (np.arange(len(numbers)) % 25 == 0),
        "neighbours' bits": held,
        "neighbours": held,
    }
    for name, wrong in defects.items():
        assert name in refusals(Law.ROUNDED, scale, summary(wrong, scale)), name


def by_opendp(mechanism: str, metric: str, scale: float, count: int) -> Draws:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), metric
    noisy = getattr(dp.m, mechanism)(*space, scale=scale)
    return np.array(noisy([0] * count))


def homogeneous(one: Draws, other: Draws) -> float:
    """Whether two samples may be of one law: a p-value by cells of about equal counts."""
    edges = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0, 1, 21)[1:-1]))
    cells = [np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1) for x in (one, other)]
    table = np.array(cells)
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue)


@pytest.mark.parametrize("scale", [0.8, 4.0, 1.5 * 2**20])
@pytest.mark.parametrize("law", [Law.LAPLACE, Law.GAUSSIAN], ids=lambda law: law.name)
def test_opendp_draws_the_same(law: Law, scale: float) -> None:
    """20,000 numbers of each; a scale off by 20% would pass less than once in a million."""
    import opendp.prelude as dp

    how = ("make_laplace", dp.l1_distance(T="i64"))
    if law is Law.GAUSSIAN:
        how = ("make_gaussian", dp.l2_distance(T="f64"))
    theirs = by_opendp(*how, scale, 20_000)
    assert homogeneous(drawn(strips_of(law, scale), 20_000), theirs) > REFUSED
    assert homogeneous(drawn(strips_of(law, 1.2 * scale), 20_000), theirs) < REFUSED


def test_many_threads_draw_independent_numbers_into_their_own_places() -> None:
    sums = np.arange(300_000, dtype=np.int64).reshape(3, -1)
    noisy = Randomness(None).add_gaussian(sums, 2.0**56, threads=3)
    assert noisy.shape == sums.shape
    # Two of 2^57 numbers are the same once in a million runs.
    assert len(np.unique(noisy)) == noisy.size
