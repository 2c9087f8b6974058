"""Chorus after the noise: item directions from noisy rounds; released and public values alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import Array
from discreet.data.features import Features
from discreet.data.ids import Ids
from discreet.release.bending import FACTOR
from discreet.release.release import Release
from discreet.schemes.design import ERROR_VARIANCE, Directions
from discreet.schemes.effects import Effects
from discreet.schemes.standardise import flag_columns, number_columns, standardised

# Public constants in quarters of the scale, the same for every data set: docs/constants.md.
FIRST_SIZE = 0.03
"""The prior variance of a person's coefficient for the strongest factor."""
VECTOR_SQUARE = 0.3
"""E|u|^2 of a user vector, for how much chance there is in a sum of them."""
NOISE_BINS = 32
"""Of items, for empirical Bayes: as good as 128."""
EM_STEPS, LEAST = 3, 0.1
"""EM begins with no direction below a tenth of the mean; more steps predict no better."""
EVENED = 0.25
"""Weak directions are fed in louder, by this power of how much weaker they are."""
LEAST_VALUE = 1e-3
"""But none as if it were weaker than this beside the strongest."""
RANK = 1e-12
"""Directions that were fed in twice count once."""
FLAGS_EXPLAIN = 0.1
"""Public flags are taken to explain so much of how items differ, before anything is heard."""


class Memory(NamedTuple):
    """So many rounds are combined, each older one counting `fade` times as much."""

    rounds: int
    fade: float


LIKING_MEMORY, CHOICE_MEMORY = Memory(3, 0.5), Memory(4, 0.7)


class Heard(NamedTuple):
    """What rounds have shown: whitened item directions, strongest first."""

    z: Array
    values: Array
    """How much of a person each direction explains."""
    true: Array
    """The share of each direction that is signal, not noise."""

    @property
    def directions(self) -> Directions:
        """As the fold-in takes them.

        A direction of variance 1 of which the share `true` is signal: a taste for the signal is a
        taste for the direction times the root of that share.
        """
        strongest = max(self.values[0], 1e-12) if len(self.values) else 1.0
        return Directions(self.z, FIRST_SIZE * self.true * self.values / strongest)

    @property
    def evened(self) -> Array:
        """Weaker directions louder, as far as they are signal: noise is the same for all."""
        strongest = max(self.values[0], 1e-12)
        relative = np.maximum(self.values / strongest, LEAST_VALUE)
        return np.asarray(self.z * relative ** (-EVENED * self.true))


def known_columns(own: Sequence[Array], features: Features, counts: Array) -> list[Array]:
    """What is known of items before any round: columns of the tallies, and public features."""
    numbers, flags = number_columns(features, counts), flag_columns(features, counts)
    return [*own, *numbers.values(), *flags.values()]


def first_directions(
    known: Sequence[Array],
    counts: Array,
    d: int,
    rng: np.random.Generator,
    before: Array | None = None,
) -> Array:
    """Where rounds begin: an earlier release's directions; else what is known of items; random
    where that is not enough."""
    if before is not None:
        z = before[:, :d]
        return np.column_stack([z, rng.standard_normal((len(z), d - z.shape[1]))])
    F = np.column_stack([standardised(x, counts) for x in known])
    if F.shape[1] > d:
        return np.asarray(F @ rng.standard_normal((F.shape[1], d)) / np.sqrt(d))
    return np.column_stack([F, rng.standard_normal((len(F), d - F.shape[1]))])


def weighted_means(values: Array, weights: Array) -> Any:
    """The weighted mean of rows, as one product."""
    return weights @ values / weights.sum()


def within_the_ball(z: Array, counts: Array) -> Array:
    """Rows of a root-mean-square norm of 1 over ratings, none longer than 1."""
    squares, c = np.einsum("jk,jk->j", z, z), counts + 1e-9
    typical = np.sqrt(max((c * squares).sum() / c.sum(), 1e-12))
    return np.asarray(z / np.maximum(typical, np.sqrt(squares))[:, None])


