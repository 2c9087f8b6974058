"""How often items were rated, as noisy votes tell: empirical Bayes with noise that is known.

Where items have few ratings, noise decides which noisy counts are large. To take those at their
word would make favourites of items that nobody rated; so the distribution of true counts is found
first, from all items, and every item's count is judged by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import Array, Floats, Integers
from discreet.kernels.effects import AT_ONCE, count_beliefs
from discreet.kernels.threads import even_ranges, run_ranges
from discreet.release.tallies import Tallies

NARROWEST, WIDENING, BY_NOISE = 0.25, 0.3, 0.2
"""A bin of counts is a quarter of a vote wide, or this share of where it begins, or of the noise's
scale: finer ones could not be told apart."""
_REACH = 20.0
"""Counts further than so many scales of the noise from the noisy one are left out: e^-20."""
_SAMPLE = 2000
"""So many items, evenly among all by their noisy count, tell the distribution of counts."""
_STEPS = 100
_FALL = 1.5
"""Before anything is known, a count's odds fall with this power of it; they stay as one item."""
_LEAST_NOISE = 1e-3
"""In votes: below that a count is taken for exact."""


class CountBeliefs(NamedTuple):
    """For every item the counts it may have: those of item j are n[ptr[j]:ptr[j+1]]."""

    ptr: Integers
    n: Floats
    base: Floats
    """The probability of each, by the noisy counts alone."""
    noise: Floats
    """The variance of the noise in S = 2 (B - A), were that the count."""

    @property
    def means(self) -> Floats:
        """Every item's expected count."""
        return np.asarray(np.add.reduceat(self.n * self.base, self.ptr[:-1]))


def believe(tallies: Tallies, threads: int) -> CountBeliefs:
    """What noisy votes say of every item's count; under REPLACE counts are public and exact."""
    against, in_favour = tallies.votes()
    C = against + in_favour
    if tallies.shared_noise:
        ones, noise = np.ones(len(C)), 16 * tallies.noise_variance
        return CountBeliefs(np.arange(len(C) + 1), np.maximum(C, 0.0), ones, noise)
    s = np.maximum(np.sqrt(tallies.noise_variance / 2), _LEAST_NOISE)
    edges = bin_edges(float((C + _REACH * s).max(initial=1.0)), float(s.min()))
    first, last = (
        np.clip(np.searchsorted(edges, C + side * _REACH * s, "right") - 1, 0, len(edges) - 2)
        for side in (-1, 1)
    )
    count = -(-(last - first + 1) // AT_ONCE) * AT_ONCE
    first = np.minimum(first, len(edges) - 1 - count)
    ptr = np.concatenate([[0], np.cumsum(count)])
    found = CountBeliefs(ptr, *np.empty((3, ptr[-1])))
    odds = count_odds(C, s, edges)
    ranges = even_ranges(len(C), threads)
    run_ranges(count_beliefs, ranges, threads, C, s, edges, odds, first, *found)
    return found


def bin_edges(top: float, noise: float) -> Floats:
    """Where bins of counts begin and end, from zero to beyond `top`, for noise of this scale."""
    edges, narrowest = [0.0], max(NARROWEST, BY_NOISE * noise)
    while edges[-1] <= top or len(edges) % AT_ONCE != 1:  # whole vectors of bins
        edges.append(edges[-1] + max(narrowest, WIDENING * edges[-1]))
    return np.array(edges)


def count_odds(C: Array, s: Array, edges: Array) -> Floats:
    """How many of the items have a count in each bin, by EM, from noisy counts C.

    The noise is the sum of two Laplace numbers of scale s each.
    """
    width = np.diff(edges)
    start = (edges[:-1] + width / 2 + 1) ** -_FALL * width
    start /= start.sum()
    ranks = np.linspace(0, len(C) - 1, min(len(C), _SAMPLE)).astype(np.intp)
    sample = np.argsort(C)[ranks]
    likelihood = np.maximum(-np.diff(_below(C[sample, None] - edges, s[sample, None])), 1e-300)
    likelihood /= width
    odds = start
    for _ in range(_STEPS):
        explained = likelihood.T @ (1 / (likelihood @ odds))
        odds = (odds * explained + start) / (len(sample) + 1)
    return np.asarray(odds)


def _below(x: Array, s: Array) -> Floats:
    """P(noise < x) for the sum of two Laplace numbers of scale s."""
    a = np.abs(x) / s
    tail = 0.25 * (2 + a) * np.exp(-a)
    return np.where(x > 0, 1 - tail, tail)
