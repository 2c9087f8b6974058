"""Votes: every rating adds to its item's votes against and in favour, as much as its level allows.

An event of value x adds w x in favour and nothing against: such votes are counts. The exact votes
are integers and secret. What is released are tallies: votes with noise, added once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.data.ids import Ids
from discreet.data.ratings import Ratings
from discreet.data.source import RatingsSource, sum_once
from discreet.kernels.compute import Compute
from discreet.privacy.fixedpoint import ONE_VOTE, rounded_up
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import (
    inclusion_probability,
    keep_records,
    levelled,
    share_among_own,
    weigh,
)
from discreet.privacy.provenance import Neighbours
from discreet.release.release import Release
from discreet.release.tallies import Tallies
from discreet.schemes.base import LedgerState, Run

LevelsOf = Callable[[Ratings], Floats]
"""Some records' levels, or what is left of them."""
_SQUARES = 5.0
"""The variance of a Laplace number's square, over that of the number squared: 24/2^2 - 1."""
PERSON_VOTES = 256
"""Of a whole person: somebody with as many ratings gives each a vote, as a rating would have."""


@dataclass(frozen=True, eq=False)
class Ballot:
    """How records vote: each with a weight that its own level decides, or its person's.

    With t the largest level that counts, w = min(1, epsilon/t); or the record is kept whole, with
    the probability that gives it epsilon, or not at all ("sample").
    """

    catalogue: Ids
    levels_of: LevelsOf
    t: float
    unit: str
    personalisation: str
    randomness: Randomness
    compute: Compute

    @property
    def whole(self) -> int:
        """How many votes one unit of protection has."""
        return PERSON_VOTES if self.unit == "person" else 1

    def counted(self, part: Ratings) -> Ratings:
        """Some people's records over the catalogue, with the level that counts for each."""
        return levelled(part, self.levels_of(part), self.unit, self.catalogue)

    def weights(self, counted: Ratings) -> NDArray[np.int32]:
        """Each counted record's weight, on the grid of votes.

        A whole person has PERSON_VOTES votes, shared among the person's records.
        """
        levels, t = counted.epsilon, self.t
        assert levels is not None
        if self.unit == "person":
            return share_among_own(counted, np.minimum(1.0, levels / t), self.whole, norm=1)
        if self.personalisation == "weigh":
            return weigh(levels, t)
        chance = inclusion_probability(levels, t)
        kept = keep_records(counted, chance, self.randomness, threads=self.compute.threads)
        return np.where(kept, np.int32(ONE_VOTE), np.int32(0))

    def votes(self, counted: Ratings) -> Integers:
        """What some people's counted records add to the votes."""
        return count_votes(counted, self.weights(counted), self.compute)

    def votes_in(self, part: Ratings) -> Integers:
        """The same of some people's records over any catalogue."""
        return self.votes(self.counted(part))


def exact_votes(source: RatingsSource, ballot: Ballot) -> Integers:
    """Exact votes against and in favour of every item of the catalogue: secret."""
    if ballot.personalisation == "sample":
        ballot.randomness.key("sample")  # drawn once, before any set of people asks for it
    return sum_once(source, ballot.votes_in, (2, len(ballot.catalogue)))


def count_votes(
    data: Ratings, weights: NDArray[np.int32], compute: Compute = Compute()
) -> Integers:
    """Integer votes (against, in favour) per item: secret, exact, the same in any order.

    A record adds w (hi - r)/(hi - lo) to the first and w (r - lo)/(hi - lo) to the second: it moves
    the two by exactly its weight in L1. An event adds w x to the second alone, so at most w.
    """
    scale = data.scale.lo, data.scale.span
    votes = compute.sums.votes(data.item, data.rating, weights, scale, len(data.items))
    if data.events:
        votes[0] = 0
    return votes


