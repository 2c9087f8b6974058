"""Kernels compiled for the processor: each call owns a range of rows; twins in `reference`."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Sums may be reordered (so they vectorise), but a NaN stays a NaN: divergence must be seen.
_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def counting_order(keys, size):  # type: ignore[no-untyped-def]
    """The stable order that sorts keys in 0..size-1, and where each key starts in it."""
    n = len(keys)
    ptr = np.zeros(size + 1, dtype=np.int64)
    for k in range(n):
        ptr[keys[k] + 1] += 1
    for key in range(size):
        ptr[key + 1] += ptr[key]
    place = ptr[:-1].copy()
    order = np.empty(n, dtype=np.int64)
    for k in range(n):
        key = keys[k]
        order[place[key]] = k
        place[key] += 1
    return order, ptr


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_gradient(lo, hi, rows, cols, r, own, other, step, out, squared):  # type: ignore[no-untyped-def]
    """out[i] += step * sum over j of (r_ij - own_i . other_j) other_j, over records lo..hi."""
    d = own.shape[1]
    total = np.empty(d, dtype=own.dtype)
    k = lo
    while k < hi:
        i = rows[k]
        x = own[i]
        total[:] = 0
        errors = 0.0
        while k < hi and rows[k] == i:
            z = other[cols[k]]
            dot = own.dtype.type(0)
            for a in range(d):
                dot += x[a] * z[a]
            error = r[k] - dot
            for a in range(d):
                total[a] += error * z[a]
            errors += np.float64(error) * np.float64(error)
            k += 1
        for a in range(d):
            out[i, a] += step * total[a]
        squared[i] += errors


@njit(cache=True, nogil=True, fastmath=_FAST)
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


@njit(cache=True, nogil=True, fastmath=_FAST)
def _add_gram(lo, hi, cols, r, other, A, b):  # type: ignore[no-untyped-def]
    """A (lower half) += sum z z', b += sum r z; four records per pass over A save its traffic."""
    d = other.shape[1]
    k = lo
    while k + 4 <= hi:
        z0, z1, z2, z3 = other[cols[k]], other[cols[k + 1]], other[cols[k + 2]], other[cols[k + 3]]
        r0, r1, r2, r3 = r[k], r[k + 1], r[k + 2], r[k + 3]
        for a in range(d):
            b[a] += r0 * z0[a] + r1 * z1[a] + r2 * z2[a] + r3 * z3[a]
            p0, p1, p2, p3 = z0[a], z1[a], z2[a], z3[a]
            for c in range(a + 1):
                A[a, c] += p0 * z0[c] + p1 * z1[c] + p2 * z2[c] + p3 * z3[c]
        k += 4
    while k < hi:
        z = other[cols[k]]
        for a in range(d):
            b[a] += r[k] * z[a]
            for c in range(a + 1):
                A[a, c] += z[a] * z[c]
        k += 1


@njit(cache=True, nogil=True, fastmath=_FAST)
def _cholesky_solve(A, b):  # type: ignore[no-untyped-def]
    """b <- A^-1 b from the lower half of A, which is overwritten by its Cholesky factor."""
    d = len(b)
    for a in range(d):
        for c in range(a + 1):
            total = A[a, c]
            for e in range(c):
                total -= A[a, e] * A[c, e]
            if a == c:
                A[a, a] = math.sqrt(total)
            else:
                A[a, c] = total / A[c, c]
    for a in range(d):
        total = b[a]
        for e in range(a):
            total -= A[a, e] * b[e]
        b[a] = total / A[a, a]
    for a in range(d - 1, -1, -1):
        b[a] /= A[a, a]
        for e in range(a):
            b[e] -= A[a, e] * b[a]


