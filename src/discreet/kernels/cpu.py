"""Kernels compiled for the processor: each call owns a range of rows; twins in `reference`."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from discreet.kernels.simd import (
    FAST,
    ROWS,
    add_products,
    fits_registers,
    lanes,
    padded,
    row_gradient,
    solve_tile,
    subtract_products,
)


@njit(cache=True, nogil=True)
def deal(pile_of, piles, rows, cols, r, rows_out, cols_out, r_out):  # type: ignore[no-untyped-def]
    """The records pile by pile, in the order they had; returns where each pile starts."""
    n = len(rows)
    ptr = np.zeros(piles + 1, dtype=np.int64)
    for k in range(n):
        ptr[pile_of[k] + 1] += 1
    for pile in range(piles):
        ptr[pile + 1] += ptr[pile]
    place = ptr[:-1].copy()
    for k in range(n):
        p = place[pile_of[k]]
        rows_out[p], cols_out[p], r_out[p] = rows[k], cols[k], r[k]
        place[pile_of[k]] = p + 1
    return ptr


@njit(cache=True, nogil=True, fastmath=FAST)
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


@njit(cache=True, nogil=True, fastmath=FAST)
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


@njit(cache=True, nogil=True)
def squared_errors(lo, hi, ptr, cols, r, own, other, squared):  # type: ignore[no-untyped-def]
    """squared[i] = sum over j of (r_ij - own_i . other_j)^2."""
    unused = np.empty(own.shape[1], dtype=own.dtype)
    for i in range(lo, hi):
        squared[i] = _row_gradient(own[i], other, cols, r, ptr[i], ptr[i + 1], unused)


@njit(cache=True, nogil=True, fastmath=FAST)
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


@njit(cache=True, nogil=True)
def _first_column(i, columns, step):  # type: ignore[no-untyped-def]
    """Where the tiles of the upper half begin in row i: aligned, unless that takes one more."""
    aligned = i - i % step
    fewer = (columns - i + step - 1) // step < (columns - aligned + step - 1) // step
    return i if fewer else aligned


@njit(cache=True, nogil=True)
def _add_gram(A, Z, n, d, columns):  # type: ignore[no-untyped-def]
    """A += sum over k < n of Z[k]' Z[k], in d rows and so many columns of its upper half.

    The lower half is left in any state.
    """
    step = lanes(A)
    for i in range(0, d, ROWS):
        for j in range(_first_column(i, columns, step), columns, step):
            add_products(A, i, j, Z, i, Z, n)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _factor_corner(A, top, least, R):  # type: ignore[no-untyped-def]
    """R <- the Cholesky factor of A[top:top+8, top:top+8], the reciprocals on its diagonal."""
    for k in range(ROWS):
        for a in range(k, ROWS):
            R[k, a] = A[top + k, top + a]
    for k in range(ROWS):
        if R[k, k] < least:  # no pivot is, but for rounding; a NaN stays one
            R[k, k] = least
        scale = R.dtype.type(1) / R.dtype.type(math.sqrt(R[k, k]))
        R[k, k] = scale
        for a in range(k + 1, ROWS):
            R[k, a] *= scale
        for a in range(k + 1, ROWS):
            factor = R[k, a]
            for c in range(a, ROWS):
                R[a, c] -= factor * R[k, c]


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _factor(A, d, columns, least):  # type: ignore[no-untyped-def]
    """The upper half of A >= least I becomes R with R'R = A; further columns B become R'^-1 B.

    Rows are finished in panels of eight: what the rows above subtract from a panel is a product of
    tiles, like a Gram matrix. A is padded; the padding of its diagonal must be positive.
    """
    corner = np.empty((ROWS, ROWS), dtype=A.dtype)
    step = lanes(A)
    for top in range(0, d, ROWS):
        first = _first_column(top, columns, step)
        for j in range(first, columns, step):
            subtract_products(A, top, j, A, top, A, top)
        _factor_corner(A, top, least, corner)
        for j in range(first, columns, step):
            solve_tile(A, corner, top, j)
        for k in range(ROWS):
            A[top + k, top + k] = 1 / corner[k, k]  # also where a pivot was raised


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _solve_lower(R, b, d):  # type: ignore[no-untyped-def]
    """b <- R'^-1 b."""
    for a in range(d):
        b[a] /= R[a, a]
        factor = b[a]
        for c in range(a + 1, d):
            b[c] -= factor * R[a, c]


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _solve_upper(R, b, d):  # type: ignore[no-untyped-def]
    """b <- R^-1 b."""
    for a in range(d - 1, -1, -1):
        total = b[a]
        for c in range(a + 1, d):
            total -= R[a, c] * b[c]
        b[a] = total / R[a, a]


