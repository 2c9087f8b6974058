"""Gradients of one side's factors: each call owns a range of records."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from discreet.kernels.simd.instructions import AHEAD, about_to_read
from discreet.kernels.simd.unrolled import row_in_registers, unrolled_for
from discreet.kernels.simd.vectors import FAST
from discreet.kernels.simd.width import vector_kernel


@vector_kernel()
def partition(part_of, parts, rows, cols, r, rows_out, cols_out, r_out):  # type: ignore[no-untyped-def]
    """The records part by part, in the order they had; returns where each part starts."""
    n = len(rows)
    ptr = np.zeros(parts + 1, dtype=np.int64)
    for k in range(n):
        ptr[part_of[k] + 1] += 1
    for part in range(parts):
        ptr[part + 1] += ptr[part]
    place = ptr[:-1].copy()
    for k in range(n):
        p = place[part_of[k]]
        rows_out[p], cols_out[p], r_out[p] = rows[k], cols[k], r[k]
        place[part_of[k]] = p + 1
    return ptr


@vector_kernel()
def shuffle(lo, hi, rows, cols, r, seed):  # type: ignore[no-untyped-def]
    """Put records lo..hi in a random order."""
    state = np.uint64(seed) | np.uint64(1)
    for k in range(hi - 1, lo, -1):
        # Marsaglia's generator of 64 bits: quick, and an order keeps no secret.
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        j = lo + np.int64(((state >> np.uint64(32)) * np.uint64(k - lo + 1)) >> np.uint64(32))
        rows[k], rows[j] = rows[j], rows[k]
        cols[k], cols[j] = cols[j], cols[k]
        r[k], r[j] = r[j], r[k]


@njit(inline="always")
def _row(matrix, rows, k):  # type: ignore[no-untyped-def]
    """matrix[rows[k]]; an index without a sign needs no check whether it counts from the end."""
    return matrix[np.uint64(rows[np.uint64(k)])]


_LINE = 16
"""Numbers of 32 bits in a line of the caches, which memory brings at a time."""


@njit(inline="always")
def _ask_ahead(matrix, rows, k, d):  # type: ignore[no-untyped-def]
    """Ask for a row that is needed soon: those of large tables lie beyond the caches.

    A loop over records with this in it stays one, too: LLVM would make vectors of several records.
    """
    start = np.int64(rows[np.uint64(min(k + AHEAD, len(rows) - 1))]) * d
    about_to_read(matrix, start)
    about_to_read(matrix, start + d - 1)
    if d > 2 * _LINE:  # its ends are not enough: a tenth less time with 64 factors and AVX2
        about_to_read(matrix, start + _LINE)
        about_to_read(matrix, start + 2 * _LINE)
        about_to_read(matrix, start + d - _LINE)


@unrolled_for("own")
def add_gradient(lo, hi, rows, cols, r, own, other, step, out, squared, length):  # type: ignore[no-untyped-def]
    """out[i] += step * sum over j of e_ij other_j and squared[i] += sum over j of e_ij^2, over
    records lo..hi, e_ij being r_ij - own_i . other_j. Neighbouring records of a row share a sum."""
    d = len(length)
    x, total = row_in_registers(own, length), row_in_registers(own, length)
    k = lo
    while k < hi:
        i = rows[k]
        for a in range(d):
            x[a], total[a] = own[i, a], 0
        errors = 0.0
        while k < hi and rows[np.uint64(k)] == i:
            _ask_ahead(other, cols, k, d)
            z = _row(other, cols, k)
            dot = own.dtype.type(0)
            for a in range(d):
                dot += x[a] * z[a]
            error = r[np.uint64(k)] - dot
            for a in range(d):
                total[a] += error * z[a]
            errors += np.float64(error) * np.float64(error)
            k += 1
        squared[i] += errors
        for a in range(d):
            out[i, a] += step * total[a]


@unrolled_for("other")
def add_normal_product(lo, hi, step, ptr, cols, r, centre, other, out, length):  # type: ignore[no-untyped-def]
    """out += R' D^-1/2 R other, R being r - centre and D the numbers of records, in the rows
    lo, lo + step, ... < hi: what multiplying there and back adds up to, in one pass."""
    d = len(length)
    total = row_in_registers(other, length)
    for i in range(lo, hi, step):
        start, end = ptr[i], ptr[i + 1]
        for a in range(d):
            total[a] = 0
        for k in range(start, end):
            _ask_ahead(other, cols, k, d)
            weight, z = r[np.uint64(k)] - centre, _row(other, cols, k)
            for a in range(d):
                total[a] += weight * z[a]
        scale = other.dtype.type(1 / math.sqrt(max(1, end - start)))
        for a in range(d):
            total[a] *= scale
        for k in range(start, end):
            _ask_ahead(out, cols, k, d)
            weight, place = r[np.uint64(k)] - centre, _row(out, cols, k)
            for a in range(d):
                place[a] += weight * total[a]


@unrolled_for("U")
def take_steps(lo, hi, rows, cols, r, U, V, rate, keep_u, keep_v, length):  # type: ignore[no-untyped-def]
    """Records lo..hi one after another: u <- keep_u u + rate e v and v <- keep_v v + rate e u, by
    the old u and v, e being r - u . v. Returns the sum of e^2."""
    d = len(length)
    x, z = row_in_registers(U, length), row_in_registers(V, length)
    squared = 0.0
    for k in range(lo, hi):
        _ask_ahead(U, rows, k, d)
        _ask_ahead(V, cols, k, d)
        u, v = _row(U, rows, k), _row(V, cols, k)
        dot = U.dtype.type(0)
        for a in range(d):
            x[a], z[a] = u[a], v[a]
            dot += x[a] * z[a]
        error = r[np.uint64(k)] - dot
        step = rate * error
        for a in range(d):
            u[a] = keep_u * x[a] + step * z[a]
            v[a] = keep_v * z[a] + step * x[a]
        squared += np.float64(error) * np.float64(error)
    return squared


@unrolled_for("own")
def squared_errors(lo, hi, ptr, cols, r, own, other, squared, length):  # type: ignore[no-untyped-def]
    """squared[i] = sum over j of (r_ij - own_i . other_j)^2."""
    d = len(length)
    for i in range(lo, hi):
        x, total = own[i], 0.0
        for k in range(ptr[i], ptr[i + 1]):
            _ask_ahead(other, cols, k, d)
            z = _row(other, cols, k)
            dot = own.dtype.type(0)
            for a in range(d):
                dot += x[a] * z[a]
            error = np.float64(r[np.uint64(k)] - dot)
            total += error * error
        squared[i] = total


@vector_kernel(fastmath=FAST)
def project_rows(lo, hi, U):  # type: ignore[no-untyped-def]
    """u_i <- u_i / max(1, |u_i|)."""
    d = U.shape[1]
    for i in range(lo, hi):
        norm2 = U.dtype.type(0)
        for a in range(d):
            norm2 += U[i, a] * U[i, a]
        if norm2 > 1:
            norm = U.dtype.type(math.sqrt(norm2))
            for a in range(d):
                U[i, a] /= norm
