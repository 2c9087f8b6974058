"""Noisy covariances of the most rated items, and their leading directions.

With the person as unit somebody adds s_i x_i x_i', which is no longer than s_i |x_i|^2 (Frobenius).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array, Floats
from discreet.data.ratings import Ratings
from discreet.field.budget import GaussianBudget
from discreet.kernels.moments import add_products
from discreet.kernels.sorting import read_only

_WHOLE = 600
"""Of so many items all directions are found; of more, the leading ones, step by step."""
_POWER_STEPS = 14
_FEWEST = 2
"""Items, below which there is no covariance."""


def most_rated(counts: Array, top: int, above: float = 0.0) -> NDArray[np.int64]:
    """The place of every item that has a covariance, -1 for the others.

    These are the `top` largest noisy counts, as far as they are `above` so much: what is hidden by
    the noise on a covariance adds noise to its directions, and no signal. Two are kept always, and
    with nothing to be above, all.
    """
    place = np.full(len(counts), -1, dtype=np.int64)
    order = np.argsort(-counts, kind="stable")[: min(top, len(counts))]
    enough = int((counts[order] > above).sum()) if above > 0 else len(order)
    enough = max(enough, min(_FEWEST, len(order)))
    chosen = np.sort(order[:enough])
    place[chosen] = np.arange(len(chosen))
    return place


def own_squares(data: Ratings, x: Array, place: NDArray[np.int64]) -> Floats:
    """|x_i|^2 of everybody, over the items that have a place."""
    squares = np.where(place[data.item] >= 0, x**2, 0.0)
    return np.asarray(
        np.bincount(data.user, weights=squares, minlength=len(data.users)), dtype=np.float64
    )


def covariance(data: Ratings, x: Array, scale: Array, place: NDArray[np.int64]) -> Floats:
    """The upper half of sum_i s_i x_i x_i' over the items that have a place: secret."""
    size = int(place.max(initial=-1)) + 1
    out = np.zeros((size, size))
    values = np.ascontiguousarray(x), np.ascontiguousarray(scale)
    columns: tuple[Array, ...] = (data.ptr, data.item, place, *values)
    add_products(*map(read_only, columns), out)
    return out


def noisy_covariance(
    upper: Array, sensitivity: float, budget: GaussianBudget, share: float, what: str
) -> Floats:
    """The whole matrix, with noise for a share of mu^2.

    The upper half is released, off the diagonal times sqrt(2): so packed it is as long as the
    matrix (Frobenius), by which its sensitivity is measured.
    """
    rows, cols = np.triu_indices(len(upper))
    root = np.where(rows == cols, 1.0, np.sqrt(2.0))
    packed = budget.release(
        upper[rows, cols] * root, sensitivity=sensitivity, share=share, what=what
    )
    out = np.empty_like(upper)
    out[rows, cols] = packed / root
    out[cols, rows] = out[rows, cols]
    return out


def leading(C: Array, d: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The d largest eigenvalues of a symmetric matrix, below zero as zero, and their vectors."""
    d = min(d, len(C))
    if len(C) <= _WHOLE:
        values, vectors = np.linalg.eigh(C)
        return np.maximum(values[::-1][:d], 0.0), np.asarray(vectors[:, ::-1][:, :d])
    # Noise has large negative values as well: some more directions leave room for them.
    Q = rng.standard_normal((len(C), min(2 * d + 16, len(C))))
    for _ in range(_POWER_STEPS):
        Q, _ = np.linalg.qr(C @ Q)
    values, turn = np.linalg.eigh(Q.T @ (C @ Q))
    return np.maximum(values[::-1][:d], 0.0), np.asarray(Q @ turn[:, ::-1][:, :d])
