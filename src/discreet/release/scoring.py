"""Scoring: a person's recommendations, from their own ratings and public item values alone.

Somebody's vector is found by *folding in*: a small ridge regression of their ratings on the item
factors of a release. Nobody else's ratings are needed, so serving reveals nothing about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array, Floats
from discreet.kernels.families import add_family_values, family_effects
from discreet.kernels.least_squares import gram, solve_rows
from discreet.kernels.lists import add_family_scores, best_items, dot_pairs, score_people
from discreet.kernels.sorting import read_only
from discreet.kernels.threads import (
    even_ranges,
    row_ranges,
    run_all,
    run_ranges,
    thread_count,
)
from discreet.release.own_mean import OwnLevel, OwnMeans, judge_own_means

FAMILY_SHRINK = 1.5
"""A family's mean residual counts as if so many more ratings of it had been as predicted:
measured in docs/constants.md."""
SCORE_BLOCK = 1 << 18
"""How many scores a thread holds at once: they stay in its cache, however many people there are."""
CAUTION = 2.0
"""In lists an item's score counts less by so many standard deviations of what is unknown of it:
measured in docs/constants.md."""
FEW = 8
"""For fewer people than a tile has rows, items are not laid out in tiles first."""
TILE = 64
"""A multiple of the rows and of the columns of every tile in `kernels.simd.tiles`."""


@dataclass(frozen=True)
class FoldIn:
    """How strongly a person's vector is drawn towards that of somebody unknown: public constants.

    The ridge of the regression is ridge + ridge_per_rating n, for a person with n ratings.
    """

    ridge: float
    ridge_per_rating: float = 0.0


class ItemScores(NamedTuple):
    """The public values of all items that scores are made of.

    score = base_j + u . v_j + the person's effects of the item's families
    """

    base: Array
    factors: Array
    prior: Array
    """The vector u of somebody of whom nothing is known."""
    families: tuple[NDArray[np.int32], ...] = ()
    """For every grouping of the items (series, author) the family of each item, -1 for none."""
    doubts: Array | None = None
    """The variance of what is unknown of each item's base, where a release tells."""
    level: OwnLevel | None = None
    """How somebody's own mean is judged beside the regression; None where it is not."""


class Own(NamedTuple):
    """People's own ratings: person p rated items[ptr[p]:ptr[p+1]], by catalogue row."""

    ptr: NDArray[np.int64]
    items: NDArray[np.int32]
    ratings: Array
    times: NDArray[np.int64] | None = None
    """When each was given, on any clock, where that is known."""


class RatedFamilies(NamedTuple):
    """The families of one grouping in which people rated: person p's stand at ptr[p]:ptr[p+1]."""

    ptr: NDArray[np.int64]
    codes: NDArray[np.int32]
    """Of everybody's families, in ascending order."""
    effects: Floats
    counts: Floats
    """How many items of the family the person rated."""


class People(NamedTuple):
    """What fold-in found about people from their own ratings; secret, never part of a release."""

    coefficients: Array
    families: tuple[RatedFamilies, ...] = ()
    """For every grouping of the items."""
    own: OwnMeans | None = None
    """Their own means, where those are mixed in."""


def typical_person(factors: Array, middle: float) -> Array:
    """The smallest u with u . v_j as near as possible to the middle of the scale for every item.

    A public stand-in for "the average person", where a model has no item effects: it is computed
    from the released factors alone. Directions the items hardly use are left at zero.
    """
    d = factors.shape[1]
    products = gram(factors.astype(np.float64))
    target = middle * factors.sum(axis=0, dtype=np.float64)
    ridge = 1e-3 * np.trace(products) / d
    if ridge <= 0:
        return np.zeros(d, dtype=factors.dtype)
    return np.linalg.solve(products + ridge * np.eye(d), target).astype(factors.dtype)


