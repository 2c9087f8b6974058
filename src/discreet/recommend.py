"""S3, recommend: from one person's own ratings and public item values alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.cpu import solve_ridge
from discreet.kernels.threads import row_ranges, run_ranges, thread_count

Array = NDArray[Any]
_BLOCK = 1 << 22
"""How many scores are held at once: memory stays bounded however many people are served."""


@dataclass(frozen=True)
class FoldIn:
    """The public constants of a person's ridge regression."""

    ridge: float
    ridge_per_rating: float = 0.0


class Shelf(NamedTuple):
    """What is scored: score = base_j + u . v_j."""

    base: Array
    factors: Array
    prior: Array
    """The coefficients of somebody of whom nothing is known."""


def typical_person(factors: Array, middle: float) -> Array:
    """The smallest u with u . v_j as near as possible to the middle of the scale for every item.

    A public stand-in for "the average person", where a model has no item effects: it is computed
    from the released factors alone. Directions the items hardly use are left at zero.
    """
    d = factors.shape[1]
    gram = factors.T.astype(np.float64) @ factors
    target = middle * factors.sum(axis=0, dtype=np.float64)
    ridge = 1e-3 * np.trace(gram) / d
    if ridge <= 0:
        return np.zeros(d, dtype=factors.dtype)
    return np.linalg.solve(gram + ridge * np.eye(d), target).astype(factors.dtype)


def fold_in(
    shelf: Shelf, ptr: Array, items: Array, ratings: Array, how: FoldIn, threads: int | None = None
) -> Array:
    """Each person's coefficients from their own ratings: person p rated items[ptr[p]:ptr[p+1]].

    u_p = argmin sum_j (r_pj - base_j - u . v_j)^2 + (ridge + ridge_per_rating n_p) |u - prior|^2
    """
    dtype = shelf.factors.dtype
    residual = ratings - shelf.base[items] - shelf.factors[items] @ shelf.prior
    out = np.empty((len(ptr) - 1, shelf.factors.shape[1]), dtype=dtype)
    workers = thread_count(threads)
    run_ranges(
        solve_ridge,
        row_ranges(ptr, workers),
        workers,
        ptr,
        items,
        residual.astype(dtype),
        shelf.factors,
        dtype.type(how.ridge),
        dtype.type(how.ridge_per_rating),
        np.zeros((1, out.shape[1]), dtype=dtype),
        out,
    )
    return out + shelf.prior


def top_n(
    shelf: Shelf, people: Array, ptr: Array, items: Array, n: int, *, exclude_rated: bool = True
) -> tuple[Array, Array, Array]:
    """The n best items for each person: (person, item, score), best first, ties by item order.

    Somebody with fewer than n unrated items gets as many as there are.
    """
    n = min(n, len(shelf.base))
    step = max(1, _BLOCK // max(1, len(shelf.base)))
    blocks = [
        _top_block(shelf, people, ptr, items, n, exclude_rated, lo, min(lo + step, len(people)))
        for lo in range(0, len(people), step)
    ]
    if not blocks:
        empty = np.empty(0, dtype=np.int64)
        return empty, empty, np.empty(0)
    who, what, score = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return who, what, score


def _top_block(
    shelf: Shelf, people: Array, ptr: Array, items: Array, n: int, exclude: bool, lo: int, hi: int
) -> tuple[Array, Array, Array]:
    scores = people[lo:hi] @ shelf.factors.T + shelf.base
    if exclude:
        who = np.repeat(np.arange(hi - lo), np.diff(ptr[lo : hi + 1]))
        scores[who, items[ptr[lo] : ptr[hi]]] = -np.inf
    best = np.argpartition(scores, len(shelf.base) - n, axis=1)[:, len(shelf.base) - n :]
    best.sort(axis=1)  # item order first, so that the stable sort below breaks ties by it
    picked = np.take_along_axis(scores, best, axis=1)
    order = np.argsort(-picked, axis=1, kind="stable")
    best, picked = (
        np.take_along_axis(best, order, axis=1),
        np.take_along_axis(picked, order, axis=1),
    )
    who = np.repeat(np.arange(lo, hi), n)
    kept = np.isfinite(picked).ravel()
    return who[kept], best.ravel()[kept], picked.ravel()[kept].astype(np.float64)
