"""Lists: what somebody would choose and would like, ranked; from a release and one's own history.

Among the items that a person is likeliest to choose, those are first that the person would also
like: best = chance of choosing x chance of liking. Both are computed from public values and the
person's own ratings or events alone.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array, Floats
from discreet.kernels.choices import add_draws, choice_scores, two_products
from discreet.kernels.lists import best_items, score_people
from discreet.kernels.threads import run_all, thread_count
from discreet.release.choices import ChoiceModel, Choosers
from discreet.release.scoring import (
    FEW,
    SCORE_BLOCK,
    TILE,
    Own,
    family_count,
    fold_in_families,
    whole_tiles,
)

FAMILY_DRAW = 2.0
"""An item is chosen 1 + 2 n/size times as often by somebody who has chosen n of its family of this
size: docs/constants.md."""
CANDIDATES, CANDIDATES_EACH = 30, 3
"""So many of the likeliest items, and so many for each place of a list, are judged by liking."""
LIKING, LIKING_SLOPE = 0.7, 2.4
"""log(chance of liking) counts 0.7; the chance is a logistic function of the predicted rating above
the mean, in quarters of the scale."""
DIVERSE_EACH = 6
"""For varied lists, the best so many for each place are looked at."""
_SIMILAR = 5.0
"""One item above that is wholly alike counts as a fifth of `diversity`, in nats."""
_VARIED_AT_ONCE = 1024
"""The profiles of so many people's candidates are held in memory."""
_SORTED = 256
"""Longer lists are sorted by NumPy, not by insertion."""


class Family(NamedTuple):
    """A grouping of the items, and who is in each family: members[ptr[f]:ptr[f+1]]."""

    codes: NDArray[np.int32]
    ptr: NDArray[np.int64]
    members: NDArray[np.int32]

    @classmethod
    def of(cls, codes: NDArray[np.int32]) -> Family:
        """From the family of every item, -1 for none."""
        order = np.argsort(codes, kind="stable")
        alone = int((codes < 0).sum())
        sizes = np.bincount(codes[codes >= 0], minlength=family_count(codes))
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(codes, ptr, order[alone:].astype(np.int32))


class Candidates(NamedTuple):
    """The likeliest items of every person, likeliest first: -1 where there are no more."""

    items: NDArray[np.int32]
    scores: NDArray[np.float32]
    """The logarithm of the chance of choosing, up to a constant of the person."""


