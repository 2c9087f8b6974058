"""Bending: columns by which a person's taste may be a curved function of an item's public values.

Somebody's ridge regression on the released columns V is the posterior mean of a Gaussian process
with the kernel V_j . V_k: taste is linear in what is known of items. Here a second kernel is added,
by which items that lie close together in all columns are liked alike. It is a function of the
release alone, so it costs no privacy, and its strongest eigenfunctions are columns like any others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.release.tallies import Tallies

CONSTANT = "one"
"""The name of the column that is the same for every item: a person's own level."""
FACTOR = "factor "
"""A hidden direction of liking's name, before its number."""
# The same for every data set: docs/constants.md.
_LINEAR, _CURVED = 0.8, 0.2
"""The prior variance of a taste: what the released columns keep, and what the curves add to it, as
a share of the variance of a rating."""
_MANY_COLUMNS = 12
"""Where there are fewer columns to bend, curves add less: a few columns cannot tell many tastes."""
_REACH = 0.2
"""Squared distance at which two items are half as alike in taste, over twice the median of all."""
_ANCHORS, _CURVES = 256, 64
"""Items between which distances are measured, and columns that are made of these."""
_WEAKEST = 2e-4
"""Curves whose prior variance over ratings is less than this share of a rating's are left out."""
_NOISE_DOUBT, _CHANCE_DOUBT = 8.0, 20.0
"""A place among the columns is half known at a squared count of so much noise, or chance."""
_BLOCK = 4096
"""Items whose distances are held at once."""
_RANK = 1e-9
"""Eigenvalues below this share of the largest are rounding."""


def bend(factors: Array, tallies: Tallies, ridge: float) -> Array:
    """The columns of a person's regression: the released ones, then the curves.

    K(j, k) = 0.8 V_j . V_k + 0.2 ridge p_j p_k k(j, k), the constant column whole; with D < 12
    other columns, D/12 of the 0.2. The curved kernel
    k(j, k) = 1 / (1 + |W_j - W_k|^2 / (2 x 0.2 m)) is without its mean over ratings, for the level
    is a column of its own; W are all columns but the constant, which comes first, m is the median
    squared distance between anchors, and p_j says how well the item's place is known.
    """
    counts, known = _known(tallies)
    mass = counts * known**2
    if mass.sum() <= 0:
        return factors
    curves = _curves(np.ascontiguousarray(factors[:, 1:], dtype=np.float64), mass, _ANCHORS)
    linear = np.full(factors.shape[1], np.sqrt(_LINEAR))
    linear[0] = 1.0
    share = min(1.0, (factors.shape[1] - 1) / _MANY_COLUMNS)
    bent = np.sqrt(_CURVED * share * ridge) * known[:, None] * curves
    # On a table of which little is known they all are weak, and would only take time.
    bent = bent[:, counts @ bent**2 > _WEAKEST * ridge * counts.sum()]
    return np.ascontiguousarray(np.hstack([linear * factors, bent]), dtype=factors.dtype)


def _known(tallies: Tallies) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Noisy counts, and for each the share of an item's place that is more than noise and chance.

    An item that hardly anybody rated lies somewhere by chance: nobody's taste for its neighbours
    there says anything about it.
    """
    against, in_favour = tallies.votes()
    counts = np.maximum(against + in_favour, 0.0)
    doubt = _NOISE_DOUBT * tallies.noise_variance + _CHANCE_DOUBT * counts
    return counts, counts**2 / np.maximum(counts**2 + doubt, 1e-12)


def _curves(W: Array, mass: Array, most: int) -> Array:
    """The kernel's eigenfunctions under the mass, strongest first, as columns whose squares add up.

    With anchors of weights w, and K their kernel without its weighted mean, w^1/2 K w^1/2 = U E U':
    curve k of item x is K(x, anchors) w^1/2 U_k E_k^-1/2. With all items for anchors, and all
    curves, their products are the kernel itself.
    """
    anchors = _spread_out(mass, most)
    near, share = W[anchors], mass.sum() / most
    # An anchor stands for all items of its share of the mass; a heavy one, for more than a share.
    weights = mass[anchors] if len(anchors) == len(mass) else np.maximum(mass[anchors], share)
    weights = weights / weights.sum()
    squares = _squared_distances(near, near)
    apart = squares[np.triu_indices(len(near), 1)]
    reach = 2 * _REACH * float(np.median(apart)) if len(apart) else 0.0
    if reach <= 0:
        return np.zeros((len(W), 0))
    K = 1 / (1 + squares / reach)
    mean = weights @ K
    level = mean @ weights
    half = np.sqrt(weights)
    centred = K - mean[:, None] - mean + level
    values, U = np.linalg.eigh(half[:, None] * centred * half)
    kept = np.flatnonzero(values > _RANK * values[-1])[::-1][:_CURVES]
    turn = half[:, None] * U[:, kept] / np.sqrt(values[kept])
    curves = np.empty((len(W), len(kept)))
    for lo in range(0, len(W), _BLOCK):
        rows = slice(lo, lo + _BLOCK)
        k = 1 / (1 + _squared_distances(W[rows], near) / reach)
        curves[rows] = (k - (k @ weights)[:, None] - mean + level) @ turn
    return curves


def _spread_out(mass: Array, most: int) -> NDArray[np.int64]:
    """So many items at most, by a fixed rule: the heaviest of each equal share of the mass."""
    if len(mass) <= most:
        return np.arange(len(mass))
    order = np.argsort(-mass, kind="stable")
    before = np.cumsum(mass[order]) - mass[order]
    share = np.minimum(np.floor(before * (most / mass.sum())), most - 1)
    return order[np.unique(share, return_index=True)[1]]


def _squared_distances(A: Array, B: Array) -> Array:
    squares = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2 * (A @ B.T)
    return np.asarray(np.maximum(squares, 0.0))
