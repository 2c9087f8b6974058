"""Integer sums over ratings and people on this machine's cores, exact in any order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numba import njit

from discreet.arrays import Array, Floats, Integers
from discreet.kernels.compute import Rows
from discreet.kernels.threads import even_ranges, row_ranges, run_all, run_ranges


@njit(cache=True, nogil=True)
def add_votes(lo, hi, items, r, weights, least, span, against, in_favour):  # type: ignore[no-untyped-def]
    """in_favour[j] += floor(w share), against[j] += the rest, share = (r - least) / span."""
    for k in range(lo, hi):
        share = min(max((np.float64(r[k]) - least) / span, 0.0), 1.0)
        whole = np.int64(weights[k])
        part = np.int64(whole * share)
        in_favour[items[k]] += part
        against[items[k]] += whole - part


# The two passes of Chorus. Integers are held in 64-bit floats and moved to 64-bit integers after
# `exact` records, before they could pass 2^53: no sum depends on an order. No fastmath here.


@njit(cache=True, nogil=True)
def user_vectors(lo, hi, ptr, items, a, z, floor, grid, exact, out):  # type: ignore[no-untyped-def]
    """u_i = g_i / sqrt(|g_i|^2 + h_i^2 + floor), g = sum a z, h^2 = sum a^2; a, z on a grid."""
    d, step = z.shape[1], 1.0 / (np.float64(grid) * np.float64(grid))
    g, part = np.empty(d, dtype=np.int64), np.empty(d)
    for i in range(lo, hi):
        g[:] = 0
        h = np.int64(0)
        start = ptr[i]
        while start < ptr[i + 1]:
            end = min(start + exact, ptr[i + 1])
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
        total = floor + np.float64(h) * step
        for f in range(d):
            size = np.float64(g[f]) * step
            total += size * size
        root = math.sqrt(total)
        for f in range(d):
            out[i, f] = np.float64(g[f]) * step / root


@njit(cache=True, nogil=True)
def item_sums(lo, hi, ptr, users, a, U, finer, exact, out):  # type: ignore[no-untyped-def]
    """out[j] = sum over i of a_ij u_i, each product cut off on a grid so many times finer."""
    d = U.shape[1]
    part = np.empty(d)
    for j in range(lo, hi):
        out[j, :] = 0
        start = ptr[j]
        while start < ptr[j + 1]:
            end = min(start + exact, ptr[j + 1])
            part[:] = 0
            for k in range(start, end):
                weight, u = np.float64(a[k]) * finer, U[users[k]]
                for f in range(d):
                    part[f] += np.trunc(weight * u[f])
            for f in range(d):
                out[j, f] += np.int64(part[f])
            start = end


@dataclass(frozen=True)
class OnCPU:
    """Compiled loops on this machine's cores."""

    threads: int

    def votes(
        self, item: Array, rating: Array, weights: Array, scale: tuple[float, float], items: int
    ) -> Integers:
        """Every thread adds up a range of records by itself."""
        ranges = even_ranges(len(item), self.threads)
        sums = np.zeros((len(ranges), 2, items), dtype=np.int64)
        calls = [
            partial(add_votes, *range_, item, rating, weights, *scale, *own)
            for range_, own in zip(ranges, sums, strict=True)
        ]
        run_all(calls, self.threads)
        return np.asarray(sums.sum(axis=0))

    def user_vectors(
        self, records: Rows, z: Array, floor: float, *, grid: int, exact: int
    ) -> Floats:
        """Every person is owned by one thread."""
        U = np.empty((len(records.ptr) - 1, z.shape[1]))
        ranges = row_ranges(records.ptr, self.threads)
        run_ranges(user_vectors, ranges, self.threads, *records, z, floor, grid, exact, U)
        return U

    def item_sums(self, records: Rows, U: Floats, *, finer: int, exact: int) -> Integers:
        """Every item is owned by one thread."""
        V = np.empty((len(records.ptr) - 1, U.shape[1]), dtype=np.int64)
        ranges = row_ranges(records.ptr, self.threads)
        run_ranges(item_sums, ranges, self.threads, *records, U, finer, exact, V)
        return V