@njit(cache=True, nogil=True)
def _start_with(A, d, diagonal):  # type: ignore[no-untyped-def]
    """A <- diagonal times the identity, and one on the padding."""
    A[:, :] = 0
    for a in range(len(A)):
        A[a, a] = diagonal if a < d else 1


_GATHERED = 64
"""Records whose rows are gathered before their products are added: a block stays in L1."""


@njit(cache=True, nogil=True)
def gram(X):  # type: ignore[no-untyped-def]
    """X'X; a library's threads would keep spinning beside our own afterwards."""
    d = X.shape[1]
    width = padded(d, X)
    A = np.zeros((width, width), dtype=X.dtype)
    Z = np.zeros((_GATHERED, width), dtype=X.dtype)
    for first in range(0, len(X), _GATHERED):
        n = min(_GATHERED, len(X) - first)
        Z[:n, :d] = X[first : first + n]
        _add_gram(A, Z, n, d, d)
    out = np.empty((d, d), dtype=X.dtype)
    for a in range(d):
        for c in range(a, d):
            out[a, c] = out[c, a] = A[a, c]
    return out


@njit(cache=True, nogil=True, fastmath=FAST)
def solve_ridge(lo, hi, ptr, cols, r, other, ridge, ridge_per_record, linear, out):  # type: ignore[no-untyped-def]
    """out[i] = argmin_x 1/2 sum (r_ij - x . z_j)^2 + lambda_i/2 |x|^2 + linear_i . x."""
    d = other.shape[1]
    width = padded(d, other)
    # Where padding leaves a column, the right-hand side goes along in it for nothing.
    spare = width > d
    columns = d + 1 if spare else d
    A = np.empty((width, width), dtype=other.dtype)
    Z = np.zeros((_GATHERED, width), dtype=other.dtype)
    b = np.zeros(d, dtype=other.dtype)
    for i in range(lo, hi):
        start, end = ptr[i], ptr[i + 1]
        penalty = ridge + ridge_per_record * (end - start)
        if start == end and penalty == 0:
            out[i, :] = 0
            continue
        own = i if len(linear) > 1 else 0
        _start_with(A, d, penalty)
        for a in range(d):
            b[a] = -linear[own, a]
        for first in range(start, end, _GATHERED):
            n = min(_GATHERED, end - first)
            for k in range(n):
                z, value = other[cols[first + k]], r[first + k]
                for a in range(d):
                    Z[k, a] = z[a]
                if spare:
                    Z[k, d] = value
                else:
                    for a in range(d):
                        b[a] += value * z[a]
            _add_gram(A, Z, n, d, columns)
        if spare:
            for a in range(d):
                A[a, d] += b[a]
        _factor(A, d, columns, penalty)
        if spare:
            for a in range(d):
                b[a] = A[a, d]
        else:
            _solve_lower(A, b, d)
        _solve_upper(A, b, d)
        for a in range(d):
            out[i, a] = b[a]


@njit(cache=True, nogil=True)
def _huber_state(start, end, cols, r, U, v, ridge, kappa, eta, g, H, want_hessian):  # type: ignore[no-untyped-def]
    """g gets the gradient at v and, if wanted, H the upper half of the Hessian."""
    d = len(v)
    for a in range(d):
        g[a] = ridge * v[a] + eta[a]
    if want_hessian:
        _start_with(H, d, ridge)
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
                for c in range(a, d):
                    H[a, c] += u[a] * u[c]