@njit(cache=True, nogil=True, fastmath=_FAST)
def solve_ridge(lo, hi, ptr, cols, r, other, ridge, ridge_per_record, linear, out):  # type: ignore[no-untyped-def]
    """out[i] = argmin_x 1/2 sum (r_ij - x . z_j)^2 + lambda_i/2 |x|^2 + linear_i . x."""
    d = other.shape[1]
    A = np.empty((d, d), dtype=other.dtype)
    b = np.empty(d, dtype=other.dtype)
    for i in range(lo, hi):
        start, end = ptr[i], ptr[i + 1]
        penalty = ridge + ridge_per_record * (end - start)
        if start == end and penalty == 0:
            out[i, :] = 0
            continue
        own = i if len(linear) > 1 else 0
        A[:, :] = 0
        for a in range(d):
            A[a, a] = penalty
            b[a] = -linear[own, a]
        _add_gram(start, end, cols, r, other, A, b)
        _cholesky_solve(A, b)
        for a in range(d):
            out[i, a] = b[a]


@njit(cache=True, nogil=True)
def _huber_state(start, end, cols, r, U, v, ridge, kappa, eta, g, H, want_hessian):  # type: ignore[no-untyped-def]
    """g gets the gradient at v and, if wanted, H the lower half of the Hessian."""
    d = len(v)
    for a in range(d):
        g[a] = ridge * v[a] + eta[a]
    if want_hessian:
        H[:, :] = 0
        for a in range(d):
            H[a, a] = ridge
    for k in range(start, end):
        u = U[cols[k]]
        error = r[k]
        for a in range(d):
            error -= u[a] * v[a]
        slope = min(max(error, -kappa), kappa)
        for a in range(d):
            g[a] -= slope * u[a]
        if want_hessian and slope == error:
            for a in range(d):
                for c in range(a + 1):
                    H[a, c] += u[a] * u[c]


@njit(cache=True, nogil=True)
def _dot(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for a in range(len(x)):
        total += x[a] * y[a]
    return total


@njit(cache=True, nogil=True)
def solve_huber(lo, hi, ptr, cols, r, U, ridge, kappa, linear, out, residual):  # type: ignore[no-untyped-def]
    """out[j] = argmin_v sum huber_kappa(r_ij - u_i . v) + ridge/2 |v|^2 + eta_j . v."""
    d = U.shape[1]
    H = np.empty((d, d))
    v, w, g, g_next, direction = np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    for j in range(lo, hi):
        start, end, eta = ptr[j], ptr[j + 1], linear[j]
        v[:] = 0
        _huber_state(start, end, cols, r, U, v, ridge, kappa, eta, g, H, True)
        for _ in range(200):
            direction[:] = g
            _cholesky_solve(H, direction)
            slope, length, moved = _dot(g, direction), 1.0, False
            while length > 1e-10 and not moved:
                for a in range(d):
                    w[a] = v[a] - length * direction[a]
                _huber_state(start, end, cols, r, U, w, ridge, kappa, eta, g_next, H, False)
                # Not past the minimum of the line: the value falls all the way, so no cycles.
                moved = slope > 0 and _dot(g_next, direction) >= -1e-10 * slope
                length /= 2
            if not moved:
                break
            v[:] = w
            _huber_state(start, end, cols, r, U, v, ridge, kappa, eta, g, H, True)
        out[j, :] = v
        size = ridge * math.sqrt(_dot(v, v)) + math.sqrt(_dot(eta, eta)) + kappa * (end - start)
        residual[j] = math.sqrt(_dot(g, g)) / size if size > 0 else 0.0


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
def add_voices(lo, hi, ptr, items, a, z, floor, out):  # type: ignore[no-untyped-def]
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
def add_chorus(lo, hi, ptr, users, a, U, out):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True, fastmath=_FAST)
def dot_pairs(lo, hi, rows, cols, U, V, out):  # type: ignore[no-untyped-def]
    """out[k] = u_rows[k] . v_cols[k]."""
    d = U.shape[1]
    for k in range(lo, hi):
        u, v = U[rows[k]], V[cols[k]]
        dot = U.dtype.type(0)
        for a in range(d):
            dot += u[a] * v[a]
        out[k] = dot
