"""Biases first: noisy votes for and against every item, and what follows from them.

The same estimate of means, effects and counts that Tally and Chorus make of their tallies, and the
same columns to fold people in on: what differs between schemes is then how they learn factors.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.features import Features, encode
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.field.budget import GaussianBudget
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.release.tallies import Tallies
from discreet.schemes.base import Run
from discreet.schemes.effects import estimate
from discreet.schemes.voting_scheme import Known

PERSON_VOTES = 16.0
"""The votes of a whole person, as a root of a sum of squares: somebody with 256 ratings gives each
one. It measures counts and noise alike, and changes nothing but the scale of both."""
OWN_SHRINK = 5.0
"""Ratings that draw somebody's own level to that of all: as in `Bias`."""


def person_weights(data: Ratings) -> Floats:
    """1/sqrt(n) for each of a person's n ratings: the squares of a person's weights sum to one."""
    counts = np.diff(data.ptr)
    return np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts)


def vote_sums(data: Ratings, weights: Array) -> Floats:
    """Sums of w (hi - r)/(hi - lo) and w (r - lo)/(hi - lo) of every item.

    A rating's two parts are no longer than w (L2), whatever its value.
    """
    share = (data.scale.clip(data.rating.astype(np.float64)) - data.scale.lo) / data.scale.span
    count = len(data.items)
    return np.stack(
        [
            np.bincount(data.item, weights=weights * (1 - share), minlength=count),
            np.bincount(data.item, weights=weights * share, minlength=count),
        ]
    )


def noisy_biases(
    data: Ratings, items: Items | None, unit: str, budget: GaussianBudget, share: float, run: Run
) -> Known:
    """Votes with noise, and mean, effects and counts as they tell them, for a share of mu^2."""
    person = unit == "person"
    size = PERSON_VOTES if person else 1.0
    weights = size * person_weights(data) if person else np.ones(len(data))
    sums = vote_sums(data, weights)
    noisy = budget.release(sums, sensitivity=size, share=share, what="votes")
    sigma = budget.deviation(size, share)
    against, in_favour = np.rint(noisy * ONE_VOTE).astype(np.int64)
    tallies = Tallies(against, in_favour, np.full(len(data.items), sigma**2))
    features = encode(items, len(data.items))
    effects = estimate(tallies, data.scale, features, 1.0, run.compute.threads)
    return Known(tallies, features, effects)


def own_residuals(data: Ratings, known: Known, *, own_level: bool) -> Floats:
    """What ratings are beyond mean and item effects, in quarters of the scale.

    With `own_level` also beyond the person's own level: that couples all of a person's ratings, so
    it goes with the person as unit alone.
    """
    base = known.effects.mean + known.effects.item_effects
    rating = data.scale.clip(data.rating.astype(np.float64))
    left = (rating - base[data.item]) / (data.scale.span / 4)
    return without_own_level(left, data.ptr, OWN_SHRINK) if own_level else np.asarray(left)


def without_own_level(values: Array, ptr: Array, shrink: float) -> Floats:
    """Values less their owner's own mean, which is drawn to zero."""
    counts = np.diff(ptr)
    sums = np.add.reduceat(np.append(values, 0.0), ptr[:-1]) * (counts > 0)
    return np.asarray(values - np.repeat(sums / (counts + shrink), counts))


def public_matrix(features: Features, count: int) -> Floats:
    """Public columns of every item, each of mean 0 and variance 1 over the catalogue, and a one."""
    numbers = [_standard(x) for x in features.numbers.values()]
    waves = [wave for x in numbers for wave in (x * x - 1, np.sin(2 * x), np.cos(2 * x))]
    flags = [_standard(x) for x in features.flags.values()]
    return np.column_stack([np.ones(count), *numbers, *waves, *flags])


def _standard(values: Array) -> Floats:
    x = np.asarray(values, dtype=np.float64)
    return np.asarray(np.clip((x - x.mean()) / (x.std() + 1e-9), -3.0, 3.0))
