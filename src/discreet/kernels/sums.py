"""Integer sums over ratings and people, exact in any order."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_votes(lo, hi, items, r, units, least, span, against, in_favour):  # type: ignore[no-untyped-def]
    """in_favour[j] += floor(units share), against[j] += the rest, share = (r - least) / span."""
    for k in range(lo, hi):
        share = min(max((np.float64(r[k]) - least) / span, 0.0), 1.0)
        whole = np.int64(units[k])
        part = np.int64(whole * share)
        in_favour[items[k]] += part
        against[items[k]] += whole - part


# The two passes of Chorus. Integers are held in 64-bit floats and moved to 64-bit integers before
# they could pass 2^53: every sum is exact, so it depends on no order. No fastmath here.
_EXACT = 4096


@njit(cache=True, nogil=True)
def user_vectors(lo, hi, ptr, items, a, z, floor, out):  # type: ignore[no-untyped-def]
    """u_i = g_i / sqrt(|g_i|^2 + h_i^2 + floor), g = sum a z, h^2 = sum a^2; a, z in 2^-20."""
    d = z.shape[1]
    g, part = np.empty(d, dtype=np.int64), np.empty(d)
    for i in range(lo, hi):
        g[:] = 0
        h = np.int64(0)
        start = ptr[i]
        while start < ptr[i + 1]:
            end = min(start + _EXACT, ptr[i + 1])
            part[:] = 0
            squares = 0.0
            for k in range(start, end):
                weight, row = np.float64(a[k]), z[items[k]]
                squares += weight * weight
                for f in range(d):
                    part[f] += weight * row[f]
            h += np.int64(squares)
            for f in range(d):
                g[f] += np.int64(part[f])
            start = end
        total = floor + np.float64(h) * 2.0**-40
        for f in range(d):
            size = np.float64(g[f]) * 2.0**-40
            total += size * size
        root = math.sqrt(total)
        for f in range(d):
            out[i, f] = np.float64(g[f]) * 2.0**-40 / root


@njit(cache=True, nogil=True)
def item_sums(lo, hi, ptr, users, a, U, out):  # type: ignore[no-untyped-def]
    """out[j] = sum over i of a_ij u_i, each product cut off to a multiple of 2^-30."""
    d = U.shape[1]
    part = np.empty(d)
    for j in range(lo, hi):
        out[j, :] = 0
        start = ptr[j]
        while start < ptr[j + 1]:
            end = min(start + _EXACT, ptr[j + 1])
            part[:] = 0
            for k in range(start, end):
                weight, u = np.float64(a[k]) * 1024.0, U[users[k]]
                for f in range(d):
                    part[f] += np.trunc(weight * u[f])
            for f in range(d):
                out[j, f] += np.int64(part[f])
            start = end
