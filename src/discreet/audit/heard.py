"""Runs of production code by whatever route, and all that is heard of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.arrays import Array
from discreet.audit.neighbours import Pair, copies
from discreet.audit.transcript import Draw, Produce, listen, log_ratio
from discreet.privacy.personalise import inclusion_probability

COLUMNS = 8
"""So many draws of a replayed run are also told one by one."""


@dataclass(frozen=True)
class CopiedRuns:
    """Outcomes are all noisy numbers, of copies of a table that are published side by side.

    For tallies and counts alone, in which every item's numbers are its own.
    """

    produce: Produce
    pair: Pair

    def __call__(self, with_record: bool, runs: int, seed: int) -> Array:
        """So many histories of one side, with the noise that releases use."""
        del seed
        heard, _ = listen(self.produce, copies(self.pair.side(with_record), runs))
        first, _ = self._sides
        told = zip(self._by_item(heard), first, strict=True)
        return np.hstack([by_copy(draw.noisy, one.exact) for draw, one in told])

    @property
    def distance(self) -> float:
        """How far apart the two tables' exact sums are."""
        return distance(*self._sides)

    def log_ratio(self, outcomes: Array) -> Array:
        """Noises are independent, so their ratios add up."""
        return np.asarray(np.sum(self.log_ratios(outcomes), axis=0))

    def log_ratios(self, outcomes: Array) -> list[Array]:
        """The ratio of likelihoods of every draw."""
        found, start = [], 0
        for x, y in zip(*self._sides, strict=True):
            noisy = outcomes[:, start : start + x.exact.size]
            start += x.exact.size
            found.append(ratio_of(noisy, x, y))
        return found

    @cached_property
    def _sides(self) -> tuple[list[Draw], list[Draw]]:
        one, other = (
            self._by_item(listen(self.produce, self.pair.side(side), noiseless=True)[0])
            for side in (True, False)
        )
        return one, other

    def _by_item(self, draws: list[Draw]) -> list[Draw]:
        """Without sums over all people, of which copies side by side have one between them.

        Games that replay whole fits hear those: `replays.auto_game`.
        """
        return [draw for draw, grows in zip(draws, self._grows, strict=True) if grows]

    @cached_property
    def _grows(self) -> list[bool]:
        """For every draw whether two copies of a table have twice as many numbers."""
        table = self.pair.side(True)
        one, two = (
            listen(self.produce, side, noiseless=True)[0] for side in (table, copies(table, 2))
        )
        return [y.exact.size == 2 * x.exact.size for x, y in zip(one, two, strict=True)]


def distance(one: list[Draw], other: list[Draw]) -> float:
    """How far apart exact sums are, in scales of the noise: L1 and L2 parts added."""
    pure, squares = 0.0, 0.0
    for x, y in zip(one, other, strict=True):
        moved = np.abs(x.exact - y.exact) / x.scale
        if x.law == "add_laplace":
            pure += float(moved.sum())
        else:
            squares += float((moved**2).sum())
    return pure + math.sqrt(squares)


def ratio_of(noisy: Array, x: Draw, y: Draw) -> Array:
    """log p(noisy | x) - log p(noisy | y), one run a row."""
    constant = x.exact.size * np.log(y.scale / x.scale)
    one, other = ((noisy - draw.exact.ravel()) / draw.scale for draw in (x, y))
    if x.law == "add_laplace":
        return np.asarray((np.abs(other) - np.abs(one)).sum(axis=1) + constant)
    return np.asarray((other**2 - one**2).sum(axis=1) / 2 + constant)


def by_copy(many: Array, one: Array) -> Array:
    """Numbers of copies side by side, one copy a row, in the order of a single table's numbers."""
    axis = next((k for k in range(one.ndim) if many.shape[k] != one.shape[k]), 0)
    runs = many.shape[axis] // one.shape[axis]
    split = many.reshape(*one.shape[:axis], runs, *one.shape[axis:])
    return np.moveaxis(split, axis, 0).reshape(runs, -1)


@dataclass(frozen=True)
class SampledRuns(CopiedRuns):
    """The same where a record takes part by chance, in one publication or another."""

    t: float = 1.0

    def log_ratio(self, outcomes: Array) -> Array:
        """The record is there with its probability; if not, it may have been drawn from again."""
        share = float(inclusion_probability(self.pair.level, self.t))
        left, total = share, np.zeros(len(outcomes))
        for ratio in self.log_ratios(outcomes):
            total += left * np.expm1(ratio)
            left *= 1 - share
        return np.log1p(total)

    @cached_property
    def _sides(self) -> tuple[list[Draw], list[Draw]]:
        """What a record that is surely drawn adds to the first publication: as if to any."""
        sure = self.pair.at_level(self.t)
        one, other = (listen(self.produce, sure.side(side))[0] for side in (True, False))
        added = one[0].exact - other[0].exact
        return [replace(draw, exact=draw.exact + added) for draw in other], other


@dataclass(frozen=True)
class ReplayedRuns:
    """Outcomes: the ratio of likelihoods of everything heard in a run, and draw by draw.

    Every run is made once on its own table, and once more as the other table would have led to the
    same transcript. What differs then although all noisy numbers are the same gives a table away.
    """

    produce: Produce
    pair: Pair

    def __call__(self, with_record: bool, runs: int, seed: int) -> Array:
        """So many runs of one side, with the noise that releases use."""
        del seed
        own, other = (self.pair.side(side) for side in (with_record, not with_record))
        sign = 1.0 if with_record else -1.0
        found = np.zeros((runs, 1 + COLUMNS))
        for row in found:
            heard, releases = listen(self.produce, own)
            total, differences = log_ratio(self.produce, heard, releases, own, other)
            row[0] = sign * total
            told = zip(heard[:COLUMNS], differences, strict=False)
            row[1 : 1 + min(len(differences), COLUMNS)] = [
                _along(draw, sign * difference) for draw, difference in told
            ]
        return found


def _along(draw: Draw, difference: Array) -> float:
    """Noisy numbers projected on what exact sums differ by, in scales of the noise."""
    size = float(np.sqrt((difference.astype(np.float64) ** 2).sum()))
    return float((draw.noisy * (difference / max(size, 1.0))).sum()) / draw.scale


def first_column(outcomes: Array) -> Array:
    """A replayed run's ratio of likelihoods."""
    return outcomes[:, 0]