class DirectionEstimator:
    """Hears one released round after the other, and tells the best directions that the last show.

    `counts` are in the rounds' own weights; `clip` is X and `weight_ratio` E[w^2]/E[w]. `public`
    are columns that may explain in part how items differ. Only items with a count are heard; large
    arrays hold a row for each, in the order of their noise, and are kept from round to round.
    """

    def __init__(
        self,
        counts: Array,
        factors: int,
        clip: float,
        weight_ratio: float,
        memory: Memory,
        public: Array | None = None,
    ) -> None:
        heard = np.flatnonzero(counts > 0.5)
        self.items = heard[np.argsort(-counts[heard], kind="stable")]
        self.c = counts[self.items]
        self.total = self.c.sum()
        self.chance = 0.5 * clip**2 * VECTOR_SQUARE * weight_ratio / factors
        # Items with nearly the same noise: what is computed of them stays in a cache, and unless
        # they are very many, their products wake no threads of the linear algebra's own.
        ends = len(heard) * np.arange(NOISE_BINS + 1) // NOISE_BINS
        self.bins = [slice(lo, hi) for lo, hi in pairwise(ends) if lo < hi]
        self.rounds, self.d = 0, factors
        self.memory = memory
        self.public = np.zeros((len(counts), 0)) if public is None else public
        self.shown = np.empty((len(heard), memory.rounds * factors))
        self.t = np.empty_like(self.shown)

    def update(self, sums: Array, sigma: float, fed: Array) -> Heard:
        """One more round: item sums, the noise on them, and the directions that were fed in."""
        d = self.d
        if not len(self.items):
            return Heard(np.zeros(fed.shape), np.zeros(d), np.zeros(d))
        # Each round takes the place of the oldest one.
        most, fading = self.memory
        k, count = self.rounds % most, min(self.rounds + 1, most)
        self.rounds += 1
        newest = slice(k * d, (k + 1) * d)
        np.divide(sums[self.items], (sigma * self.c)[:, None], out=self.shown[:, newest])
        R = 1 / self.c**2 + self.chance / sigma**2 / self.c
        t = self.t[:, : count * d]
        Q, doubt, explained = self._posterior(self.shown[:, : count * d], R, t)
        mean, covariance, with_fed, of_fed = self._moments(t, fed)
        fade = np.repeat(fading ** ((k - np.arange(count)) % count), d)
        axes = fade[:, None] * _whitening(fade[:, None] * (Q @ covariance @ Q.T) * fade, d)
        turned = Q.T @ axes
        # How much of a person's taste each direction explains, from this round's sums: what was fed
        # in is first written in terms of the directions, by least squares over ratings.
        A = np.linalg.lstsq(of_fed, with_fed @ turned, rcond=RANK)[0]
        values, P = strongest_first(sigma * turned.T @ covariance @ Q[newest].T @ A)
        true = 1 / (1 + np.einsum("ik,ij,jk->k", P, axes.T @ doubt @ axes, P))
        turned = turned @ P
        # An item that nobody was heard for is as its prior says.
        z = (explained - mean) @ turned
        for bin_ in self.bins:
            z[self.items[bin_]] = (t[bin_] - mean) @ turned
        return Heard(z, values, true)

    def _posterior(self, Y: Array, R: Array, t: Array) -> tuple[Array, Array, Array]:
        """The true rows under Y_j ~ N(g + F_j B, Omega) + N(0, R_j I), Omega by EM, are g + Q t_j.

        Writes t. Q, the rows' covariance around these means on average over ratings, and what
        public columns F say of every item's t.
        """
        g = weighted_means(Y, 1 / R)
        expected = self._expected(Y - g, R)
        near = expected[self.items]
        # In a bin the noise is taken to be the same, and then the sum of squares is all that EM
        # needs to know: with a bin for every item it would be exact.
        squares = np.empty((len(self.bins), len(g), len(g)))
        for square, bin_ in zip(squares, self.bins, strict=True):
            x = np.subtract(Y[bin_], g, out=t[bin_])
            x -= near[bin_]
            np.matmul(x.T, x, out=square)
        r = np.array([R[bin_].mean() for bin_ in self.bins])
        sizes = np.array([bin_.stop - bin_.start for bin_ in self.bins])
        values, Q = eigen(spread(squares, r, sizes, first_spread(squares, r, sizes)))
        share = np.zeros(len(g))
        for bin_ in self.bins:
            shares = values / (values + R[bin_, None])
            np.multiply(t[bin_] @ Q, shares, out=t[bin_])
            t[bin_] += near[bin_] @ Q
            share += self.c[bin_] @ shares
        doubt = np.asarray(Q * (values * (1 - share / self.total)) @ Q.T)
        return Q, doubt, expected @ Q

    def _expected(self, X: Array, R: Array) -> Array:
        """F B for every item: rows X without their mean, regressed on public columns F.

        B ~ N(0, b I), b such that the columns explain a declared part of how rows differ.
        """
        if not self.public.shape[1]:
            return np.zeros((len(self.public), X.shape[1]))
        noise, squares = 1 / R, np.einsum("jk,jk->j", X, X) / X.shape[1]
        differ = max((noise**2 @ squares - noise.sum()) / (noise**2).sum(), 1e-12)
        W = 1 / (R + differ)
        F = self.public - weighted_means(self.public[self.items], W)
        heard = F[self.items]
        weighted = (W[:, None] * heard).T
        ridge = np.trace(weighted @ heard) / W.sum() / (FLAGS_EXPLAIN * differ)
        B = np.linalg.solve(weighted @ heard + (ridge + 1e-12) * np.eye(F.shape[1]), weighted @ X)
        return np.asarray(F @ B)

    def _moments(self, t: Array, fed: Array) -> tuple[Array, Array, Array, Array]:
        """Over ratings: t's mean and covariance, that of what was fed in with t, and its square."""
        d, width = self.d, t.shape[1]
        # Without its mean: what no t explains is then nothing, not a difference of large numbers.
        level = weighted_means(fed := fed[self.items], self.c)
        squares, with_fed, of_fed = (np.zeros(s) for s in ((width, width), (d, width), (d, d)))
        mean = np.zeros(width)
        for bin_ in self.bins:
            rows, beside, c = t[bin_], fed[bin_] - level, self.c[bin_, None]
            weighted = c * rows
            mean += self.c[bin_] @ rows
            squares += weighted.T @ rows
            with_fed += beside.T @ weighted
            of_fed += (c * beside).T @ beside
        mean /= self.total
        covariance = squares / self.total - np.outer(mean, mean)
        of_fed += self.total * np.outer(level, level)
        return mean, covariance, with_fed, of_fed


