"""How often items were rated, as noisy votes tell: empirical Bayes with noise that is known.

Where items have few ratings, noise decides which noisy counts are large. To take those at their
word would make favourites of items that nobody rated; so the distribution of true counts is found
first, from all items, and every item's count is judged by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import Array, Floats, Integers
from discreet.kernels.effects import LANES, count_beliefs, improve_odds
from discreet.kernels.threads import row_ranges, run_ranges
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
POPULAR = 10.0
"""From about so many votes on, and the noise's scale, popularity is on a logarithmic scale: where
noise is hundreds of votes, ten of them are no popularity."""
_WORTH_THREADS = 512
"""Fewer groups are not worth a second thread."""


class Groups(NamedTuple):
    """Items in groups of about the same noisy count, which may have counts of the same bins."""

    order: Integers
    """The items of every group; the last one is filled up with its last item."""
    first: Integers
    """The first of the bins in which the counts of a group may be."""
    ptr: Integers
    """Group g has rows ptr[g]..ptr[g+1], one for every bin."""

    def ranges(self, threads: int) -> list[tuple[int, int]]:
        """Groups for each thread."""
        return row_ranges(self.ptr, threads if len(self.first) >= _WORTH_THREADS else 1)


class CountBeliefs(NamedTuple):
    """For every item the counts it may have, and what follows from each.

    A column for every item of a group, a row for every bin.
    """

    groups: Groups
    n: Floats
    base: Floats
    """By the noisy counts alone, the probability of each is proportional to this."""
    noise: Floats
    """The variance of the noise in S = 2 (B - A), were that the count."""
    popularity: Floats
    """log(1 + n/(10 + the noise's scale))."""
    means: Floats
    """Every item's expected count."""


def believe(tallies: Tallies, threads: int) -> CountBeliefs:
    """What noisy votes say of every item's count; under REPLACE counts are public and exact."""
    against, in_favour = tallies.votes()
    C = against + in_favour
    if tallies.shared_noise:
        return _exactly(np.maximum(C, 0.0), 16 * tallies.noise_variance)
    s = np.maximum(np.sqrt(tallies.noise_variance / 2), _LEAST_NOISE)
    per = 1 / (POPULAR + float(np.sqrt(tallies.noise_variance.mean() / 2)))
    edges = bin_edges(float((C + _REACH * s).max(initial=1.0)), float(s.min()))
    ranked = np.argsort(C)
    odds = count_odds(C, s, edges, ranked)
    return _judged(C, s, edges, odds, _in_groups(ranked, C, s, edges), per, threads)


def _exactly(counts: Floats, noise: Floats) -> CountBeliefs:
    """Counts that are known."""
    order = _filled(np.arange(len(counts)))
    groups = Groups(order, np.zeros(len(order), np.intp), np.arange(len(order) + 1))
    n = counts[order]
    return CountBeliefs(
        groups, n, np.ones(n.shape), noise[order], np.log1p(n / POPULAR), means=counts
    )


def _judged(
    C: Array, s: Array, edges: Array, odds: Array, groups: Groups, per: float, threads: int
) -> CountBeliefs:
    """Noisy counts C with noise of scale s, judged by the odds of bins."""
    n, base, noise, popularity = np.empty((4, groups.ptr[-1], LANES))
    found = CountBeliefs(groups, n, base, noise, popularity, means=np.empty(len(C)))
    ranges, own = groups.ranges(threads), (C, s, edges, odds, _REACH, per)
    run_ranges(count_beliefs, ranges, threads, *groups, *own, *found[1:])
    return found


def _filled(items: Integers) -> Integers:
    """In rows of as many as a group has, the last one filled up with the last item."""
    order = np.full(-(-len(items) // LANES) * LANES, items[-1])
    order[: len(items)] = items
    return order.reshape(-1, LANES)


def _in_groups(ranked: Integers, C: Array, s: Array, edges: Array) -> Groups:
    """Groups of these items, which stand in the order of their noisy counts."""
    order = _filled(ranked)
    reach = _REACH * s[order]
    ends = (C[order] - reach).min(axis=1), (C[order] + reach).max(axis=1)
    first, last = np.clip(np.searchsorted(edges, ends, "right") - 1, 0, len(edges) - 2)
    return Groups(order, first, np.append(0, np.cumsum(last - first + 1)))


def bin_edges(top: float, noise: float) -> Floats:
    """Where bins of counts begin and end, from zero to beyond `top`, for noise of this scale."""
    edges, narrowest = [0.0], max(NARROWEST, BY_NOISE * noise)
    while edges[-1] <= top:
        edges.append(edges[-1] + max(narrowest, WIDENING * edges[-1]))
    return np.array(edges)


def count_odds(C: Array, s: Array, edges: Array, ranked: Integers) -> Floats:
    """How many of the items have a count in each bin, by EM, from noisy counts C.

    The noise is the sum of two Laplace numbers of scale s each; `ranked` are the items by C.
    """
    width = np.diff(edges)
    start = (edges[:-1] + width / 2 + 1) ** -_FALL * width
    start /= start.sum()
    sample = ranked[np.linspace(0, len(C) - 1, min(len(C), _SAMPLE)).astype(np.intp)]
    groups = _in_groups(sample, C, s, edges)
    likelihood = _judged(C, s, edges, np.ones(len(width)), groups, 1.0, threads=1).base
    weight, odds = np.ones(groups.order.shape), start.copy()
    weight.reshape(-1)[len(sample) :] = 0.0  # named twice
    improve_odds(_STEPS, groups.first, groups.ptr, likelihood, weight, start, odds)
    return odds
