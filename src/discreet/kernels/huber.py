"""Huber regression, row by row, by Newton steps: each call owns a range of rows."""

from __future__ import annotations

import math

import numpy as np

from discreet.kernels.least_squares import dot, factor, solve_lower, solve_upper, start_with
from discreet.kernels.simd.tiles import padded
from discreet.kernels.simd.vectors import copy_row
from discreet.kernels.simd.width import vector_kernel


@vector_kernel()
def _huber_state(start, end, cols, r, U, v, ridge, kappa, eta, g, H, want_hessian):  # type: ignore[no-untyped-def]
    """g gets the gradient at v and, if wanted, H the upper half of the Hessian."""
    d = len(v)
    for a in range(d):
        g[a] = ridge * v[a] + eta[a]
    if want_hessian:
        start_with(H, d, ridge)
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


@vector_kernel()
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
            copy_row(g, direction)
            factor(H, d, d, ridge)
            solve_lower(H, direction, d)
            solve_upper(H, direction, d)
            slope, length, moved = dot(g, direction), 1.0, False
            while length > 1e-10 and not moved:
                for a in range(d):
                    w[a] = v[a] - length * direction[a]
                _huber_state(start, end, cols, r, U, w, ridge, kappa, eta, g_next, H, False)
                # Not past the minimum of the line: the value falls all the way, so no cycles.
                moved = slope > 0 and dot(g_next, direction) >= -1e-10 * slope
                length /= 2
            if not moved:
                break
            copy_row(w, v)
            _huber_state(start, end, cols, r, U, v, ridge, kappa, eta, g, H, True)
        copy_row(v, out[j])
        size = ridge * math.sqrt(dot(v, v)) + math.sqrt(dot(eta, eta)) + kappa * (end - start)
        residual[j] = math.sqrt(dot(g, g)) / size if size > 0 else 0.0
