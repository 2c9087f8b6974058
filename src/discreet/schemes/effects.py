"""Item effects by empirical Bayes: everything here reads released or public values alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.features import Features
from discreet.data.scale import RatingScale
from discreet.kernels.effects import MOMENTS, effect_moments
from discreet.kernels.least_squares import gram
from discreet.kernels.threads import run_ranges, thread_count
from discreet.release.tallies import Tallies
from discreet.schemes.counts import CountBeliefs, believe
from discreet.schemes.standardise import flag_columns, number_columns, weighted_mean

# In quarters of the scale (stars of five), the same for every data set: docs/constants.md.
RATING_VARIANCE = 0.85
"""How much one rating differs by chance from what its item deserves, squared."""
PRIOR_RIDGE = 40.0
SPREAD = (0.002, 1.0)
USUAL_SPREAD, SPREAD_WEIGHT = 0.1, 150.0
"""The spread of effects where the tallies hardly tell it, and how firmly it is believed."""
USUAL_LEVEL, LEVEL_VARIANCE = 0.6, 1.0
"""Tables have a mean of about so much above the middle of the scale, give or take its root."""
REACH = 1.25
"""Public features explain at most so many deviations of all effects: no extrapolation."""
LEAST_POPULARITY = 0.1
"""Added to the variance by which popularity is measured: where items are hardly told apart by it,
it would be wild for the few that are."""
MOST_ROUNDS, STILL, SETTLED = 12, 0.004, 0.1
"""Rounds end when the regression moves an item by less than that, typically, and the spread by less
than this share."""


@dataclass(frozen=True, eq=False)
class Effects:
    """What the tallies say: the mean rating, each item's effect, and how often it is rated.

    All of it is in the units of the ratings and votes; `doubts` are variances.
    """

    mean: float
    item_effects: Floats
    doubts: Floats
    """The variance of every item's true effect around the one that is stated."""
    counts: Floats
    """How often every item was probably rated, weighed."""
    popularity: Floats
    """log(1 + count/(10 + the noise's scale)), on average over what the count may be."""
    popularity_doubt: float
    """Its variance around that, over ratings."""
    mean_doubt: float
    """The variance of the true mean around the one that is stated."""


def estimate(
    tallies: Tallies,
    scale: RatingScale,
    features: Features,
    weight_ratio: float,
    threads: int | None = None,
) -> Effects:
    """Shrink the tallies' item means towards a regression on popularity and public features.

    An item with n ratings has S = 2 (B - A), the sum of its ratings in quarters of the scale from
    the middle: n times what it deserves, of which the regression explains a part and `spread` is
    the variance of the rest, plus chance (w2 is E[w^2]/E[w] under the declared levels) and noise
    of known variance. n itself is known with noise, see `counts`: so regression, spread and the
    beliefs about n are found in turn.
    """
    workers = thread_count(threads)
    beliefs = believe(tallies, workers)
    against, in_favour = tallies.votes()
    S = 2 * (in_favour - against)
    level, doubt = _overall(against + in_favour, S, tallies)
    table = _Table(beliefs, S, RATING_VARIANCE * weight_ratio, workers)
    known = _public(features, beliefs.means)
    prior, spread = _Prior(np.full(len(S), level)), USUAL_SPREAD
    for k in range(MOST_ROUNDS):
        before, found = (prior, spread), table.moments(prior, spread)
        spread = found.spread if k else spread
        prior = _regression(known, found, doubt, spread)
        moved = prior.at(found.popularity) - before[0].at(found.popularity)
        still = np.sqrt(weighted_mean(moved**2, found.counts)) < STILL
        if k and still and abs(spread - before[1]) < SETTLED * spread:
            break
    return _concluded(table.moments(prior, spread), prior, known, spread, doubt, scale)


def _overall(C: Array, S: Array, tallies: Tallies) -> tuple[float, float]:
    """The mean rating above the middle of the scale, and the noise's variance in it."""
    if tallies.shared_noise:  # counts are exact: every item says the level as well as it can
        variance = USUAL_SPREAD * C**2 + RATING_VARIANCE * C + 16 * tallies.noise_variance
        weight = np.maximum(C, 0.0) / np.maximum(variance, 1e-12)
        sure = max(float(weight @ C), 1e-12)
        return float(np.clip(weight @ S / sure, -2, 2)), 1 / sure
    noise = float(tallies.noise_variance.sum())
    total = max(float(C.sum()), np.sqrt(2 * noise), 1.0)
    level = float(np.clip(S.sum() / total, -2, 2))
    # Of S, and of the count that it is divided by.
    return level, (8 + 2 * level**2) * noise / total**2


def _public(features: Features, counts: Array) -> Floats:
    """A constant and what is publicly known of every item."""
    columns = number_columns(features, counts) | flag_columns(features, counts)
    return np.column_stack([np.ones(len(counts)), *columns.values()])


