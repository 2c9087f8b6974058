"""Sums over an item's people of their vectors and their products; each call owns a range of items.

Symmetric matrices are packed: row by row the upper half, what is off the diagonal times sqrt(2), so
that a packed matrix is as long as the matrix itself (Frobenius).
"""

from __future__ import annotations

import math

from discreet.kernels.simd.width import vector_kernel


@vector_kernel(fastmath={"contract", "reassoc"})
def add_moments(lo, hi, ptr, people, w, y, U, A, b):  # type: ignore[no-untyped-def]
    """A[j] += sum_i w_ij pack(u_i u_i'), b[j] += sum_i w_ij y_ij u_i, for the items lo <= j < hi.

    Item j has the people[ptr[j]:ptr[j+1]], with weights w and values y in the same order.
    """
    d, root = U.shape[1], math.sqrt(2.0)
    for j in range(lo, hi):
        products, sums = A[j], b[j]
        for k in range(ptr[j], ptr[j + 1]):
            u, weight = U[people[k]], w[k]
            share, place = weight * y[k], 0
            for a in range(d):
                sums[a] += share * u[a]
                products[place] += weight * u[a] * u[a]
                place += 1
                scaled = root * weight * u[a]
                for c in range(a + 1, d):
                    products[place] += scaled * u[c]
                    place += 1


@vector_kernel(fastmath={"contract", "reassoc"})
def add_sums(lo, hi, ptr, people, a, U, out):  # type: ignore[no-untyped-def]
    """out[j] += sum_i a_ij u_i, for the items lo <= j < hi."""
    d = U.shape[1]
    for j in range(lo, hi):
        row = out[j]
        for k in range(ptr[j], ptr[j + 1]):
            u, value = U[people[k]], a[k]
            for c in range(d):
                row[c] += value * u[c]


@vector_kernel(fastmath={"contract", "reassoc"})
def add_products(ptr, items, place, x, scale, out):  # type: ignore[no-untyped-def]
    """out[place_j, place_k] += scale_i x_ij x_ik for place_j <= place_k; -1 is not counted."""
    for i in range(len(ptr) - 1):
        for a in range(ptr[i], ptr[i + 1]):
            j = place[items[a]]
            if j < 0:
                continue
            row, value = out[j], scale[i] * x[a]
            for c in range(ptr[i], ptr[i + 1]):
                k = place[items[c]]
                if k >= j:
                    row[k] += value * x[c]
