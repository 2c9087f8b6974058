"""Item effects by empirical Bayes: everything here reads released or public values alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.features import Features
from discreet.data.scale import RatingScale
from discreet.release.tallies import Tallies

# In quarters of the scale (stars of five), the same for every data set: docs/constants.md.
_RATING_VARIANCE = 1.0
_PRIOR_RIDGE = 20.0
_SPREAD = (0.02, 1.0)
_ROUNDS = 8
# Ridges of the fold-in, as 0.8 (the variance of a rating) over a coefficient's prior variance.
ERROR_VARIANCE = 0.8
_SMALLEST_SIZE = 1e-12
"""A coefficient's prior variance below which a hidden direction is none."""
FACTOR = "factor "
"""A hidden direction's name, before its number."""
_RIDGE_ONE, _RIDGE_EFFECT, _RIDGE_COUNT, _RIDGE_PRODUCT, _RIDGE_PUBLIC = (
    5.0,
    12.0,
    30.0,
    300.0,
    25.0,
)


@dataclass(frozen=True, eq=False)
class Effects:
    """What the tallies say: the mean rating, each item's effect, and how often it is rated."""

    mean: float
    item_effects: NDArray[np.float64]
    counts: NDArray[np.float64]
    """Noisy weighted counts, at least zero."""
    doubts: NDArray[np.float64] | None = None
    """The variance of what is unknown of an item's effect, in squared rating units."""


def estimate(
    tallies: Tallies, scale: RatingScale, features: Features, weight_ratio: float
) -> Effects:
    """Shrink the tallies' item means towards a regression on popularity and public features.

    With y_j the weighted sum of r - mean and c_j the weighted count, y_j / c_j is the item's effect
    plus an error of variance R_j = (c_j w2 + nv_j) / c_j^2, the first part from chance (w2 is
    E[w^2]/E[w] under the declared levels), the second from the noise, whose variance is known.
    """
    A, B = tallies.votes()
    quarter = scale.span / 4
    mean = _overall_mean(A, B, tallies, scale)
    counts = np.maximum(A + B, 0.0)
    y = ((scale.lo - mean) * A + (scale.hi - mean) * B) / quarter
    noise = tallies.noise_variance * _noise_factor(tallies, scale, mean) / quarter**2
    chance = counts * weight_ratio * _RATING_VARIANCE + noise
    columns = [np.ones(len(counts)), standardised(popularity(counts), counts)]
    columns += [standardised(x, counts) for x in _public(features)]
    X = np.column_stack(columns)
    penalty = np.full(X.shape[1], _PRIOR_RIDGE)
    penalty[0] = 0.0
    spread = 0.3
    for _ in range(_ROUNDS):
        prior, spread, gram = _regression(X, y, counts, chance, penalty, spread)
    # prior + spread/(spread + R) (y/c - prior), in a form that needs no division by c.
    denominator = np.maximum(spread * counts**2 + chance, 1e-12)
    effects = prior + spread * counts * (y - counts * prior) / denominator
    # What is left of the spread, and of what is unknown of the prior itself.
    left = 1 - spread * counts**2 / denominator
    prior_doubts = np.einsum("ja,ja->j", X @ np.linalg.inv(gram), X)
    doubts = quarter**2 * np.minimum(left * spread + left**2 * prior_doubts, _SPREAD[1])
    return Effects(mean, scale.clip(mean + quarter * effects) - mean, counts, doubts)


def _overall_mean(A: Array, B: Array, tallies: Tallies, scale: RatingScale) -> float:
    """The mean rating, drawn to the middle of the scale where the noise outweighs the votes."""
    total = max(float((A + B).sum()), 0.0)
    above = float(((scale.lo - scale.middle) * A + (scale.hi - scale.middle) * B).sum())
    noise = float(tallies.noise_variance.sum()) * _noise_factor(tallies, scale, scale.middle)
    # A mean is within about a quarter of the scale of its middle: that is the prior's deviation.
    prior = (scale.span / 4) ** 2
    shift = total * above * prior / max(total**2 * prior + noise, 1e-12)
    return float(scale.clip(scale.middle + shift))


