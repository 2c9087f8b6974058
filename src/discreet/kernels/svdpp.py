"""SVD++, rating by rating: plain arrays in and out, no randomness, one thread."""

from __future__ import annotations

import numpy as np

from discreet.kernels.simd.width import vector_kernel


@vector_kernel(fastmath={"contract", "reassoc"})
def one_pass(ptr, items, r, order, b_user, b_item, U, V, Y, gamma, ridge):  # type: ignore[no-untyped-def]
    """A step for every rating, person by person; in place.

    The implicit vectors Y move by what a person's ratings ask of their sum, once a person.
    """
    d = U.shape[1]
    implicit, asked = np.empty(d), np.empty(d)
    for place in range(len(order)):
        i = order[place]
        start, end = ptr[i], ptr[i + 1]
        if start == end:
            continue
        scale = 1 / np.sqrt(end - start)
        implicit[:] = 0
        asked[:] = 0
        for k in range(start, end):
            for a in range(d):
                implicit[a] += scale * Y[items[k], a]
        for k in range(start, end):
            j = items[k]
            error = r[k] - b_user[i] - b_item[j]
            for a in range(d):
                error -= V[j, a] * (U[i, a] + implicit[a])
            b_user[i] += gamma * (error - ridge * b_user[i])
            b_item[j] += gamma * (error - ridge * b_item[j])
            for a in range(d):
                v, u = V[j, a], U[i, a]
                asked[a] += error * v
                V[j, a] += gamma * (error * (u + implicit[a]) - ridge * v)
                U[i, a] += gamma * (error * v - ridge * u)
        for k in range(start, end):
            j = items[k]
            for a in range(d):
                Y[j, a] += gamma * (scale * asked[a] - ridge * Y[j, a])


@vector_kernel()
def people_vectors(ptr, items, U, Y):  # type: ignore[no-untyped-def]
    """u_i + |N_i|^-1/2 sum over k in N_i of y_k."""
    W = U.copy()
    for i in range(len(U)):
        scale = 1 / np.sqrt(max(ptr[i + 1] - ptr[i], 1))
        for k in range(ptr[i], ptr[i + 1]):
            for a in range(U.shape[1]):
                W[i, a] += scale * Y[items[k], a]
    return W
