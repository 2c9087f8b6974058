"""Gradients of one side's factors: each call owns a range of records."""

from __future__ import annotations

import math

import numpy as np

from discreet.kernels.simd.rows import fits_registers, row_echo, row_gradient, row_steps
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


@vector_kernel(fastmath=FAST)
def _row_gradient(x, other, cols, r, lo, hi, total):  # type: ignore[no-untyped-def]
    """total <- sum over lo <= k < hi of e_k z_k, e_k = r_k - x . z_k; returns the sum of e_k^2."""
    d = len(x)
    if fits_registers(d, x):
        return row_gradient(x, other, cols, r, lo, hi, total)
    total[:] = 0
    errors = 0.0
    for k in range(lo, hi):
        z = other[cols[k]]
        dot = x.dtype.type(0)
        for a in range(d):
            dot += x[a] * z[a]
        error = r[k] - dot
        for a in range(d):
            total[a] += error * z[a]
        errors += np.float64(error) * np.float64(error)
    return errors


@vector_kernel(fastmath=FAST)
def add_gradient(lo, hi, rows, cols, r, own, other, step, out, squared):  # type: ignore[no-untyped-def]
    """out[i] += step * sum over j of (r_ij - own_i . other_j) other_j, over records lo..hi."""
    d = own.shape[1]
    total = np.empty(d, dtype=own.dtype)
    start = lo
    while start < hi:
        i = rows[start]
        end = start + 1
        while end < hi and rows[end] == i:
            end += 1
        squared[i] += _row_gradient(own[i], other, cols, r, start, end, total)
        for a in range(d):
            out[i, a] += step * total[a]
        start = end


@vector_kernel(fastmath=FAST)
def _row_normal_product(other, cols, r, lo, hi, centre, scale, out):  # type: ignore[no-untyped-def]
    """out[cols[k]] += w_k g, w_k = r_k - centre, g = scale * sum over lo <= k < hi of w_k z_k."""
    d = other.shape[1]
    if fits_registers(d, other):
        row_echo(other, cols, r, lo, hi, centre, scale, out)
        return
    total = np.zeros(d, dtype=other.dtype)
    for k in range(lo, hi):
        z = other[cols[k]]
        for a in range(d):
            total[a] += (r[k] - centre) * z[a]
    for k in range(lo, hi):
        place = out[cols[k]]
        for a in range(d):
            place[a] += (r[k] - centre) * scale * total[a]


@vector_kernel()
def add_normal_product(lo, hi, step, ptr, cols, r, centre, other, out):  # type: ignore[no-untyped-def]
    """out += R' D^-1/2 R other, R being r - centre and D the numbers of records, in the rows
    lo, lo + step, ... < hi: what multiplying there and back adds up to, in one pass."""
    for i in range(lo, hi, step):
        start, end = ptr[i], ptr[i + 1]
        if end > start:
            scale = other.dtype.type(1 / math.sqrt(end - start))
            _row_normal_product(other, cols, r, start, end, centre, scale, out)


@vector_kernel(fastmath=FAST)
def take_steps(lo, hi, rows, cols, r, U, V, rate, keep_u, keep_v):  # type: ignore[no-untyped-def]
    """Records lo..hi one after another: u <- keep_u u + rate e v and v <- keep_v v + rate e u, by
    the old u and v, e being r - u . v. Returns the sum of e^2."""
    d = U.shape[1]
    if fits_registers(d, U):
        return row_steps(rows, cols, r, lo, hi, U, V, rate, keep_u, keep_v)
    errors = 0.0
    for k in range(lo, hi):
        u, v = U[rows[k]], V[cols[k]]
        dot = U.dtype.type(0)
        for a in range(d):
            dot += u[a] * v[a]
        error = r[k] - dot
        for a in range(d):
            x, z = u[a], v[a]
            u[a], v[a] = keep_u * x + rate * error * z, keep_v * z + rate * error * x
        errors += np.float64(error) * np.float64(error)
    return errors


@vector_kernel()
def squared_errors(lo, hi, ptr, cols, r, own, other, squared):  # type: ignore[no-untyped-def]
    """squared[i] = sum over j of (r_ij - own_i . other_j)^2."""
    unused = np.empty(own.shape[1], dtype=own.dtype)
    for i in range(lo, hi):
        squared[i] = _row_gradient(own[i], other, cols, r, ptr[i], ptr[i + 1], unused)


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