def likeliest(
    model: ChoiceModel,
    people: Choosers,
    own: Own,
    families: tuple[Family, ...],
    most: int,
    *,
    allowed: NDArray[np.bool_] | None = None,
    exclude_rated: bool = True,
    threads: int | None = None,
) -> Candidates:
    """The items that each person is likeliest to choose, at most so many."""
    count, items = len(people.share), len(model.scale)
    most = min(most, items)
    found = np.full((count, most), -1, dtype=np.int32)
    chances = np.full((count, most), -np.inf, dtype=np.float32)
    popularity = model.popularity if allowed is None else _masked(model.popularity, allowed)
    workers = thread_count(threads)
    drawn = [_drawn(family, own, workers) for family in families]
    rated = own.ptr if exclude_rated else np.zeros(count + 1, dtype=np.int64)

    def rank(lo: int, hi: int) -> None:
        linear, scores = _readings(model, people, lo, hi)
        choice_scores(items, model.scale, popularity, people.share[lo:hi], linear, scores)
        for family, (bounds, codes, draws) in zip(families, drawn, strict=True):
            members = family.ptr, family.members, model.unfamiliar
            add_draws(bounds[lo : hi + 1], codes, draws, *members, scores)
        pick = _sorted_best if most > _SORTED else best_items
        pick(items, scores, rated[lo : hi + 1], own.items, found[lo:hi], chances[lo:hi])

    step = max(TILE, SCORE_BLOCK // 2 // max(1, items) // TILE * TILE)
    blocks = [partial(rank, lo, min(lo + step, count)) for lo in range(0, count, step)]
    run_all(blocks, workers)
    return Candidates(found, chances)


def reranked(candidates: Candidates, liking: Floats) -> Candidates:
    """The candidates by choosing and liking together; `liking` are logarithms, one for each."""
    total = np.where(candidates.items >= 0, candidates.scores + LIKING * liking, -np.inf)
    order = np.argsort(-total, axis=1, kind="stable")
    return Candidates(
        np.take_along_axis(candidates.items, order, axis=1),
        np.take_along_axis(total, order, axis=1).astype(np.float32),
    )


def chance_of_liking(predicted: Floats, mean: float, quarter: float) -> Floats:
    """Its logarithm, for ratings predicted above or below the mean of all."""
    return np.asarray(-np.logaddexp(0.0, -LIKING_SLOPE * (predicted - mean) / quarter))


def varied(candidates: Candidates, n: int, diversity: float, profiles: Array) -> Candidates:
    """The first n, each chosen knowing those above it: likeness to them counts against an item.

    `profiles` has a row of length 1 for every item (or 0): two items are alike by their product.
    """
    pool = min(candidates.items.shape[1], DIVERSE_EACH * n)
    items, scores = candidates.items[:, :pool], candidates.scores[:, :pool]
    parts = [
        _vary(Candidates(items[lo:hi], scores[lo:hi]), n, diversity, profiles)
        for lo, hi in pairwise([*range(0, len(items), _VARIED_AT_ONCE), len(items)])
    ]
    return Candidates(*map(np.concatenate, zip(*parts, strict=True))) if parts else candidates


def _vary(candidates: Candidates, n: int, diversity: float, profiles: Array) -> Candidates:
    items, scores = candidates
    rows, pool = profiles[items], items.shape[1]
    listed, kept = np.full((2, len(items), min(n, pool)), -1)
    everybody = np.arange(len(items))
    gained = scores.copy()
    for k in range(listed.shape[1]):
        best = np.argmax(gained, axis=1)
        found = np.isfinite(gained[everybody, best])
        listed[:, k] = np.where(found, items[everybody, best], -1)
        kept[:, k] = best
        alike = np.einsum("pck,pk->pc", rows, rows[everybody, best])
        gained -= diversity / _SIMILAR * np.where(found[:, None], alike, 0.0)
        gained[everybody, best] = -np.inf
    return Candidates(listed.astype(np.int32), np.take_along_axis(scores, kept, axis=1))


def _masked(popularity: Array, allowed: NDArray[np.bool_]) -> Array:
    return np.where(allowed, popularity, np.float32(-np.inf))


def _readings(model: ChoiceModel, people: Choosers, lo: int, hi: int) -> tuple[Array, Array]:
    """Both readings of all items for the people lo..hi; many are computed in tiles."""
    if hi - lo < FEW:
        linear, loglinear = np.empty((2, hi - lo, len(model.scale)), dtype=np.float32)
        for p in range(lo, hi):
            vectors = people.linear[p], people.loglinear[p]
            two_products(model.rows, *vectors, linear[p - lo], loglinear[p - lo])
        return linear, loglinear
    shape = (2, whole_tiles(hi - lo), model.tiles.shape[1])
    linear, loglinear = np.empty(shape, dtype=np.float32)
    score_people(people.linear[lo:hi], model.tiles, linear)
    score_people(people.loglinear[lo:hi], model.tiles, loglinear)
    return linear, loglinear


def _drawn(family: Family, own: Own, workers: int) -> tuple[Array, Array, Array]:
    """The families that people chose from, and how much that draws them to each."""
    nothing = np.zeros(len(own.items))
    bounds, codes, _, counts = fold_in_families(family.codes, own, nothing, workers)
    sizes = np.diff(family.ptr)[codes]
    return bounds, codes, np.log1p(FAMILY_DRAW * counts / sizes).astype(np.float32)


def _sorted_best(
    items: int, scores: Array, ptr: Array, rated: Array, out: Array, best: Array
) -> None:
    """`best_items` for long lists."""
    n = out.shape[1]
    for p in range(len(out)):
        row = scores[p, :items]
        row[rated[ptr[p] : ptr[p + 1]]] = -np.inf
        order = np.argsort(-row, kind="stable")[:n]
        there = np.isfinite(row[order])
        out[p] = np.where(there, order, -1)
        best[p] = row[order]