def fold_in(item_scores: ItemScores, own: Own, how: FoldIn, threads: int | None = None) -> People:
    """Each person's coefficients and family effects from their own ratings.

    u_p = argmin sum_j (r_pj - base_j - u . v_j)^2 + (ridge + ridge_per_rating n_p) |u - prior|^2;
    then, grouping by grouping, the sum of the residuals in a family over their number + 1.5.

    >>> one_item = ItemScores(np.array([3.0]), np.array([[1.0]]), prior=np.zeros(1))
    >>> five_stars = Own(np.array([0, 1]), np.array([0], np.int32), np.array([5.0]))
    >>> fold_in(one_item, five_stars, FoldIn(ridge=1.0)).coefficients.round(6)  # (5 - 3)/(1 + 1)
    array([[1.]])
    """
    dtype = item_scores.factors.dtype
    ptr, items, ratings = own[:3]
    typical = item_scores.base[items]
    if item_scores.prior.any():  # a pass over the whole catalogue, for nothing where it is zero
        typical = typical + (item_scores.factors @ item_scores.prior)[items]
    workers = thread_count(threads)
    differences = solve_rows(
        ptr,
        items,
        (ratings - typical).astype(dtype),
        item_scores.factors,
        how.ridge,
        how.ridge_per_rating,
        threads=workers,
    )
    coefficients = differences + item_scores.prior
    if not item_scores.families and item_scores.level is None:
        return People(coefficients)
    residual = (ratings - score_own(item_scores, coefficients, own, workers)).astype(np.float64)
    own_means = None
    if item_scores.level is not None:
        tastes = differences[:, 1:]  # all but the level
        penalty = how.ridge * np.einsum("ij,ij->i", tastes, tastes)
        own_means = judge_own_means(ptr, ratings, residual, penalty, item_scores.level, how.ridge)
    families = [fold_in_families(codes, own, residual, workers) for codes in item_scores.families]
    return People(coefficients, tuple(families), own_means)


def fold_in_families(
    codes: NDArray[np.int32], own: Own, residual: NDArray[np.float64], workers: int
) -> RatedFamilies:
    """People's families in a grouping; their effects leave the residuals."""
    ptr, items = own[:2]
    found = np.zeros(len(ptr) - 1, dtype=np.int64)
    family = np.empty(len(items), np.int32)
    count, effect = np.empty(len(items)), np.empty(len(items))
    rated = (read_only(ptr), read_only(items), read_only(codes), family_count(codes))
    out = (residual, found, family, count, effect)
    run_ranges(family_effects, row_ranges(ptr, workers), workers, *rated, FAMILY_SHRINK, *out)
    ends = np.concatenate([[0], np.cumsum(found)])
    place = np.arange(ends[-1]) + np.repeat(ptr[:-1] - ends[:-1], found)
    return RatedFamilies(ends, family[place], effect[place], count[place])


def score_own(
    item_scores: ItemScores, coefficients: Array, own: Own, threads: int | None = None
) -> Array:
    """The score of every item that people rated, as it is before any family effect."""
    who = np.repeat(np.arange(len(own.ptr) - 1), np.diff(own.ptr))
    dots = _dots(coefficients, item_scores.factors, who, own.items, thread_count(threads))
    return np.asarray(item_scores.base[own.items] + dots)


def score_pairs(
    item_scores: ItemScores, people: People, who: Array, what: Array, threads: int | None = None
) -> NDArray[np.float64]:
    """The score of every pair (who[k], what[k])."""
    workers = thread_count(threads)
    scores = item_scores.base[what].astype(np.float64)
    scores += _dots(people.coefficients, item_scores.factors, who, what, workers)
    for codes, rated in zip(item_scores.families, people.families, strict=True):
        add_to_families(scores, codes, rated, rated.effects, who, what, workers)
    return scores if people.own is None else people.own.mixed(who, scores)


def add_to_families(
    sums: Floats,
    codes: NDArray[np.int32],
    rated: RatedFamilies,
    values: Floats,
    who: Array,
    what: Array,
    workers: int,
) -> None:
    """Add a person's value for the family of each item: nothing where they rated none of it."""
    known = [read_only(part) for part in (codes, rated.ptr, rated.codes, values)]
    ranges = even_ranges(len(who), workers)
    run_ranges(add_family_values, ranges, workers, *_pairs(who, what), *known, sums)