def _noise_factor(tallies: Tallies, scale: RatingScale, mean: float) -> float:
    """The variance of y over that of one tally."""
    if tallies.shared_noise:  # B + x and A - x
        return scale.span**2
    return (scale.lo - mean) ** 2 + (scale.hi - mean) ** 2


def _regression(
    X: Array, y: Array, c: Array, chance: Array, penalty: Array, spread: float
) -> tuple[Array, float, Array]:
    """Generalised least squares of y/c on X, the spread of the effects around it by moments, and
    the inverse of its coefficients' covariance."""
    denominator = np.maximum(spread * c**2 + chance, 1e-12)
    weight = c**2 / denominator
    gram = X.T @ (weight[:, None] * X) + np.diag(penalty)
    gram[0, 0] += 1e-9  # a catalogue without any vote still has an answer
    prior = X @ np.linalg.solve(gram, X.T @ (c * y / denominator))
    excess = (c * (y - c * prior) / denominator) ** 2 - weight * chance / denominator
    spread = float(np.clip(excess.sum() / max((weight**2).sum(), 1e-12), *_SPREAD))
    return prior, spread, gram


class Directions(NamedTuple):
    """Whitened item directions, strongest first, and the prior variance of each coefficient."""

    z: Array
    sizes: Array


def design(
    effects: Effects, scale: RatingScale, features: Features, directions: Directions | None = None
) -> tuple[tuple[str, ...], NDArray[np.float64], float]:
    """What a person's ratings are regressed on: names, columns per item, and the ridge.

    A column with its own ridge is the same as a column divided by the root of it, so all share one.
    """
    quarter, c = scale.span / 4, effects.counts
    b, n = standardised(effects.item_effects, c), standardised(popularity(c), c)
    columns = [
        ("one", np.ones(len(c)), _RIDGE_ONE),
        ("effect", b, _RIDGE_EFFECT),
        ("popularity", n, _RIDGE_COUNT),
        ("effect^2", b * b, _RIDGE_PRODUCT),
        ("effect x popularity", b * n, _RIDGE_PRODUCT),
        ("popularity^2", n * n, _RIDGE_PRODUCT),
    ]
    for name, values in features.numbers.items():
        x = standardised(values, c)
        columns += [
            (f"effect x {name}", b * x, _RIDGE_PRODUCT),
            (f"popularity x {name}", n * x, _RIDGE_PRODUCT),
            (name, x, _RIDGE_PUBLIC),
        ]
    for name, values in features.flags.items():
        # Flags keep their size: a rare genre should not weigh more for being rare.
        columns.append((name, values - _weighted_mean(values, c), _RIDGE_PUBLIC))
    if directions is not None:
        for k, size in enumerate(directions.sizes):
            if size > _SMALLEST_SIZE:
                columns.append((f"{FACTOR}{k + 1}", directions.z[:, k], ERROR_VARIANCE / size))
    matrix = np.column_stack([quarter * x / np.sqrt(ridge) for _, x, ridge in columns])
    return tuple(name for name, _, _ in columns), matrix, quarter**2


def _public(features: Features) -> list[Array]:
    return [*features.numbers.values(), *features.flags.values()]


def popularity(counts: Array) -> Array:
    """How often an item is rated, on a logarithmic scale."""
    return np.log1p(counts / 10)


def _weighted_mean(values: Array, counts: Array) -> float:
    # Every item has a little weight, so that an empty table has a mean as well.
    return float(np.average(values, weights=counts + 1e-9))


def standardised(values: Array, counts: Array) -> Array:
    """Mean 0 and variance 1 over ratings, as far as the noisy counts tell."""
    centred = values - _weighted_mean(values, counts)
    return np.asarray(centred / np.sqrt(_weighted_mean(centred**2, counts) + 1e-12))