def released_directions(release: Release, catalogue: Ids, effects: Effects) -> Directions | None:
    """The directions in an earlier release, over a catalogue that may have grown since."""
    own = [k for k, name in enumerate(release.factor_names) if name.startswith(FACTOR)]
    if not own:
        return None
    columns = np.zeros((len(catalogue), len(own)))
    columns[catalogue.rows(release.item_ids.values)] = release.item_factors[:, own]
    columns /= np.sqrt(release.fold_in.ridge / ERROR_VARIANCE)
    sizes = weighted_means(columns**2, effects.counts + 1e-9)
    return Directions(columns / np.sqrt(np.maximum(sizes, 1e-12)), sizes)


def first_spread(squares: Array, r: Array, sizes: Array) -> Array:
    """Omega by moments: the squares less the noise in them.

    A bin counts as far as its squares tell of Omega, whose size is guessed from the best first.
    """
    d, size = len(squares[0]), 0.0
    for _ in range(2):
        weights = 1 / (r + size) ** 2
        noise = weights @ (sizes * r) / (weights @ sizes)
        moments = np.tensordot(weights, squares, 1) / (weights @ sizes) - noise * np.eye(d)
        size = max(np.trace(moments) / d, 1e-12)
    values, Q = np.linalg.eigh(moments)
    return np.asarray(Q * np.maximum(values, LEAST * size) @ Q.T)


def spread(squares: Array, r: Array, sizes: Array, Omega: Array) -> Array:
    """Omega of rows N(0, Omega) + N(0, r_g I), by EM from a first guess.

    Of every bin g of rows their sum of squares, noise and number.
    """
    d = len(Omega)
    for _ in range(EM_STEPS):
        values, Q = eigen(Omega)
        share = values / (values + r[:, None])
        half = (squares.reshape(-1, d) @ Q).reshape(squares.shape)
        whole = (half.swapaxes(1, 2).reshape(-1, d) @ Q).reshape(squares.shape)
        explained = np.einsum("ga,gab,gb->ab", share, whole, share)
        left = np.diag(sizes @ (values * (1 - share)))
        Omega = Q @ ((explained + left) / sizes.sum()) @ Q.T
    return Omega


def eigen(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues, none below a hair above zero, and vectors."""
    values, Q = np.linalg.eigh(matrix)
    return np.maximum(values, 1e-12), Q


def strongest_first(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues of the symmetric part, largest first and none below zero, and vectors."""
    values, P = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.maximum(values[::-1], 0.0), P[:, ::-1]


def _whitening(covariance: Array, d: int) -> Array:
    """The d strongest principal axes, scaled so that each has variance 1."""
    values, Q = eigen(covariance)
    return np.asarray(Q[:, : -d - 1 : -1] / np.sqrt(values[: -d - 1 : -1]))
