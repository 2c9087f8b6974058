"""Choices: sums over a person's own items, and scores of two readings; each call owns people."""

from __future__ import annotations

import numpy as np
from numba import njit

from discreet.kernels.simd.vectors import FAST
from discreet.kernels.simd.width import vector_kernel


@vector_kernel(fastmath=FAST)
def history_sums(lo, hi, ptr, items, weights, columns, first, weighed, plain, squares):  # type: ignore[no-untyped-def]
    """Of a person's items k: weighed = sum of w_k e_k, plain = sum of e_k, over rows e of columns.

    `squares` gets the sum of |e_k|^2 over the columns from `first` on.
    """
    d = columns.shape[1]
    for p in range(lo, hi):
        own, all_, total = weighed[p], plain[p], columns.dtype.type(0)
        own[:] = 0
        all_[:] = 0
        for k in range(ptr[p], ptr[p + 1]):
            row, w = columns[items[k]], weights[k]
            for a in range(d):
                own[a] += w * row[a]
                all_[a] += row[a]
            for a in range(first, d):
                total += row[a] * row[a]
        squares[p] = total


@njit(inline="always")
def _log(x):  # type: ignore[no-untyped-def]
    """The logarithm of a normal 32-bit float above zero, to six digits: for vectors.

    x = 2^k (1 + r) with |r| < 0.42, and a series in s = r/(2 + r) for the logarithm of 1 + r.
    """
    bits = np.float32(x).view(np.int32)
    k = (bits - np.int32(0x3F3504F3)) >> np.int32(23)
    r = np.int32(bits - (k << np.int32(23))).view(np.float32) - np.float32(1)
    s = r / (np.float32(2) + r)
    z = s * s
    series = np.float32(2 / 3) + z * (np.float32(2 / 5) + z * np.float32(2 / 7 + 0.02))
    return np.float32(k) * np.float32(0.6931472) + s * (np.float32(2) + z * series)


LEAST_CHANCE = np.float32(1e-20)
"""What a reading that is not above zero counts as: far below what any item has."""


@vector_kernel(error_model="numpy")
def choice_scores(items, scale, popularity, share, linear, scores):  # type: ignore[no-untyped-def]
    """scores[p, j] = b log(scale_j linear[p, j]) + (1 - b) (popularity_j + scores[p, j]).

    b = share[p]; where the linear reading is not above zero, it counts as next to nothing. As in
    Python, every division would first be looked at for a zero, and nothing become a vector.
    """
    for p in range(len(share)):
        b, rest = share[p], np.float32(1) - share[p]
        read, out = linear[p], scores[p]
        for j in range(items):
            out[j] = b * _log(max(scale[j] * read[j], LEAST_CHANCE)) + rest * (
                popularity[j] + out[j]
            )


@vector_kernel(fastmath=FAST)
def two_products(rows, h, a, linear, out):  # type: ignore[no-untyped-def]
    """linear[j] = rows[j] . h and out[j] = rows[j] . a, for one person: every row is read once."""
    for j in range(len(rows)):
        row, one, two = rows[j], rows.dtype.type(0), rows.dtype.type(0)
        for k in range(len(h)):
            one += row[k] * h[k]
            two += row[k] * a[k]
        linear[j], out[j] = one, two


@vector_kernel()
def add_draws(bounds, families, draws, ptr, members, weights, scores):  # type: ignore[no-untyped-def]
    """scores[p, j] += draws[k] weights[j] for all items j of the families k of person p.

    Theirs are families[bounds[p]:bounds[p+1]], the items of family f members[ptr[f]:ptr[f+1]].
    """
    for p in range(len(bounds) - 1):
        for k in range(bounds[p], bounds[p + 1]):
            for m in range(ptr[families[k]], ptr[families[k] + 1]):
                scores[p, members[m]] += draws[k] * weights[members[m]]