@njit(cache=True, nogil=True, fastmath=FAST)
def _dot(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for a in range(len(x)):
        total += x[a] * y[a]
    return total


@njit(cache=True, nogil=True)
def solve_huber(lo, hi, ptr, cols, r, U, ridge, kappa, linear, out, residual):  # type: ignore[no-untyped-def]
    """out[j] = argmin_v sum huber_kappa(r_ij - u_i . v) + ridge/2 |v|^2 + eta_j . v."""
    d = U.shape[1]
    width = padded(d, U)
    H = np.empty((width, width))
    v, w, g, g_next, direction = np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    for j in range(lo, hi):
        start, end, eta = ptr[j], ptr[j + 1], linear[j]
        v[:] = 0
        _huber_state(start, end, cols, r, U, v, ridge, kappa, eta, g, H, True)
        for _ in range(200):
            direction[:] = g
            _factor(H, d, d, ridge)
            _solve_lower(H, direction, d)
            _solve_upper(H, direction, d)
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
def orthonormalise(rows):  # type: ignore[no-untyped-def]
    """Gram-Schmidt in place, from the first row on; a row that depends on those before is zero."""
    for k in range(len(rows)):
        row = rows[k]
        before = math.sqrt(_dot(row, row))
        for _ in range(2):  # the second time takes away what rounding left
            for e in range(k):
                share = _dot(rows[e], row)
                for a in range(len(row)):
                    row[a] -= share * rows[e, a]
        norm = math.sqrt(_dot(row, row))
        scale = 1 / norm if norm > 1e-5 * before else 0.0
        for a in range(len(row)):
            row[a] *= scale


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


@njit(cache=True, nogil=True, fastmath=FAST)
def dot_pairs(lo, hi, rows, cols, U, V, out):  # type: ignore[no-untyped-def]
    """out[k] = u_rows[k] . v_cols[k]."""
    d = U.shape[1]
    for k in range(lo, hi):
        u, v = U[rows[k]], V[cols[k]]
        dot = U.dtype.type(0)
        for a in range(d):
            dot += u[a] * v[a]
        out[k] = dot


@njit(cache=True, nogil=True)
def score_people(U, VT, out):  # type: ignore[no-untyped-def]
    """out[p] = U[p] VT; VT and out are padded to whole tiles, and out is overwritten there too."""
    d = U.shape[1]
    L = np.zeros((d, ROWS), dtype=U.dtype)
    out[:, :] = 0
    for first in range(0, len(U), ROWS):
        for p in range(first, min(first + ROWS, len(U))):
            L[:, p - first] = U[p]
        for j in range(0, VT.shape[1], lanes(VT)):
            add_products(out, first, j, L, 0, VT, d)


@njit(cache=True, nogil=True)
def add_family_scores(table, codes, scores):  # type: ignore[no-untyped-def]
    """scores[p, j] += table[p, codes[j]], nothing where the code is -1."""
    for p in range(len(table)):
        for j in range(len(codes)):
            if codes[j] >= 0:
                scores[p, j] += table[p, codes[j]]


_CHUNK = 32


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _largest(scores):  # type: ignore[no-untyped-def]
    most = scores[0]  # scores are numbers or minus infinity, never NaN, so this vectorises
    for j in range(len(scores)):
        most = max(most, scores[j])
    return most


@njit(cache=True, nogil=True)
def _insert(score, j, best, out):  # type: ignore[no-untyped-def]
    """Put a score that exceeds the last of the descending list `best` into its place."""
    place = len(best) - 1
    while place > 0 and score > best[place - 1]:
        best[place], out[place] = best[place - 1], out[place - 1]
        place -= 1
    best[place], out[place] = score, j


@njit(cache=True, nogil=True)
def best_items(items, scores, ptr, rated, out, best):  # type: ignore[no-untyped-def]
    """The len(out[p]) largest of a row's first scores, largest first, ties in column order.

    What person p rated, rated[ptr[p]:ptr[p+1]], is left out and its scores are overwritten; where
    fewer are left, out[p] ends in -1. The n-th largest of the maxima of short chunks is exceeded or
    reached by n scores, so only the few chunks that reach it are looked at one by one.
    """
    n = out.shape[1]
    chunks = (items + _CHUNK - 1) // _CHUNK
    maxima = np.empty(chunks, dtype=scores.dtype)
    for p in range(len(out)):
        row, mine, places = scores[p, :items], best[p], out[p]
        for k in range(ptr[p], ptr[p + 1]):
            row[rated[k]] = -np.inf
        mine[:] = -np.inf
        for c in range(chunks):
            maxima[c] = _largest(row[c * _CHUNK : (c + 1) * _CHUNK])
            if maxima[c] > mine[n - 1]:
                _insert(maxima[c], -1, mine, places)
        bound = mine[n - 1]
        mine[:] = -np.inf
        places[:] = -1
        last = mine[n - 1]
        for c in range(chunks):
            if maxima[c] >= bound:
                chunk = row[c * _CHUNK : (c + 1) * _CHUNK]
                for j in range(len(chunk)):
                    if chunk[j] > last:
                        _insert(chunk[j], c * _CHUNK + j, mine, places)
                        last = mine[n - 1]