def top_n(
    item_scores: ItemScores,
    people: People,
    own: Own,
    n: int,
    *,
    allowed: NDArray[np.bool_] | None = None,
    exclude_rated: bool = True,
    threads: int | None = None,
) -> tuple[Array, Array, Array]:
    """The n best items for each person: (person, item, score), best first, ties by item order.

    Best is what is good for sure: the score less two standard deviations of what is unknown of the
    item, so that a single rating puts nothing on top. How sure one is of the *person* is the same
    for all items, or nearly so. Somebody with fewer than n unrated items gets what there are.
    """
    count, items = len(people.coefficients), len(item_scores.base)
    best = np.full((count, min(n, items)), -1, dtype=np.int32)
    score = np.empty(best.shape, dtype=item_scores.factors.dtype)
    rated = own.ptr if exclude_rated else np.zeros(count + 1, dtype=np.int64)
    unsure = np.zeros(items) if item_scores.doubts is None else np.sqrt(item_scores.doubts)
    sure = (item_scores.base - CAUTION * unsure).astype(item_scores.factors.dtype)
    if allowed is not None:
        sure = np.where(allowed, sure, sure.dtype.type(-np.inf))
    # The base is one more factor, of which everybody has one.
    width = 0 if count < FEW else whole_tiles(items)
    columns = np.zeros((item_scores.factors.shape[1] + 1, width), item_scores.factors.dtype)
    if width > 0:
        columns[:-1, :items], columns[-1, :items] = item_scores.factors.T, sure

    def rank(lo: int, hi: int) -> None:
        if count < FEW:
            scores = _score_few(item_scores, people, lo, hi, sure)
        else:
            scores = _score_block(people, lo, hi, columns)
        _add_families(item_scores, people, lo, hi, scores)
        best_items(items, scores, rated[lo : hi + 1], own.items, best[lo:hi], score[lo:hi])

    step = max(TILE, SCORE_BLOCK // max(1, items) // TILE * TILE)
    if items > 0:
        blocks = [partial(rank, lo, min(lo + step, count)) for lo in range(0, count, step)]
        run_all(blocks, thread_count(threads))
    who, place = np.nonzero(best >= 0)
    what = best[who, place]
    scores = score[who, place].astype(np.float64) + CAUTION * unsure[what]
    if people.own is not None:  # the order of somebody's list stays
        scores = people.own.mixed(who, scores)
    return who, what, scores


def _score_block(people: People, lo: int, hi: int, columns: Array) -> Array:
    """The scores of all items for the people lo..hi, padded to whole tiles."""
    coefficients = np.column_stack([people.coefficients[lo:hi], np.ones(hi - lo, columns.dtype)])
    scores = np.empty((whole_tiles(hi - lo), columns.shape[1]), columns.dtype)
    score_people(coefficients, columns, scores)
    return scores


def _score_few(item_scores: ItemScores, people: People, lo: int, hi: int, sure: Array) -> Array:
    """The same, item by item."""
    every = np.arange(len(sure))
    factors = item_scores.factors
    return np.stack(
        [
            sure + _dots(people.coefficients, factors, np.full_like(every, p), every, workers=1)
            for p in range(lo, hi)
        ]
    )


def _add_families(item_scores: ItemScores, people: People, lo: int, hi: int, scores: Array) -> None:
    """Add the effects of families to the scores of the people lo..hi."""
    for codes, rated in zip(item_scores.families, people.families, strict=True):
        mine = slice(rated.ptr[lo], rated.ptr[hi])
        table = np.zeros((hi - lo, family_count(codes)), dtype=scores.dtype)
        row = np.repeat(np.arange(hi - lo), np.diff(rated.ptr[lo : hi + 1]))
        table[row, rated.codes[mine]] = rated.effects[mine]
        add_family_scores(table, codes, scores)


def whole_tiles(count: int) -> int:
    """So many rows or columns, or a few more, up to a whole tile."""
    return -(-count // TILE) * TILE


def _dots(U: Array, V: Array, who: Array, what: Array, workers: int) -> Array:
    out = np.empty(len(who), dtype=V.dtype)
    run_ranges(dot_pairs, even_ranges(len(who), workers), workers, *_pairs(who, what), U, V, out)
    return out


def _pairs(who: Array, what: Array) -> Iterator[Array]:
    """One type for each, however pairs were made: every other would be compiled as well."""
    return (read_only(np.ascontiguousarray(rows, dtype=np.int32)) for rows in (who, what))


def family_count(codes: NDArray[np.int32]) -> int:
    """How many families there are; codes number them from 0."""
    return int(codes.max(initial=-1)) + 1
