"""How sure a regression is of a prediction: each call owns a range of rows and their pairs."""

from __future__ import annotations

import numpy as np

from discreet.kernels.least_squares import (
    GATHERED,
    add_gram,
    factor,
    solve_lower,
    start_with,
)
from discreet.kernels.simd.tiles import gather_row, padded
from discreet.kernels.simd.vectors import FAST
from discreet.kernels.simd.width import vector_kernel


@vector_kernel(fastmath=FAST)
def leverages(lo, hi, ptr, cols, other, ridge, ridge_per_record, pairs, wanted, out):  # type: ignore[no-untyped-def]
    """out[k] = z_j' (lambda_i I + sum of z z' over row i's records)^-1 z_j, j being wanted[k].

    The pairs of row i are pairs[i] <= k < pairs[i+1]; lambda_i > 0 is the ridge, and more by
    another for each record.
    """
    d = other.shape[1]
    width = padded(d, other)
    A = np.empty((width, width), dtype=other.dtype)
    Z = np.zeros((GATHERED, width), dtype=other.dtype)
    b = np.empty(d, dtype=other.dtype)
    for i in range(lo, hi):
        if pairs[i] == pairs[i + 1]:
            continue
        start, end = ptr[i], ptr[i + 1]
        penalty = ridge + ridge_per_record * (end - start)
        start_with(A, d, penalty)
        for first in range(start, end, GATHERED):
            n = min(GATHERED, end - first)
            for k in range(n):
                gather_row(Z, k, other, cols[first + k])
            add_gram(A, Z, n, d, d)
        factor(A, d, d, penalty)
        for k in range(pairs[i], pairs[i + 1]):
            b[:] = other[wanted[k]]
            solve_lower(A, b, d)
            total = 0.0
            for a in range(d):
                total += b[a] * b[a]
            out[k] = total
