"""Item effects where nobody knows how often an item was rated: each call owns a range of items."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from discreet.kernels.simd.vectors import FAST
from discreet.kernels.simd.width import vector_kernel

AT_ONCE = 8
"""Records of an item come in multiples of so many: vectors then have no remainder."""
MOMENTS = 12
"""How many numbers `effect_moments` concludes about an item."""


@njit(inline="always")
def _exp(x):  # type: ignore[no-untyped-def]
    """e^x for x <= 0 to 12 digits: a power of two and a series, faster than a call."""
    x = max(x, -700.0)
    k = np.floor(x * 1.4426950408889634 + 0.5)
    r = x - k * 0.6931471805599453
    p = 1 / 5040 + r * (1 / 40320 + r * (1 / 362880 + r * (1 / 3628800)))
    p = 1 / 24 + r * (1 / 120 + r * (1 / 720 + r * p))
    p = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * p)))
    return p * np.int64((np.int64(k) + 1023) << 52).view(np.float64)


@njit(inline="always")
def _beyond(x, s):  # type: ignore[no-untyped-def]
    """P(noise < x), and the noise's mean beyond |x|, for the sum of two Laplace numbers of scale s.

    Its density is (1 + a) e^-a / 4s with a = |x|/s, so the integrals end in (2 + a) e^-a / 4 and
    s (3 + 3 a + a^2) e^-a / 4.
    """
    a = abs(x) / s
    e = 0.25 * _exp(-a)
    tail = (2 + a) * e
    return 1 - tail if x > 0 else tail, s * (3 + a * (3 + a)) * e


@vector_kernel(error_model="numpy")
def count_beliefs(lo, hi, C, s, edges, odds, first, ptr, n, base, noise):  # type: ignore[no-untyped-def]
    """What a noisy count C_j says: a likely count n, its probability, and the noise of S there.

    Item j may have a count of the bins first[j], first[j] + 1, ..., one for each of its records
    ptr[j]..ptr[j+1]. A bin's probability is proportional to its odds and to the likelihood,
    averaged over it; n is what the count is on average if it lies there. The noise of
    S = 2 (B - A), given that of A + B, is even between -x and x, x = |C - n|, and falls off
    exponentially beyond.
    """
    for j in range(lo, hi):
        b, total, scale = first[j], 0.0, s[j]
        above, near = _beyond(C[j] - edges[b], scale)
        for k in range(ptr[j], ptr[j + 1]):
            below, far = _beyond(C[j] - edges[b + 1], scale)
            mass = max(above - below, 1e-300)
            base[k] = odds[b] * mass / (edges[b + 1] - edges[b])
            n[k] = min(max(C[j] - (far - near) / mass, edges[b]), edges[b + 1])
            x = abs(C[j] - n[k])
            cubes = x * x * (x / 3 + scale) + 2 * scale * scale * (x + scale)
            noise[k] = 4 * cubes / (x + scale)
            total += base[k]
            above, near = below, far
            b += 1
        for k in range(ptr[j], ptr[j + 1]):
            base[k] /= total


@vector_kernel(fastmath=FAST, error_model="numpy")
def effect_moments(lo, hi, ptr, n, base, chance, popularity, S, prior, slope, spread, out):  # type: ignore[no-untyped-def]
    """Averages over what item j's count n may be, given S_j, the noisy sum of its ratings.

    S_j has mean n m and variance spread n^2 + chance, with m = prior[j] + slope popularity. `out`
    gets, a row each: the means of n, popularity and its square; the weight w = n^2/variance times
    1, popularity and its square; n S/variance times 1 and popularity; the moments that tell the
    spread (what it would explain, and how much of it); the effect's mean and mean square.
    """
    for j in range(lo, hi):
        # Without a sign there is no check whether an index counts from the end.
        first, end = np.uint64(ptr[j]), np.uint64(ptr[j + 1])
        sum_, rest, most = S[j], prior[j], -np.inf
        for k in range(first, end):
            miss = sum_ - n[k] * (rest + slope * popularity[k])
            most = max(most, -0.5 * miss * miss / (spread * n[k] * n[k] + chance[k]))
        total, counts, q1, q2, w0, w1, w2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        y0, y1, explained, explicable, mean, square = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(first, end):
            x, q = n[k], popularity[k]
            inverse, m = 1 / (spread * x * x + chance[k]), rest + slope * q
            miss = sum_ - x * m
            likely = base[k] * _exp(-0.5 * miss * miss * inverse - most) * math.sqrt(inverse)
            w = likely * x * x * inverse
            y = likely * x * sum_ * inverse
            effect = m + spread * x * inverse * miss
            total += likely
            counts += likely * x
            q1 += likely * q
            q2 += likely * q * q
            w0 += w
            w1 += w * q
            w2 += w * q * q
            y0 += y
            y1 += y * q
            explained += w * inverse * (miss * miss - chance[k])
            explicable += w * x * x * inverse
            mean += likely * effect
            square += likely * (effect * effect + spread * chance[k] * inverse)
        sums = (counts, q1, q2, w0, w1, w2, y0, y1, explained, explicable, mean, square)
        for m in range(MOMENTS):
            out[m, j] = sums[m] / total