class _Prior(NamedTuple):
    """What the regression says of every item, but for its popularity, and the slope of that."""

    rest: Floats
    slope: float = 0.0
    covariance: Array = np.zeros((0, 0))
    """Of the coefficients: those of the public columns, then of popularity around its centre."""
    centre: float = 0.0
    size: float = 1.0

    def at(self, popularity: Floats) -> Floats:
        """The effects of items of such popularity."""
        return self.rest + self.slope * popularity

    def doubts(self, known: Floats, popularity: Floats) -> Floats:
        """The variance of what is said of every item."""
        row = np.column_stack([known, (popularity - self.centre) / self.size])
        return np.asarray(np.einsum("ja,ja->j", row @ self.covariance, row))


class _Moments(NamedTuple):
    """What `effect_moments` concludes, a column each: averages over what counts may be."""

    counts: Floats
    popularity: Floats
    popularity_square: Floats
    weight: Floats
    weight_popularity: Floats
    weight_popularity_square: Floats
    sums: Floats
    sums_popularity: Floats
    explained: Floats
    explicable: Floats
    effects: Floats
    effect_square: Floats

    @property
    def spread(self) -> float:
        """The variance of effects around the regression, by moments."""
        explained = self.explained.sum() + SPREAD_WEIGHT * USUAL_SPREAD
        return float(np.clip(explained / (self.explicable.sum() + SPREAD_WEIGHT), *SPREAD))


class _Table(NamedTuple):
    """What is known of every item, by what its count may be."""

    beliefs: CountBeliefs
    S: Floats
    chance: float
    """The variance of one rating by chance."""
    workers: int

    def moments(self, prior: _Prior, spread: float) -> _Moments:
        """Averages, with effects of this spread around the prior."""
        groups, n, base, noise, popularity, _ = self.beliefs
        out = np.empty((MOMENTS, len(self.S)))
        known = (groups.order, groups.ptr, n, base, noise, popularity, self.chance, self.S)
        ranges, believed = groups.ranges(self.workers), (prior.rest, prior.slope, spread)
        run_ranges(effect_moments, ranges, self.workers, *known, *believed, out)
        return _Moments(*out)


def _regression(known: Array, found: _Moments, doubt: float, spread: float) -> _Prior:
    """Effects by least squares on public columns and popularity.

    The regression believes that it knows the counts it goes by, so that it states its constant
    too firmly; the noise tells how sure it can be, and products are trusted accordingly.
    """
    c, k = found.counts, known.shape[1]
    centre = weighted_mean(found.popularity, c)
    variance = weighted_mean(found.popularity_square, c) - centre**2
    size = np.sqrt(max(variance, 0.0) + LEAST_POPULARITY)
    # Sums with popularity standardised, from sums with popularity as it is.
    weight_p = (found.weight_popularity - centre * found.weight) / size
    squares = found.weight_popularity_square - 2 * centre * found.weight_popularity
    weights = np.empty((k + 1, k + 1))
    weights[:k, :k] = gram(np.sqrt(found.weight)[:, None] * known)
    weights[:k, k] = weights[k, :k] = np.einsum("ja,j->a", known, weight_p)
    weights[k, k] = (squares + centre**2 * found.weight).sum() / size**2
    products = np.append(
        np.einsum("ja,j->a", known, found.sums),
        (found.sums_popularity - centre * found.sums).sum() / size,
    )
    penalty = np.diag([1e-9, *[PRIOR_RIDGE] * k])
    trust = min(1.0, np.linalg.inv(weights + penalty)[0, 0] / max(doubt, 1e-300))
    inverse = np.linalg.inv(trust * weights + penalty)
    constant, *coefficients, slope = trust * (inverse @ products)
    explained = np.einsum("ja,a->j", known[:, 1:], coefficients)
    variance = weighted_mean(explained**2, c) - weighted_mean(explained, c) ** 2
    reach = REACH * np.sqrt(variance + spread)
    slope = slope / size
    rest = constant + reach * np.tanh(explained / reach) - slope * centre
    return _Prior(rest, slope, inverse, centre, size)


def _concluded(
    found: _Moments,
    prior: _Prior,
    known: Floats,
    spread: float,
    doubt: float,
    scale: RatingScale,
) -> Effects:
    """Effects in the units of the ratings, around a mean that noise does not pull to the middle."""
    quarter, c = scale.span / 4, found.counts
    level = weighted_mean(found.effects, c)
    share = doubt / (doubt + LEVEL_VARIANCE)  # of the mean that is not known
    shift = (USUAL_LEVEL - level) * share
    mean = float(scale.clip(scale.middle + quarter * (level + shift)))
    effects = scale.clip(scale.middle + quarter * (found.effects + shift)) - mean
    variance = np.maximum(found.popularity_square - found.popularity**2, 0.0)
    doubts = np.maximum(found.effect_square - found.effects**2, 0.0)
    # Of what the regression does not know of an item, the item's own ratings tell a part.
    left = np.minimum(doubts / spread, 1.0)
    unsure = prior.doubts(known, found.popularity)
    doubts = np.minimum(doubts + left**2 * unsure, SPREAD[1])
    return Effects(
        mean=mean,
        item_effects=effects,
        doubts=quarter**2 * doubts,
        counts=c,
        popularity=found.popularity,
        popularity_doubt=weighted_mean(variance, c),
        mean_doubt=quarter**2 * LEVEL_VARIANCE * share,
    )
