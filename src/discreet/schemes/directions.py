"""Chorus after the noise: item directions from noisy rounds; released and public values alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.features import Features
from discreet.ids import Ids
from discreet.kernels.spread import add_explained
from discreet.kernels.tiles import padded
from discreet.release import Release
from discreet.schemes.effects import (
    ERROR_VARIANCE,
    FACTOR,
    Directions,
    Effects,
    popularity,
    standardised,
)

# Public constants, the same for every data set (in units of a quarter of the scale).
FIRST_SIZE = 0.03
"""The prior variance of a person's coefficient for the strongest factor."""
_VOICE = 0.3
"""E|u|^2, for how much chance there is in a sum of voices."""
_MEMORY, _FADE = 3, 0.5
"""So many rounds are combined, each older one counting half as much."""
_EM_STEPS = 40
_NOISE_GROUPS = 128

Array = NDArray[Any]


class Round(NamedTuple):
    """One released round: item sums, the noise on them, and the directions that were fed in."""

    sums: Array
    sigma: float
    fed: Array


def first_directions(
    effects: Effects,
    features: Features,
    d: int,
    rng: np.random.Generator,
    before: Directions | None = None,
) -> Array:
    """What is known before any round: an earlier release's directions; else effect, popularity and
    public features; random where that is not enough."""
    c = effects.counts
    if before is not None:
        z = before.z[:, :d]
        return np.column_stack([z, rng.standard_normal((len(z), d - z.shape[1]))])
    known = [effects.item_effects, popularity(c), *features.numbers.values()]
    known += list(features.flags.values())
    F = np.column_stack([standardised(x, c) for x in known])
    if F.shape[1] > d:
        return np.asarray(F @ rng.standard_normal((F.shape[1], d)) / np.sqrt(d))
    return np.column_stack([F, rng.standard_normal((len(F), d - F.shape[1]))])


def _mean(values: Array, weights: Array) -> Any:
    """The weighted mean of rows, as one product."""
    return weights @ values / weights.sum()


def within_the_ball(z: Array, counts: Array) -> Array:
    """Rows of a root-mean-square norm of 1 over ratings, none longer than 1."""
    c = counts + 1e-9
    scaled = z / np.sqrt(max(_mean((z**2).sum(axis=1), c), 1e-12))
    return np.asarray(scaled / np.maximum(1.0, np.sqrt((scaled**2).sum(axis=1)))[:, None])


def combine(rounds: list[Round], counts: Array, clip: float, weight_ratio: float) -> Directions:
    """The best directions that the last rounds together show.

    `counts` are in the rounds' own weights; `clip` is X and `weight_ratio` E[w^2]/E[w].
    """
    last = rounds[-_MEMORY:]
    sums, sigma, fed = last[-1]
    d, c = sums.shape[1], counts + 1e-9
    seen = counts > 0.5
    Y = np.hstack([r.sums / (r.sigma * c[:, None]) for r in last])
    chance = 0.5 * clip**2 * _VOICE * weight_ratio / (d * sigma**2)
    R = 1 / c**2 + chance / c
    m, doubt = np.zeros_like(Y), np.zeros((Y.shape[1], Y.shape[1]))
    if seen.any():
        m[seen], doubt = _posterior(Y[seen], R[seen], c[seen])
    beta = sigma * m[:, -d:]
    m = m - _mean(m, c)
    fade = np.repeat(_FADE ** np.arange(len(last) - 1.0, -1.0, -1.0), d)
    axes = fade[:, None] * _whitening(m * fade, c, d)
    z, error = m @ axes, axes.T @ doubt @ axes
    # How much of a person's taste each direction explains, from this round's sums.
    root = np.sqrt(c)[:, None]
    A = np.linalg.lstsq(fed * root, z * root, rcond=None)[0]
    strength = z.T @ (c[:, None] * beta) @ A / c.sum()
    values, Q = np.linalg.eigh((strength + strength.T) / 2)
    order = np.argsort(-values)
    values, Q = np.maximum(values[order], 0.0), Q[:, order]
    # A direction of variance 1 of which the share `true` is signal: a taste for the signal is a
    # taste for the direction times the root of that share.
    true = 1 / (1 + np.einsum("ik,ij,jk->k", Q, error, Q))
    return Directions(z @ Q, FIRST_SIZE * true * values / max(values[0], 1e-12))


