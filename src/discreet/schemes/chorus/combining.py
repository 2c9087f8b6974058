"""Rounds of several publications, combined: released values alone, each weighed by its noise.

Every round is a block of columns. With y what an item's sums come to for each time it was counted,

    y_b = g_b + x L_b + noise of deviation 1/i_b,     x ~ N(0, I) for every item,

i_b the item's count over the deviation of the block's noise. The loadings L_b are found from all
items, and x given them. What earlier publications have shown is one such block: projected on x,
rows of all blocks tell as much as they did side by side (docs/proofs/incremental.md#what-is-kept).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from discreet.arrays import Array
from discreet.release.heard_sums import HeardSums
from discreet.schemes.chorus.directions import RANK, Heard, eigen, strongest_first, weighted_means

# Public constants, the same for every data set: docs/constants.md.
WIDER = 2
"""So many times as many columns are kept as there are factors: what is not yet one may become."""
MOST_COLUMNS = 64
EM_STEPS = 3
ALIKE = 0.1
"""Items share a posterior covariance where the logarithms of their noises differ by less."""
_WEAKEST = 1e-3
"""Loadings begin with no column weaker than this beside the strongest."""
_BY_ONE_THREAD = 1 << 18
"""Multiplications that BLAS leaves to one thread: several would wait for each other wherever the
machine has other work, many times longer than they multiply."""


class Block(NamedTuple):
    """The sums of one round, or of all earlier publications, over the items that were heard."""

    y: Array
    """For each time that an item was counted, less the mean."""
    precision: Array
    """1 over the variance of the noise; 0 where the block has not heard of an item."""
    weights: Array
    """For moments over items: how well the block tells of each."""

    @classmethod
    def of(cls, sums: Array, information: Array) -> Block:
        """From sums in units of noise. How far items differ is guessed from the best first."""
        known = information > 0
        i = np.where(known, information, 1.0)
        precision = np.where(known, information**2, 0.0)
        y = np.where(known[:, None], sums / i[:, None], 0.0)
        weights = precision
        for _ in range(3):
            x = y - weighted_means(y, weights + 1e-300)
            squares = weights**2
            noise = float(squares @ np.where(known, 1 / i**2, 0.0) / max(squares.sum(), 1e-300))
            shown = float(squares @ (x**2).mean(axis=1) / max(squares.sum(), 1e-300))
            spread = max(shown - noise, _WEAKEST * noise, 1e-300)
            weights = np.where(known, 1 / (1 / i**2 + spread), 0.0)
        return cls(np.where(known[:, None], x, 0.0), precision, weights)


class _Round(NamedTuple):
    fed: Array
    of_fed: Array
    """Its own square over ratings."""
    part: float
    """Of what was heard: 1 over the square of the deviation."""


class _Posterior(NamedTuple):
    """Of x, for every item."""

    mean: Array
    told: Array
    """Sum of precision L y over the blocks: with the precisions all that they say of x."""
    covariances: Array
    """Of every group of items with about the same noise."""
    groups: tuple[slice, ...]


class Combination:
    """Hears rounds as `DirectionEstimator` does, together with those of earlier publications.

    `counts` are of the ratings that are in these rounds, in their own weights; `known` of all so
    far, by which items are weighed. Arrays hold a row for every item that was ever heard, in groups
    of items with about the same noise in either kind of block.
    """

    def __init__(self, counts: Array, known: Array, factors: int, before: HeardSums | None) -> None:
        self.d, self.size = factors, len(counts)
        kept = before is not None and before.sums.shape[1] > 0
        information = before.information if before is not None else np.zeros(self.size)
        heard = np.flatnonzero((counts > 0.5) | (information > 0))
        self.items, self.groups = _grouped(heard, np.maximum(counts, 0.0), information)
        self.now = np.where(counts[self.items] > 0.5, counts[self.items], 0.0)
        self.c = np.maximum(known[self.items], 1e-9)
        self.total = float(self.c.sum())
        self.information2 = information[self.items] ** 2
        self.heard_before = float(self.c @ self.information2)
        self.blocks: list[Block] = []
        self.rounds: list[_Round] = []
        self.old = before if kept and self.heard_before > 0 else None
        nothing = HeardSums(np.zeros((self.size, 0)), np.zeros(self.size), np.zeros((0, 0)))
        self.kept = nothing if before is None else before
        if self.old is not None:
            self.blocks.append(Block.of(self.old.sums[self.items], information[self.items]))

    def update(self, sums: Array, sigma: float, fed: Array) -> Heard:
        """One more round: item sums, the noise on them, and the directions that were fed in."""
        d, c = self.d, self.c
        if not self.now.any():
            return Heard(np.zeros(fed.shape), np.zeros(d), np.zeros(d))
        self._add(sums, sigma, fed)
        L = self._first_loadings()
        for _ in range(EM_STEPS):
            L = self._better_loadings(L, self._posterior(L))
        found = self._posterior(L)
        level = weighted_means(found.mean, c)
        covariance = _products(c, found.mean, found.mean) / self.total - np.outer(level, level)
        # Directions: of what all blocks show of items, the d strongest, each of variance 1.
        values, Q = eigen(covariance)
        values = np.maximum(values, 1e-9 * values[-1])
        U = np.linalg.svd((Q * np.sqrt(values)).T @ (L * self._shares()))[0]
        axes = (Q / np.sqrt(values)) @ U[:, :d]
        values, P = strongest_first(self._tastes(L, found, covariance, axes))
        axes = axes @ P
        doubt = self._doubt(found)
        true = 1 / (1 + np.einsum("ik,ij,jk->k", axes, doubt, axes))
        self.kept = self._keep(found, axes * values @ axes.T)
        z = np.empty((self.size, axes.shape[1]))
        z[:] = -level @ axes  # an item that nobody was heard for is as its prior says, x = 0
        z[self.items] += found.mean @ axes
        return _as_wide(Heard(z, values, true), d)

    def _add(self, sums: Array, sigma: float, fed: Array) -> None:
        information = self.now / sigma
        self.information2 = self.information2 + information**2
        self.blocks.append(Block.of(sums[self.items] / sigma, information))
        fed = fed[self.items]
        level = weighted_means(fed, self.c)
        # Without its mean: what no x explains is then nothing, not a difference of large numbers.
        fed = fed - level
        square = _products(self.c, fed, fed) + self.total * np.outer(level, level)
        self.rounds.append(_Round(fed, square, 1 / sigma**2))

    def _shares(self) -> Array:
        """Of every column: the root of its block's part of all that was heard."""
        heard = [self.c @ block.precision for block in self.blocks]
        widths = [block.y.shape[1] for block in self.blocks]
        return np.repeat(np.sqrt(heard / np.sum(heard)), widths)

    def _columns(self) -> list[slice]:
        """Where every block's columns are, side by side."""
        ends = np.cumsum([0, *(block.y.shape[1] for block in self.blocks)])
        return [slice(lo, hi) for lo, hi in pairwise(ends)]

    def _first_loadings(self) -> Array:
        """By moments: noise of different blocks is independent, and its own is taken off."""
        places = self._columns()
        width = places[-1].stop
        moments = np.empty((width, width))
        for a, one in zip(places, self.blocks, strict=True):
            for b, other in zip(places, self.blocks, strict=True):
                if b.start < a.start:
                    continue
                w = one.weights * other.weights
                weight = max(float(w.sum()), 1e-300)
                found = _products(w, one.y, other.y) / weight
                if a == b:
                    known = one.precision > 0
                    noise = float(w[known] @ (1 / one.precision[known])) / weight
                    found = found - noise * np.eye(len(found))
                moments[a, b], moments[b, a] = found, found.T
        values, Q = np.linalg.eigh(moments)
        columns = min(WIDER * self.d, width, MOST_COLUMNS)
        values, Q = values[::-1][:columns], Q[:, ::-1][:, :columns]
        values = np.maximum(values, _WEAKEST * max(float(values[0]), 1e-300))
        return np.asarray((Q * np.sqrt(values)).T)

    def _better_loadings(self, L: Array, found: _Posterior) -> Array:
        """One step of EM: every block's columns regressed on x, by how well it knows an item."""
        better = np.empty_like(L)
        for place, block in zip(self._columns(), self.blocks, strict=True):
            squares = _products(block.precision, found.mean, found.mean)
            for group, covariance in zip(found.groups, found.covariances, strict=True):
                squares += block.precision[group].sum() * covariance
            squares[np.diag_indices_from(squares)] += 1e-9 * np.trace(squares) / len(squares)
            with_sums = _products(block.precision, found.mean, block.y)
            better[:, place] = np.linalg.solve(squares, with_sums)
        return better

    def _posterior(self, L: Array) -> _Posterior:
        grams, told = [], np.zeros((len(self.items), len(L)))
        for place, block in zip(self._columns(), self.blocks, strict=True):
            loadings = L[:, place]
            grams.append(loadings @ loadings.T)
            told += block.precision[:, None] * _rotated(block.y, loadings.T)
        precisions = np.stack(
            [[block.precision[group].mean() for block in self.blocks] for group in self.groups]
        )
        inverse = np.linalg.inv(np.eye(len(L)) + np.tensordot(precisions, np.stack(grams), 1))
        mean = np.empty_like(told)
        for group, covariance in zip(self.groups, inverse, strict=True):
            mean[group] = _rotated(told[group], covariance)
        return _Posterior(mean, told, inverse, self.groups)

    def _tastes(self, L: Array, found: _Posterior, covariance: Array, axes: Array) -> Array:
        """How much of a person's taste each direction explains, from the sums of every round.

        What was fed in is first written in terms of the directions, by least squares over ratings.
        Earlier publications have their part of it, by how much was heard of them.
        """
        d = axes.shape[1]
        tastes, whole = np.zeros((d, d)), 0.0
        places = self._columns()[-len(self.rounds) :]
        heard = self.c @ self.now**2
        for place, (fed, of_fed, part) in zip(places, self.rounds, strict=True):
            with_fed = _products(self.c, fed, found.mean)
            A = np.linalg.lstsq(of_fed, with_fed @ axes, rcond=RANK)[0]
            tastes += part * heard * (axes.T @ covariance @ L[:, place] @ A)
            whole += part * heard
        if self.old is not None:
            turned = axes.T @ covariance @ L[:, self._columns()[0]]
            tastes += self.heard_before * (turned @ self.old.tastes @ turned.T)
            whole += self.heard_before
        return np.asarray(tastes / whole)

    def _doubt(self, found: _Posterior) -> Array:
        """The covariance of x around its mean, on average over ratings."""
        shares = np.array([self.c[group].sum() for group in found.groups])
        return np.asarray(np.tensordot(shares, found.covariances, 1) / self.total)

    def _keep(self, found: _Posterior, tastes: Array) -> HeardSums:
        """All blocks as one: told = information^2 G x + noise of that covariance, G the typical."""
        width = found.mean.shape[1]
        typical = np.zeros((width, width))
        for group, covariance in zip(found.groups, found.covariances, strict=True):
            shown = np.linalg.inv(covariance) - np.eye(width)
            typical += self.c[group].sum() * shown
        typical /= max(float(self.c @ self.information2), 1e-300)
        values, Q = eigen(typical)
        root = np.sqrt(np.maximum(values, 1e-6 * values[-1]))
        information = np.sqrt(self.information2)
        sums, known = np.zeros((self.size, width)), np.zeros(self.size)
        sums[self.items] = (found.told @ (Q / root)) / np.maximum(information, 1e-300)[:, None]
        known[self.items] = information
        # Columns are G^(1/2) x: in their terms, tastes for x.
        inverse = Q / root
        return HeardSums(sums, known, inverse.T @ tastes @ inverse)


