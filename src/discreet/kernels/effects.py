"""Item effects where nobody knows how often an item was rated: each call owns a range of items."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from discreet.kernels.simd.width import vector_kernel

NEGLIGIBLE = 1e-6
"""Counts of a probability below that, beside the likeliest, are left out."""
MOMENTS = 12
"""How many numbers `effect_moments` concludes about an item."""


@njit(inline="always")
def _below(x, s):  # type: ignore[no-untyped-def]
    """P(noise < x) for the sum of two Laplace numbers of scale s."""
    a = abs(x) / s
    tail = 0.25 * (2 + a) * math.exp(-a)
    return 1 - tail if x > 0 else tail


@vector_kernel()
def count_beliefs(lo, hi, C, s, edges, odds, first, start, end, n, base, noise):  # type: ignore[no-untyped-def]
    """What a noisy count C_j says: a likely count n, its probability, and the noise of S there.

    Item j may have a count of the bins first[j], first[j] + 1, ..., one for each of its records
    start[j]..end[j]; afterwards the unlikely ones at both ends are left out. A bin's probability
    is proportional to its odds and to the likelihood, averaged over it; within it the count is
    drawn to C. The noise of S = 2 (B - A), given that of
    A + B, is even between -x and x, x = |C - n|, and falls off exponentially beyond.
    """
    for j in range(lo, hi):
        b, total, most = first[j], 0.0, 0.0
        above = _below(C[j] - edges[b], s[j])
        for k in range(start[j], end[j]):
            width = edges[b + 1] - edges[b]
            middle = edges[b] + width / 2
            pull = width**2 / (width**2 + 48 * s[j] ** 2)
            n[k] = middle + (min(max(C[j], edges[b]), edges[b + 1]) - middle) * pull
            below = _below(C[j] - edges[b + 1], s[j])
            base[k] = odds[b] * max(above - below, 1e-300) / width
            x = abs(C[j] - n[k])
            cubes = x**3 / 3 + s[j] * x**2 + 2 * s[j] ** 2 * x + 2 * s[j] ** 3
            noise[k] = 4 * cubes / (x + s[j])
            most = max(most, base[k])
            above = below
            b += 1
        while base[start[j]] < NEGLIGIBLE * most:
            start[j] += 1
        while base[end[j] - 1] < NEGLIGIBLE * most:
            end[j] -= 1
        for k in range(start[j], end[j]):
            total += base[k]
        for k in range(start[j], end[j]):
            base[k] /= total


@njit(inline="always")
def _exp(x):  # type: ignore[no-untyped-def]
    """e^x for x <= 0 to 12 digits, in operations that vectors have, and so eight times as fast."""
    x = max(x, -700.0)
    k = np.floor(x * 1.4426950408889634 + 0.5)
    r = x - k * 0.6931471805599453
    p = 1 + r / 8 * (1 + r / 9 * (1 + r / 10))
    p = 1 + r / 4 * (1 + r / 5 * (1 + r / 6 * (1 + r / 7 * p)))
    p = 1 + r * (1 + r / 2 * (1 + r / 3 * p))
    return p * np.int64((np.int64(k) + 1023) << 52).view(np.float64)


@vector_kernel()
def effect_moments(lo, hi, start, end, n, base, chance, popularity, S, prior, slope, spread, out):  # type: ignore[no-untyped-def]
    """Averages over what item j's count n may be, given S_j, the noisy sum of its ratings.

    S_j has mean n m and variance spread n^2 + chance, with m = prior[j] + slope popularity. `out`
    gets the means of n, popularity and its square; the weight w = n^2/variance times 1, popularity
    and its square; n S/variance times 1 and popularity; the moments that tell the spread (what it
    would explain, and how much of it); the effect's mean and mean square.
    """
    for j in range(lo, hi):
        most = -np.inf
        for k in range(start[j], end[j]):
            miss = S[j] - n[k] * (prior[j] + slope * popularity[k])
            most = max(most, -0.5 * miss * miss / (spread * n[k] * n[k] + chance[k]))
        total, counts, q1, q2, w0, w1, w2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        y0, y1, explained, explicable, mean, square = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(start[j], end[j]):
            x, q = n[k], popularity[k]
            m, inverse = prior[j] + slope * q, 1 / (spread * x * x + chance[k])
            miss, w, y = S[j] - x * m, x * x * inverse, x * S[j] * inverse
            likely = base[k] * _exp(-0.5 * miss * miss * inverse - most) * math.sqrt(inverse)
            effect = m + spread * x * inverse * miss
            total += likely
            counts += likely * x
            q1 += likely * q
            q2 += likely * q * q
            w0 += likely * w
            w1 += likely * w * q
            w2 += likely * w * q * q
            y0 += likely * y
            y1 += likely * y * q
            explained += likely * w * inverse * (miss * miss - chance[k])
            explicable += likely * w * w
            mean += likely * effect
            square += likely * (effect * effect + spread * chance[k] * inverse)
        sums = (counts, q1, q2, w0, w1, w2, y0, y1, explained, explicable, mean, square)
        for m in range(MOMENTS):
            out[j, m] = sums[m] / total