def released_directions(release: Release, catalogue: Ids, effects: Effects) -> Directions | None:
    """The directions in an earlier release, over a catalogue that may have grown since."""
    own = [k for k, name in enumerate(release.factor_names) if name.startswith(FACTOR)]
    if not own:
        return None
    columns = np.zeros((len(catalogue), len(own)))
    columns[catalogue.rows(release.item_ids.values)] = release.item_factors[:, own]
    columns /= np.sqrt(release.fold_in.ridge / ERROR_VARIANCE)
    sizes = _mean(columns**2, effects.counts + 1e-9)
    return Directions(columns / np.sqrt(np.maximum(sizes, 1e-12)), sizes)


def more_telling(found: Directions, before: Directions | None) -> Directions:
    """Those which explain more of a person's taste: a small batch is noisier than a large one."""
    return found if before is None or found.sizes.sum() > before.sizes.sum() else before


def _posterior(Y: Array, R: Array, c: Array) -> tuple[Array, Array]:
    """The true rows under Y_j ~ N(g, Omega) + N(0, R_j I), Omega by EM.

    Their means, and their covariance around these on average over ratings.
    """
    precision = 1 / R
    g = _mean(Y, precision)
    X = Y - g
    squares = _mean(X**2, precision**2)
    excess = squares - _mean(R, precision**2)
    Omega = _spread(X, R, np.diag(np.maximum(excess, 1e-6 * squares + 1e-12)))
    values, Q = np.linalg.eigh(Omega)
    values = np.maximum(values, 1e-12)
    share = values / (values + R[:, None])
    doubt = Q * (values * (1 - _mean(share, c))) @ Q.T
    return np.asarray(g + (X @ Q * share) @ Q.T), np.asarray(doubt)


def _spread(X: Array, R: Array, Omega: Array) -> Array:
    """Omega of rows X_j ~ N(0, Omega) + N(0, R_j I), by EM from a first guess.

    Items with nearly the same noise are taken to have the same, and then their sum of squares is
    all that a step needs to know of them: with a group for every item it would be exact.
    """
    d, order = len(Omega), np.argsort(R)
    starts = np.unique(np.linspace(0, len(R), _NOISE_GROUPS + 1).astype(int)[:-1])
    sizes = np.diff(np.append(starts, len(R)))[:, None]
    r = np.add.reduceat(R[order], starts)[:, None] / sizes
    width = padded(d, X)
    squares = np.zeros((len(starts), width, width))
    for square, x in zip(squares, np.split(X[order], starts[1:]), strict=True):
        square[:d, :d] = x.T @ x
    turn, share = np.zeros((width, width)), np.zeros((len(starts), width))
    for _ in range(_EM_STEPS):
        values, Q = np.linalg.eigh(Omega)
        values = np.maximum(values, 1e-12)
        turn[:d, :d], share[:, :d] = Q, values / (values + r)
        explained = np.zeros((width, width))
        add_explained(0, len(squares), squares, turn, share, explained)
        left = np.diag((sizes * values * (1 - share[:, :d])).sum(axis=0))
        Omega = Q @ ((explained[:d, :d] + left) / len(R)) @ Q.T
    return Omega


def _whitening(m: Array, c: Array, d: int) -> Array:
    """The d strongest principal axes over ratings, scaled so that each has variance 1."""
    values, Q = np.linalg.eigh((m * c[:, None]).T @ m / c.sum())
    order = np.argsort(-values)[:d]
    return np.asarray(Q[:, order] / np.sqrt(np.maximum(values[order], 1e-12)))
