"""Certainty: how far a rating may be from its prediction, from public values and one's own ratings.

A standard error is that of the rating that the person would give. Where people vary about as much
as on films, two thirds of ratings are within one of it and nineteen of twenty within two; more
where they rate more steadily, fewer where ratings are nothing but ones and fives. It is made of
three parts: ratings differ by chance, few ratings say little of a person's taste, and noise and
chance hide how good an item is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.scale import RatingScale
from discreet.kernels.leverage import leverages
from discreet.kernels.sorting import read_only
from discreet.kernels.threads import row_ranges, run_ranges, thread_count
from discreet.release.scoring import (
    FAMILY_SHRINK,
    FoldIn,
    ItemScores,
    Own,
    People,
    add_to_families,
    score_own,
)
from discreet.release.tallies import Tallies

# In quarters of the scale (stars of five), the same for every data set: docs/constants.md.
_NOISE, _NOISE_RATINGS = 0.7, 5.0
"""The variance of a person's ratings around their taste, as if so many had shown it already."""
_LEVEL_SPREAD = 0.2
"""The variance of people's levels, which a prediction for an unknown item knows nothing of."""
_EFFECT_SPREAD = 0.2
"""The variance of items' effects, where a release does not say what it knows of each."""


class Predictions(NamedTuple):
    """Predicted ratings, and the standard error of each."""

    ratings: NDArray[np.float64]
    standard_errors: NDArray[np.float64]


class Folded(NamedTuple):
    """People's own ratings, and what fold-in made of them; secret, never part of a release."""

    item_scores: ItemScores
    doubts: Array
    own: Own
    how: FoldIn
    people: People


def doubts_of(tallies: Tallies, scale: RatingScale, mean: float) -> NDArray[np.float64]:
    """What is unknown of each item's effect, as far as tallies tell: a variance, in rating units.

    The posterior variance of an effect of variance 0.2 of which n noisy ratings say the mean.
    """
    against, in_favour = tallies.votes()
    counts = np.maximum(against + in_favour, 0.0)
    if tallies.shared_noise:
        factor = scale.span**2
    else:
        factor = (scale.lo - mean) ** 2 + (scale.hi - mean) ** 2
    quarter = (scale.span / 4) ** 2
    error = counts * quarter + tallies.noise_variance * factor
    spread = _EFFECT_SPREAD * quarter
    return np.asarray(spread * (1 - spread * counts**2 / (spread * counts**2 + error + 1e-12)))


def standard_errors(
    folded: Folded, who: Array, what: Array, scale: RatingScale, threads: int | None = None
) -> NDArray[np.float64]:
    """Of the rating of every pair (who[k], what[k]); who = -1 is somebody without ratings.

    s^2 (f + v_j' (sum of v v' + ridge)^-1 v_j) + doubt_j: s^2 is the variance of the person's
    ratings around their taste, and f the share of it that others of the item's family leave open.
    """
    item_scores, people = folded.item_scores, folded.people
    noise = np.append(_own_noise(folded, scale), _typical_noise(scale))
    left, workers = np.ones(len(who)), thread_count(threads)
    for codes, families in zip(item_scores.families, people.families, strict=True):
        rated = np.zeros(len(who))
        add_to_families(rated, codes, families, families.counts, who, what, workers)
        # Of the variance, 1 part in 1 + 1.5 is the family's own: the fold-in takes it to be so.
        left *= 1 - rated / (rated + FAMILY_SHRINK) / (1 + FAMILY_SHRINK)
    spread = left + _leverages(folded, who, what, workers)
    variance = noise[who] * spread + folded.doubts[what]
    # Ratings cannot differ by more, whatever the columns of a table without votes may say.
    return np.asarray(np.minimum(np.sqrt(variance), scale.span / 2))


def unknown_error(doubts: Array, typical: Array, scale: RatingScale) -> float:
    """The standard error for an item that is not in the release: it may be like any other.

    It is predicted by the mean of all, for everybody.
    """
    people = (_NOISE + _LEVEL_SPREAD) * (scale.span / 4) ** 2
    variance = people + float(typical.var() + doubts.mean())
    return float(min(np.sqrt(variance), scale.span / 2))


def _typical_noise(scale: RatingScale) -> float:
    return _NOISE * (scale.span / 4) ** 2


def _own_noise(folded: Folded, scale: RatingScale) -> NDArray[np.float64]:
    """The variance of each person's ratings around their taste, drawn to what is usual.

    With y the ratings less what anybody would give, and y - Vu what is left after the fold-in,
    y . (y - Vu) is as large as n times that variance on average, and the doubts of the n items.
    """
    item_scores, doubts, own, _, people = folded
    count = len(own.ptr) - 1
    who = np.repeat(np.arange(count), np.diff(own.ptr))
    typical = item_scores.base + item_scores.factors @ item_scores.prior
    y = own.ratings - typical[own.items]
    left = y * (own.ratings - score_own(item_scores, people.coefficients, own))
    shown = np.bincount(who, weights=left - doubts[own.items], minlength=count)
    usual = _NOISE_RATINGS * _typical_noise(scale)
    return np.asarray((usual + np.maximum(shown, 0.0)) / (_NOISE_RATINGS + np.diff(own.ptr)))


def _leverages(folded: Folded, who: Array, what: Array, workers: int) -> NDArray[np.float64]:
    """v_j' (sum of v v' over the person's ratings + ridge)^-1 v_j for every pair."""
    item_scores, _, own, how, _ = folded
    number = item_scores.factors.dtype.type
    count = len(own.ptr)  # one more person, without ratings: -1
    person = np.where(who < 0, count - 1, who)
    order = np.argsort(person, kind="stable")
    pairs = np.searchsorted(person[order], np.arange(count + 1))
    ptr = np.append(own.ptr, own.ptr[-1])
    out = np.empty(len(who), dtype=item_scores.factors.dtype)
    arrays = map(read_only, (ptr, own.items, item_scores.factors))
    ridges = number(how.ridge), number(how.ridge_per_rating)
    ranges = row_ranges(ptr, workers)
    run_ranges(leverages, ranges, workers, *arrays, *ridges, pairs, what[order], out)
    result = np.empty(len(who))
    result[order] = out
    return result
