"""Item effects where nobody knows how often an item was rated: each call owns a range of groups.

A group has `LANES` items of about the same noisy count, which may have counts of the same bins, so
that one vector holds a bin of all of them. The items of group g are order[g]; the last group may
name an item more than once. Its records are rows ptr[g]..ptr[g+1] of matrices with a column for
each of its items, a row for each of the bins first[g], first[g] + 1, ...
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from discreet.kernels.simd.unrolled import row_in_registers, unrolled_for

LANES = 8
"""Items of a group: numbers in the widest vector."""
MOMENTS = 12
"""How many numbers `effect_moments` concludes about an item."""
LEAST_VARIANCE = 1e-12
"""Of S by chance and noise: a count may be zero, and known."""
LEAST_MASS = 1e-200
"""Of a bin, so that there is something to divide by; products with it are far from zero, too."""


@njit(inline="always")
def _exp(x):  # type: ignore[no-untyped-def]
    """e^x for x <= 0 to 12 digits: a power of two and a series, faster than a call."""
    x = max(x, -700.0)
    k = np.floor(x * 1.4426950408889634 + 0.5)
    r = x - k * 0.6931471805599453
    p = 1 / 5040 + r * (1 / 40320 + r * (1 / 362880 + r * (1 / 3628800)))
    p = 1 / 24 + r * (1 / 120 + r * (1 / 720 + r * p))
    p = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * p)))
    # By way of 32 bits: before AVX-512 no vector of numbers becomes one of 64-bit integers.
    return p * np.int64((np.int64(np.int32(k)) + 1023) << 52).view(np.float64)


@njit(inline="always")
def _log(x):  # type: ignore[no-untyped-def]
    """log(x) for x >= 1 to 12 digits: a power of two, and 2 artanh((m - 1)/(m + 1)) of the rest."""
    bits = np.float64(x).view(np.uint64)
    # As many powers as leave m between the root of a half and that of two.
    k = (bits - np.uint64(0x3FE6A09E667F3BCD)) >> np.uint64(52)
    m = np.uint64(bits - (k << np.uint64(52))).view(np.float64)
    f = (m - 1) / (m + 1)
    z = f * f
    p = 1 / 7 + z * (1 / 9 + z * (1 / 11 + z * (1 / 13 + z * (1 / 15))))
    p = 2 + z * (2 / 3 + z * (2 / 5 + z * (2 * p)))
    return np.int32(k) * 0.6931471805599453 + f * p


@njit(inline="always")
def _beyond(x, rate):  # type: ignore[no-untyped-def]
    """P(noise < x), less one where x > 0, and the noise's mean beyond |x|.

    For the sum of two Laplace numbers of scale s = 1/rate, and the mean in units of s: the density
    is (1 + a) e^-a / 4s with a = |x|/s, so the integrals end in (2 + a) e^-a / 4 and
    s (3 + 3 a + a^2) e^-a / 4. Less one, as a small number beside one would lose its digits.
    """
    a = abs(x) * rate
    e = 0.25 * _exp(-a)
    tail = (2 + a) * e
    return -tail if x > 0 else tail, (3 + a * (3 + a)) * e


@unrolled_for("n", error_model="numpy")
def count_beliefs(  # type: ignore[no-untyped-def]
    lo, hi, order, first, ptr, C, s, edges, odds, reach, per,
    n, base, noise, popularity, means, length,
):  # fmt: skip
    """What a noisy count C_j says: a likely count n, its probability, and the noise of S there.

    A bin's probability is proportional to `base`: its odds times the likelihood, averaged over the
    bin, unless all of it is further away than `reach` scales of the noise: what else is in a group
    changes nothing about an item. n is what the count is on average if it lies there, and
    log(1 + per n) its popularity. The noise of S = 2 (B - A), given that of A + B, is even between
    -x and x, x = |C - n|, and falls off exponentially beyond. `means` gets every item's expected
    count.
    """
    place, scale = row_in_registers(n, length), row_in_registers(n, length)
    above, near = row_in_registers(n, length), row_in_registers(n, length)
    total, mean = row_in_registers(n, length), row_in_registers(n, length)
    for g in range(lo, hi):
        # Without a sign there is no check whether an index counts from the end.
        b = np.uint64(first[g])
        for i in range(len(length)):
            place[i], scale[i] = C[order[g, i]], s[order[g, i]]
            above[i], near[i] = _beyond(place[i] - edges[b], 1 / scale[i])
            total[i] = mean[i] = 0.0
        for k in range(np.uint64(ptr[g]), np.uint64(ptr[g + 1])):
            left, right = edges[b], edges[b + np.uint64(1)]
            share = odds[b] * (1 / (right - left))
            for i in range(len(length)):
                x = place[i]
                below, far = _beyond(x - right, 1 / scale[i])
                inside = (1.0 if x > left else 0.0) - (1.0 if x > right else 0.0)
                mass = max(above[i] - below + inside, LEAST_MASS)
                count = min(max(x - scale[i] * (far - near[i]) / mass, left), right)
                away = max(x - right, left - x)
                mass = mass if away <= reach * scale[i] else LEAST_MASS
                n[k, i], base[k, i] = count, share * mass
                x = abs(x - count)
                bend = x * x * (x * (1 / 3) + scale[i]) / (x + scale[i])
                noise[k, i] = 4 * bend + 8 * scale[i] * scale[i]
                popularity[k, i] = _log(1 + per * count)
                total[i] += share * mass
                mean[i] += share * mass * count
                above[i], near[i] = below, far
            b += np.uint64(1)
        for i in range(len(length)):
            means[order[g, i]] = mean[i] / total[i]


@unrolled_for("n", error_model="numpy")
def effect_moments(  # type: ignore[no-untyped-def]
    lo, hi, order, ptr, n, base, noise, popularity, chance, S, prior, slope, spread, out, length
):
    """Averages over what item j's count n may be, given S_j, the noisy sum of its ratings.

    S_j has mean n m, with m = prior[j] + slope popularity, and variance spread n^2 + v, where
    v = chance n + noise. `out` gets, a row each: the means of n, popularity and its square; the
    weight w = n^2/variance times 1, popularity and its square; n S/variance times 1 and
    popularity; the moments that tell the spread (what it would explain, and how much of it); the
    effect's mean and mean square.
    """
    sum_, rest = row_in_registers(n, length), row_in_registers(n, length)
    most, total = row_in_registers(n, length), row_in_registers(n, length)
    counts, effects = row_in_registers(n, length), row_in_registers(n, length)
    q1, q2 = row_in_registers(n, length), row_in_registers(n, length)
    w0, w1 = row_in_registers(n, length), row_in_registers(n, length)
    w2, squares = row_in_registers(n, length), row_in_registers(n, length)
    y0, y1 = row_in_registers(n, length), row_in_registers(n, length)
    explained, explicable = row_in_registers(n, length), row_in_registers(n, length)
    for g in range(lo, hi):
        # Without a sign there is no check whether an index counts from the end.
        start, end = np.uint64(ptr[g]), np.uint64(ptr[g + 1])
        for i in range(len(length)):
            sum_[i], rest[i], most[i] = S[order[g, i]], prior[order[g, i]], -np.inf
            total[i] = counts[i] = q1[i] = q2[i] = w0[i] = w1[i] = w2[i] = 0.0
            y0[i] = y1[i] = explained[i] = explicable[i] = effects[i] = squares[i] = 0.0
        for k in range(start, end):
            for i in range(len(length)):
                x = n[k, i]
                miss = sum_[i] - x * (rest[i] + slope * popularity[k, i])
                variance = spread * x * x + max(chance * x + noise[k, i], LEAST_VARIANCE)
                most[i] = max(most[i], -0.5 * miss * miss / variance)
        for k in range(start, end):
            for i in range(len(length)):
                x, q = n[k, i], popularity[k, i]
                v, m = max(chance * x + noise[k, i], LEAST_VARIANCE), rest[i] + slope * q
                inverse, miss = 1 / (spread * x * x + v), sum_[i] - x * m
                likely = _exp(-0.5 * miss * miss * inverse - most[i]) * math.sqrt(inverse)
                p = base[k, i] * likely
                y = p * x * inverse
                w = y * x
                effect = m + spread * x * inverse * miss
                total[i] += p
                counts[i] += p * x
                q1[i] += p * q
                q2[i] += p * q * q
                w0[i] += w
                w1[i] += w * q
                w2[i] += w * q * q
                y0[i] += y
                y1[i] += y * q
                explained[i] += w * inverse * (miss * miss - v)
                explicable[i] += w * x * x * inverse
                effects[i] += p * effect
                squares[i] += p * (effect * effect + spread * v * inverse)
        for i in range(len(length)):
            j, share = order[g, i], 1 / total[i]
            out[0, j], out[1, j], out[2, j] = share * counts[i], share * q1[i], share * q2[i]
            out[3, j], out[4, j], out[5, j] = share * w0[i], share * w1[i], share * w2[i]
            out[6, j], out[7, j] = share * sum_[i] * y0[i], share * sum_[i] * y1[i]
            out[8, j], out[9, j] = share * explained[i], share * explicable[i]
            out[10, j], out[11, j] = share * effects[i], share * squares[i]


@unrolled_for("likelihood", error_model="numpy")
def improve_odds(steps, first, ptr, likelihood, weight, start, odds, length):  # type: ignore[no-untyped-def]
    """Steps of EM for the odds of bins, given the likelihood of every item's count in each.

    odds_b <- (start_b + sum over items of weight odds_b likelihood_b / (sum over bins of odds
    likelihood)) / (1 + sum of weights). The odds before anything is known are one more item.
    """
    share, whole = row_in_registers(likelihood, length), 1.0
    explained = np.empty((len(odds), len(length)))
    for g in range(len(first)):
        for i in range(len(length)):
            whole += weight[g, i]
    for _ in range(steps):
        for b in range(len(odds)):
            for i in range(len(length)):
                explained[b, i] = 0.0
        for g in range(len(first)):
            row, bins = np.uint64(ptr[g]), np.uint64(ptr[g + 1] - ptr[g])
            bin_ = np.uint64(first[g])
            for i in range(len(length)):
                share[i] = 0.0
            for k in range(bins):
                for i in range(len(length)):
                    share[i] += odds[bin_ + k] * likelihood[row + k, i]
            for i in range(len(length)):
                share[i] = weight[g, i] / share[i]
            for k in range(bins):
                for i in range(len(length)):
                    explained[bin_ + k, i] += share[i] * likelihood[row + k, i]
        for b in range(len(odds)):
            items = 0.0
            for i in range(len(length)):
                items += explained[b, i]
            odds[b] = (start[b] + odds[b] * items) / whole
