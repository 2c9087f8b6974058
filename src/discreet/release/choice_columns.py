"""Columns of choice: what of an item may draw people to it, from released and public values alone.

People choose what is popular, what they like about items that anybody can see (genre, year), and by
hidden tastes. The columns say all three of every item: two items are chosen by one person more
often than their popularity explains where their rows point the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array, Floats
from discreet.data.features import Features
from discreet.release.choice_factors import ChoiceFactors

# The same for every data set: docs/constants.md. A ridge is that of a person's coefficient.
RIDGE_POPULAR, RIDGE_POPULAR_SQUARE = 0.5, 50.0
RIDGE_EFFECT, RIDGE_EFFECT_SQUARE = 10.0, 100.0
RIDGE_FLAG, RIDGE_FLAG_EFFECT = 1.0, 50.0
RIDGE_NUMBER, RIDGE_FLAG_NUMBER = 2.0, 2.5
"""Of the waves that a number is made of: times 1 + h^2 for wave h."""
WAVES, FLAG_WAVES = 12, 3
FLAG_POWER = 1 / 3
"""An item with many flags has each of them less: divided by their number to this power."""
FLAGS_WITH_PRODUCTS = 32
"""Flags beyond so many, the most chosen first, have no products with numbers and effects."""
BEND = 0.25
"""Items are weighed by m/(m + 0.25 M), M the count of the item that a choice typically falls on."""
RIDGE_LIKING = 20.0
"""Of the strongest hidden direction of liking, where a release has some: what people like alike
they also choose together."""
KEPT = 64
"""Of all directions among public columns, the strongest."""
LIFT_PUBLIC, LIFT_BESIDE_HIDDEN = 0.67, 0.4
"""How much of a lift public columns explain by themselves, and beside hidden directions."""
POPULARITY_COLUMNS = 2
"""A taste for what is popular, and for what is neither popular nor rare: these come first."""
_POWERS = 3
"""Public columns are taken without what a polynomial of so high a degree in popularity explains."""


class ChoiceColumns(NamedTuple):
    """A row for every item: the lift of two items, less 1, is about the product of their rows."""

    values: Floats
    public: slice
    """Which columns are public features, beyond popularity: they are trusted as far as a person's
    own choices bear them out."""
    lift: float
    """How much of a lift these are taken to explain."""
    hidden: int
    """How many hidden directions there are."""


def choice_columns(
    counts: Floats,
    effects: Floats,
    features: Features,
    choices: ChoiceFactors | None,
    weights: Floats,
    liking: Array | None = None,
) -> ChoiceColumns:
    """Popularity, hidden directions, and public features as far as neither explains them.

    `counts` are how often items were chosen, above zero; `weights` are what popularity is measured
    by: the same, or counts of what was liked. `liking` are hidden directions of liking.
    """
    public = strongest(public_columns(counts, effects, features), bent(counts))
    w = weights / weights.sum()
    popular = standardised(np.log(weights), w)
    polynomial = np.vander(popular, _POWERS + 1)
    public = _without(public, polynomial, w)
    square = standardised(popular**2, w)
    ridges = np.sqrt([RIDGE_POPULAR, RIDGE_POPULAR_SQUARE])
    taste = np.sqrt(LIFT_PUBLIC) * np.column_stack([popular, square]) / ridges
    liked = _without(_liking_columns(liking, w), polynomial, w)
    lift, hidden = LIFT_PUBLIC, np.zeros((len(w), 0))
    if choices is not None:
        lift, hidden = LIFT_BESIDE_HIDDEN, choices.columns - w @ choices.columns
        # What hidden directions say, as far as they are signal, is not said again.
        taste, public, liked = (
            _without(x, hidden, w, choices.reliability) for x in (taste, public, liked)
        )
    values = np.hstack([taste, hidden, liked, np.sqrt(lift) * public])
    public_ones = slice(values.shape[1] - public.shape[1], values.shape[1])
    return ChoiceColumns(values, public_ones, lift, hidden.shape[1])


def _liking_columns(liking: Array | None, w: Floats) -> NDArray[np.float64]:
    """Directions of liking, each as strong beside the strongest as it is in predicting ratings."""
    if liking is None or not liking.shape[1]:
        return np.zeros((len(w), 0))
    centred = np.asarray(liking, dtype=np.float64) - w @ liking
    sizes = np.sqrt(w @ centred**2)
    return np.asarray(centred / max(float(sizes.max()), 1e-12) / np.sqrt(RIDGE_LIKING))


def public_columns(counts: Floats, effects: Floats, features: Features) -> Floats:
    """Every public column and the products that matter, each divided by the root of its ridge."""
    w = counts / counts.sum()
    popular, effect = standardised(np.log(counts), w), standardised(effects, w)
    columns = [
        (popular, RIDGE_POPULAR),
        (standardised(popular**2, w), RIDGE_POPULAR_SQUARE),
        (effect, RIDGE_EFFECT),
        (standardised(effect**2, w), RIDGE_EFFECT_SQUARE),
    ]
    flags = _flags(features, w)
    columns += [(flag, RIDGE_FLAG) for flag in flags.T]
    most = np.argsort(-(w @ flags**2), kind="stable")[:FLAGS_WITH_PRODUCTS]
    columns += [(flag * effect, RIDGE_FLAG_EFFECT) for flag in flags[:, most].T]
    for values in features.numbers.values():
        for h, wave in _waves(np.asarray(values, dtype=np.float64), w):
            columns.append((np.sqrt(2) * wave, RIDGE_NUMBER * (1 + h * h)))
            if h <= FLAG_WAVES:
                ridge = RIDGE_FLAG_NUMBER * (1 + h * h)
                columns += [(flag * wave, ridge) for flag in flags[:, most].T]
    return np.column_stack([values / np.sqrt(ridge) for values, ridge in columns])


def flag_directions(counts: Floats, features: Features) -> Floats:
    """The directions among public flags, without what popularity explains of them."""
    w = counts / counts.sum()
    popular = standardised(np.log(counts), w)
    if not features.flags:
        return np.zeros((len(w), 0))
    return _without(
        strongest(_flags(features, w), bent(counts)), np.vander(popular, _POWERS + 1), w
    )


def bent(counts: Floats) -> Floats:
    """Weights of items that grow with their counts, but ever less; they add up to 1."""
    typical = (counts @ counts) / counts.sum()
    weights = counts / (counts + BEND * typical)
    return np.asarray(weights / weights.sum())


def strongest(columns: Floats, weights: Floats) -> Floats:
    """The strongest directions among columns that are without their weighted mean."""
    centred = columns - weights @ columns
    values, Q = np.linalg.eigh((centred * weights[:, None]).T @ centred)
    kept = np.flatnonzero(values > 1e-9 * max(values[-1], 1e-12))[::-1][:KEPT]
    return np.asarray(centred @ Q[:, kept])


def standardised(values: Array, weights: Floats) -> Floats:
    """Mean 0 and variance 1 under weights that add up to 1; nothing where all are the same."""
    centred = values - weights @ values
    return np.asarray(centred / np.sqrt(weights @ centred**2 + 1e-12))


def _flags(features: Features, w: Floats) -> NDArray[np.float64]:
    """Flags of their own size, less where an item has many of them, without their mean."""
    if not features.flags:
        return np.zeros((len(w), 0))
    flags = np.column_stack([np.asarray(x, dtype=np.float64) for x in features.flags.values()])
    flags /= np.maximum(flags.sum(axis=1, keepdims=True), 1.0) ** FLAG_POWER
    return np.asarray(flags - w @ flags)


def _waves(values: Floats, w: Floats) -> Iterator[tuple[int, Floats]]:
    """cos(pi h q), q the share of choices that fall on smaller numbers, for h = 1, 2, ..."""
    _, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, weights=w)
    q = (np.cumsum(mass) - mass / 2)[place]
    for h in range(1, WAVES + 1):
        yield h, np.cos(np.pi * h * q)


def _without(
    columns: Floats, others: Floats, w: Floats, share: Array | float = 1.0
) -> NDArray[np.float64]:
    """Columns without their mean, and without what others explain by weighted least squares.

    Of what each of the others explains, this share is taken off.
    """
    unit = others / np.sqrt(w @ others**2 + 1e-12)
    gram = (unit * w[:, None]).T @ unit + 1e-9 * np.eye(unit.shape[1])
    centred = columns - w @ columns
    explained = (unit * share) @ np.linalg.solve(gram, (unit * w[:, None]).T @ centred)
    return np.asarray(centred - explained)