def _products(weights: Array, a: Array, b: Array) -> Array:
    """The sum over items of w_j a_j b_j'."""
    total = np.zeros((a.shape[1], b.shape[1]))
    rows = max(_BY_ONE_THREAD // max(total.size, 1), 1)
    for start in range(0, len(a), rows):
        some = slice(start, start + rows)
        total += (weights[some, None] * a[some]).T @ b[some]
    return total


def _rotated(a: Array, matrix: Array) -> Array:
    """a_j M for every item."""
    rows = max(_BY_ONE_THREAD // max(matrix.size, 1), 1)
    parts = (a[start : start + rows] @ matrix for start in range(0, len(a), rows))
    return np.concatenate([np.empty((0, matrix.shape[1])), *parts])


def _grouped(heard: Array, counts: Array, information: Array) -> tuple[Array, tuple[slice, ...]]:
    """The items in groups whose noise is about the same, now and before."""
    levels = [
        np.where(x > 0, np.rint(np.log(np.maximum(x, 1e-9)) / ALIKE), -1e9)
        for x in (counts[heard], information[heard])
    ]
    order = np.lexsort(levels)
    changes = [np.flatnonzero(np.diff(level[order])) + 1 for level in levels]
    starts = np.unique(np.concatenate([[0], *changes, [len(heard)]]))
    return heard[order], tuple(_slices(starts))


def _slices(starts: Array) -> Iterator[slice]:
    return (slice(lo, hi) for lo, hi in pairwise(starts) if lo < hi)


def _as_wide(heard: Heard, d: int) -> Heard:
    """With as many directions as were asked for: what is missing explains nothing."""
    missing = d - heard.z.shape[1]
    if missing <= 0:
        return heard
    z = np.column_stack([heard.z, np.zeros((len(heard.z), missing))])
    values, true = (np.append(x, np.zeros(missing)) for x in (heard.values, heard.true))
    return Heard(z, values, true)
