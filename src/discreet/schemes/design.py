"""The columns of a fold-in: what one person's ratings are regressed on, item by item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.features import Features
from discreet.data.scale import RatingScale
from discreet.release.bending import CONSTANT, FACTOR
from discreet.release.choice_factors import ChoiceFactors
from discreet.schemes.effects import LEAST_POPULARITY, Effects
from discreet.schemes.standardise import (
    crowding,
    flag_columns,
    number_columns,
    standardised,
    weighted_mean,
)

ERROR_VARIANCE = 0.8
"""What is left of a rating's variance, in quarters of the scale, by a good prediction."""
# Ridges, as ERROR_VARIANCE over a coefficient's prior variance: docs/constants.md.
RIDGE_ONE, RIDGE_EFFECT, RIDGE_COUNT, RIDGE_PRODUCT = 4.0, 18.0, 40.0, 300.0
RIDGE_NUMBER, RIDGE_FLAG = 40.0, 25.0
LEAST_EFFECT = 0.02
"""Added to the variance by which effects are measured, in quarters of the scale: where items hardly
differ, a column measured by how much they do would be wild for the few that do."""
SMALLEST_SIZE = 1e-12
"""A coefficient's prior variance below which a hidden direction is none."""
CHOICE_SIZE, CHOICE_COLUMNS = 0.02, 16
"""The prior variance of a person's coefficient for the strongest direction of choice, and how many
of these are columns: what people choose together they also like alike."""


class Directions(NamedTuple):
    """Whitened item directions, strongest first, and the prior variance of each coefficient."""

    z: Array
    sizes: Array


def design(
    effects: Effects,
    scale: RatingScale,
    features: Features,
    directions: Directions | None = None,
    choices: ChoiceFactors | None = None,
) -> tuple[tuple[str, ...], Floats, float]:
    """What a person's ratings are regressed on: names, columns per item, and the ridge.

    A column with its own ridge is the same as a column divided by the root of it, so all share one.
    Where the tallies are noise, effects and popularity vary less than the true ones: columns are
    measured by these, so that nobody's taste for them is overrated. And where the mean is in doubt,
    a person's own level counts for more.
    """
    quarter, c = scale.span / 4, effects.counts
    doubts = effects.doubts + quarter**2 * LEAST_EFFECT
    b = _by_true_spread(effects.item_effects, weighted_mean(doubts, c), c)
    n = _by_true_spread(effects.popularity, effects.popularity_doubt + LEAST_POPULARITY, c)
    doubt = effects.mean_doubt / quarter**2
    columns = [
        (CONSTANT, np.ones(len(c)), ERROR_VARIANCE / (ERROR_VARIANCE / RIDGE_ONE + doubt)),
        ("effect", b, RIDGE_EFFECT),
        ("popularity", n, RIDGE_COUNT),
        ("effect^2", b * b, RIDGE_PRODUCT),
        ("effect x popularity", b * n, RIDGE_PRODUCT),
        ("popularity^2", n * n, RIDGE_PRODUCT),
    ]
    crowd = crowding(features)
    for name, x in number_columns(features, c).items():
        columns += [
            (f"effect x {name}", b * x, crowd * RIDGE_PRODUCT),
            (f"popularity x {name}", n * x, crowd * RIDGE_PRODUCT),
            (name, x, crowd * RIDGE_NUMBER),
        ]
    columns += [(name, x, crowd * RIDGE_FLAG) for name, x in flag_columns(features, c).items()]
    if directions is not None:
        for k, size in enumerate(directions.sizes):
            if size > SMALLEST_SIZE:
                columns.append((f"{FACTOR}{k + 1}", directions.z[:, k], ERROR_VARIANCE / size))
    if choices is not None:
        columns += _choice_columns(choices, c)
    matrix = np.column_stack([quarter * x / np.sqrt(ridge) for _, x, ridge in columns])
    return tuple(name for name, _, _ in columns), matrix, quarter**2


def _choice_columns(choices: ChoiceFactors, counts: Array) -> list[tuple[str, Floats, float]]:
    """The strongest directions of choice, each of variance 1, and a ridge by how strong it is."""
    strongest = choices.columns[:, :CHOICE_COLUMNS].T
    sizes = [weighted_mean(x**2, counts) - weighted_mean(x, counts) ** 2 for x in strongest]
    return [
        (
            f"choice {k + 1}",
            standardised(x, counts),
            ERROR_VARIANCE * max(sizes) / CHOICE_SIZE / size,
        )
        for k, (x, size) in enumerate(zip(strongest, sizes, strict=True))
        if size > SMALLEST_SIZE
    ]


def _by_true_spread(values: Array, doubt: float, counts: Array) -> Floats:
    """Mean 0 over ratings; what they truly are, that is with their doubt, would have variance 1."""
    centred = values - weighted_mean(values, counts)
    return np.asarray(centred / np.sqrt(weighted_mean(centred**2, counts) + doubt + 1e-12))
