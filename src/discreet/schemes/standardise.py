"""Columns about items on a common measure: means and variances over ratings, as counts tell."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.features import Features

MOST_DEVIATIONS = 2.0
"""A public number beyond so many standard deviations counts as if it were there: a film of 1898
says no more than one of the 1920s."""
FEW_COLUMNS = 20
"""Public columns beyond so many share what these would explain: a table may have any number of
columns that tell nothing."""
_TAMED = 3
"""How often that is done: the deviation shrinks with what is cut off."""


def weighted_mean(values: Array, counts: Array) -> float:
    """The mean over ratings; every item has a little weight, so that an empty table has one."""
    weights = counts + 1e-9
    # Not by a library: its threads would keep spinning beside our own afterwards.
    return float(np.einsum("j,j->", values, weights) / weights.sum())


def standardised(values: Array, counts: Array) -> Floats:
    """Mean 0 and variance 1 over ratings, as far as the noisy counts tell."""
    centred = values - weighted_mean(values, counts)
    return np.asarray(centred / np.sqrt(weighted_mean(centred**2, counts) + 1e-12))


def number_columns(features: Features, counts: Array) -> dict[str, Floats]:
    """Public numbers with mean 0 and about variance 1, none far out."""
    columns = {}
    for name, values in features.numbers.items():
        x = np.asarray(values, dtype=np.float64)
        for _ in range(_TAMED):
            x = np.clip(standardised(x, counts), -MOST_DEVIATIONS, MOST_DEVIATIONS)
        columns[name] = x - weighted_mean(x, counts)
    return columns


def crowding(features: Features) -> float:
    """By how much larger ridges of public columns are where there are many of them."""
    return max(1.0, (len(features.numbers) + len(features.flags)) / FEW_COLUMNS)


def flag_columns(features: Features, counts: Array) -> dict[str, Floats]:
    """Flags with mean 0, of their own size: a rare genre should not weigh more for being rare."""
    return {name: x - weighted_mean(x, counts) for name, x in features.flags.items()}