def noisy_tallies(
    votes: Integers,
    t: float,
    run: Run,
    *,
    neighbours: Neighbours,
    whole: int,
    events: bool = False,
) -> Tallies:
    """The mechanism: discrete Laplace noise of scale whole/t on every item there is.

    `whole` is how many votes one unit of protection has, and so how far it can move them. Of events
    there is one number an item.
    """
    # Rounded up: a hair more noise, never less.
    scale = rounded_up(whole * ONE_VOTE / Fraction(t))
    against, in_favour = votes
    variance = np.full(len(against), 2 * (scale / ONE_VOTE) ** 2)
    threads = run.compute.threads
    if neighbours == Neighbours.REPLACE:
        noisy = run.randomness.add_laplace(in_favour, scale, threads=threads)
        return Tallies(against + in_favour - noisy, noisy, variance, shared_noise=True)
    if events:
        noisy = run.randomness.add_laplace(in_favour, scale, threads=threads)
        return Tallies(np.zeros_like(noisy), noisy, variance, events=True)
    against, in_favour = run.randomness.add_laplace(votes, scale, threads=threads)
    return Tallies(against, in_favour, variance)


def believed(batch: Tallies, before: Release | None, catalogue: Ids) -> Tallies:
    """A batch as far as it is signal by itself: what its own rounds are judged by.

    Of an item that is new it is taken whole.
    """
    if before is None or before.tallies is None:
        return batch
    known, shares = catalogue.rows(before.item_ids.values), np.ones(len(catalogue))
    shares[known] = share_of_signal(batch.counts[known], batch.count_variance[known])
    return batch.times(shares)


def added_up(batch: Tallies, state: LedgerState | None, catalogue: Ids) -> Tallies:
    """What was released before, and a batch as far as it is worth its noise beside that.

    The catalogue may have grown since. Of an item that is new there is nothing to blur, and the
    batch is taken whole. How much of it, one half of the items tells of the other: what an item's
    own noise tells would let noise that happens to be like what is there grow without end.
    """
    before = None if state is None else state.before
    if state is None or before is None or before.tallies is None:
        return batch
    earlier, known = before.tallies, catalogue.rows(before.item_ids.values)
    shares = np.ones(len(catalogue))
    for half in range(2):
        told, telling = known[half::2], known[1 - half :: 2]
        shares[told] = share_to_add(
            (batch.counts[telling], batch.count_variance[telling]),
            (earlier.counts[1 - half :: 2], earlier.count_variance[1 - half :: 2]),
            state.earlier,
        )
    return earlier.over(before.item_ids, catalogue) + batch.times(shares)


def share_of_signal(counts: Floats, variance: Floats) -> float:
    """How far a batch tells of items that were counted before: q/(q + noise), q its sum of squares.

    Where nearly nothing is new, its tallies are noise, and would blur those that tell.
    """
    noise = float(variance.sum())
    q = squares(counts, float(variance.mean()))
    return q / (q + noise)


def share_to_add(
    batch: tuple[Floats, Floats], earlier: tuple[Floats, Floats], publications: int
) -> float:
    """How much of a batch to add to counts of so many publications; each with its noise's variance.

    With true counts r C beside C, and noise of variance v beside V, (1 + s r)^2/(V + s^2 v) is
    largest at s = r V/v; not more than all of it. Of noisy counts b and S, r seems to be
    a = b.S/(S.S - sum V) with the variance e, and has a mean of 1/k among k publications before
    anything is seen: about the larger root of r^2 = (a - k e) r + e. So every small batch may be
    noise by itself, and all of them together not; and one in which nothing is new counts less and
    less.
    """
    (b, v), (S, V) = batch, earlier
    whole = float(S @ S - V.sum())
    if whole <= 0:
        return 1.0  # what was released is noise, so far: there is nothing to blur
    e = float(v @ S**2) / whole**2
    seen = float(b @ S) / whole - publications * e
    root = math.hypot(seen, 2 * math.sqrt(e))
    r = (seen + root) / 2 if seen > 0 else 2 * e / (root - seen)
    return min(1.0, r * float(V.sum()) / float(v.sum()))


def squares(counts: Floats, noise: float) -> float:
    """The sum of squares of true counts, less than what noise alone may show."""
    by_chance = noise * (len(counts) + math.sqrt(_SQUARES * len(counts)))
    return max(float((counts**2).sum()) - by_chance, 0.0)


def weight_ratio(weights: Floats) -> float:
    """E[w^2]/E[w]: how much chance a weighted count carries."""
    return float((weights**2).mean() / weights.mean())
