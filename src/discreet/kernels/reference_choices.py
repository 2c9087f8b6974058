"""The NumPy twins of `choices`: slow, obvious, and the specification of each."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from discreet.arrays import Array
from discreet.kernels.choices import LEAST_CHANCE


def history_sums(
    lo: int,
    hi: int,
    ptr: Array,
    items: Array,
    weights: Array,
    columns: Array,
    first: int,
    weighed: Array,
    plain: Array,
    squares: Array,
) -> None:
    """Over a person's items: weighed = sum of w_k e_k, plain = sum of e_k, squares = of |e_k|^2.

    The squares are those of the columns from `first` on.
    """
    for p in range(lo, hi):
        own = slice(ptr[p], ptr[p + 1])
        rows = columns[items[own]]
        weighed[p] = weights[own] @ rows
        plain[p] = rows.sum(axis=0)
        squares[p] = np.square(rows[:, first:]).sum()


def choice_scores(
    items: int, scale: Array, popularity: Array, share: Array, linear: Array, scores: Array
) -> None:
    """scores[p, j] = b log(scale_j linear[p, j]) + (1 - b) (popularity_j + scores[p, j])."""
    people = len(share)
    chance = np.maximum(scale * linear[:people, :items], LEAST_CHANCE)
    b, own = share[:, None], scores[:people, :items]
    own[:] = b * np.log(chance) + (1 - b) * (popularity + own)


def two_products(rows: Array, h: Array, a: Array, linear: Array, out: Array) -> None:
    """linear[j] = rows[j] . h and out[j] = rows[j] . a."""
    linear[:], out[:] = rows @ h, rows @ a


def add_draws(
    bounds: Array,
    families: Array,
    draws: Array,
    ptr: Array,
    members: Array,
    weights: Array,
    scores: Array,
) -> None:
    """scores[p, j] += draws[k] weights[j] for all items j of the families k of person p."""
    for p, (first, last) in enumerate(pairwise(bounds)):
        for family, draw in zip(families[first:last], draws[first:last], strict=True):
            items = members[ptr[family] : ptr[family + 1]]
            scores[p, items] += draw * weights[items]
