"""Many trainings of one tiny model: the paper's schemes from start to end, once for every run.

For audits, which need hundreds of thousands of trainings. A run's random numbers are a function of
(seed, run), so ranges and threads change nothing. They are for simulation: nothing is released.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.kernels.gradients import project_rows
from discreet.kernels.huber import solve_huber
from discreet.kernels.least_squares import solve_in_batches, solve_in_tiles
from discreet.kernels.simd.batches import fits_batches
from discreet.kernels.simd.vectors import copy_row
from discreet.kernels.simd.width import vector_kernel

PRINTED, STATED, REPAIRED = 0, 1, 2
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@vector_kernel()
def _mix(x):  # type: ignore[no-untyped-def]
    """A permutation of 64-bit numbers that scatters neighbours (splitmix64's)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@vector_kernel()
def uniform(state):  # type: ignore[no-untyped-def]
    """The next number in (0, 1]."""
    state[0] += _GOLDEN
    return (np.float64(_mix(state[0]) >> np.uint64(11)) + 1.0) * 2.0**-53


@vector_kernel()
def _normals(state, out):  # type: ignore[no-untyped-def]
    """Standard normal numbers by Box and Muller; the squared norm of the row."""
    norm2 = 0.0
    for a in range(0, len(out), 2):
        radius = math.sqrt(-2.0 * math.log(uniform(state)))
        angle = 2.0 * math.pi * uniform(state)
        out[a] = radius * math.cos(angle)
        norm2 += out[a] * out[a]
        if a + 1 < len(out):
            out[a + 1] = radius * math.sin(angle)
            norm2 += out[a + 1] * out[a + 1]
    return norm2


@vector_kernel()
def _sphere(state, rows):  # type: ignore[no-untyped-def]
    """Rows uniform on the unit sphere."""
    for row in rows:
        row /= math.sqrt(_normals(state, row))


@vector_kernel()
def spherical(state, scale, rows):  # type: ignore[no-untyped-def]
    """Rows with density proportional to exp(-|eta| / scale): a direction times Gamma(d)."""
    for row in rows:
        norm = math.sqrt(_normals(state, row))
        length = 0.0
        for _ in range(len(row)):
            length -= math.log(uniform(state))
        row *= scale * length / norm


@vector_kernel()
def _descend(users, items, r, U, V, rate, decay_u, decay_v, both, dU, dV):  # type: ignore[no-untyped-def]
    """One step of both sides, or of the items alone, from the old values."""
    d = V.shape[1]
    dU[:, :] = 0
    dV[:, :] = 0
    for k in range(len(r)):
        u, v = U[users[k]], V[items[k]]
        error = r[k]
        for a in range(d):
            error -= u[a] * v[a]
        for a in range(d):
            dU[users[k], a] += error * v[a]
            dV[items[k], a] += error * u[a]
    for j in range(len(V)):
        for a in range(d):
            V[j, a] = V[j, a] * decay_v + rate * dV[j, a]
    if both:
        for i in range(len(U)):
            for a in range(d):
                U[i, a] = U[i, a] * decay_u + rate * dU[i, a]


@vector_kernel()
def train_one(  # type: ignore[no-untyped-def]
    state, users, items, r, variant, gamma, lambda_u, lambda_v, k1, k2, scale, kappa, U, V
):
    """One training from the factors in U and V, which are overwritten; k1 = 0 keeps U fixed."""
    d = V.shape[1]
    dU, dV, eta = np.empty_like(U), np.empty_like(V), np.empty_like(V)
    rate = gamma / max(1, len(r))
    decay_u, decay_v = 1 - rate * lambda_u, 1 - rate * lambda_v
    for _ in range(k1):
        _descend(users, items, r, U, V, rate, decay_u, decay_v, True, dU, dV)
        project_rows(0, len(U), U)
    if variant == PRINTED:
        for _ in range(k2):
            spherical(state, scale, eta)
            _descend(users, items, r, U, V, rate, decay_u, decay_v, False, dU, dV)
            for j in range(len(V)):
                for a in range(d):
                    V[j, a] -= rate * eta[j, a]
        return
    spherical(state, scale, eta)
    # The records, item by item, as the exact solvers want them.
    ptr = np.zeros(len(V) + 1, dtype=np.int64)
    for k in range(len(items)):
        ptr[items[k] + 1] += 1
    for j in range(len(V)):
        ptr[j + 1] += ptr[j]
    place, cols, values = ptr[:-1].copy(), np.empty_like(users), np.empty_like(r)
    for k in range(len(items)):
        cols[place[items[k]]] = users[k]
        values[place[items[k]]] = r[k]
        place[items[k]] += 1
    if variant == STATED:
        if fits_batches(d, V.itemsize):
            solve_in_batches(0, len(V), ptr, cols, values, U, lambda_v, 0.0, eta, V)
        else:
            solve_in_tiles(0, len(V), ptr, cols, values, U, lambda_v, 0.0, eta, V)
    else:
        solve_huber(0, len(V), ptr, cols, values, U, lambda_v, kappa, eta, V, np.empty(len(V)))


@vector_kernel()
def train_many(  # type: ignore[no-untyped-def]
    lo,
    hi,
    seed,
    users,
    items,
    r,
    keep,
    variant,
    gamma,
    lambda_u,
    lambda_v,
    k1,
    k2,
    scale,
    kappa,
    fixed,
    out_U,
    out_V,
):
    """Runs lo..hi; each keeps record k with probability keep[k]. `fixed` is U where k1 = 0."""
    state = np.empty(1, dtype=np.uint64)
    kept = np.empty(len(r), dtype=np.bool_)
    for run in range(lo, hi):
        state[0] = _mix(_mix(np.uint64(seed)) + np.uint64(run))
        for k in range(len(r)):
            kept[k] = uniform(state) <= keep[k]
        U, V = out_U[run], out_V[run]
        if k1 > 0:
            _sphere(state, U)
        else:
            for i in range(len(U)):
                copy_row(fixed[i], U[i])
        _sphere(state, V)
        train_one(
            state,
            users[kept],
            items[kept],
            r[kept],
            variant,
            gamma,
            lambda_u,
            lambda_v,
            k1,
            k2,
            scale,
            kappa,
            U,
            V,
        )
