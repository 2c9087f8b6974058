"""A step of the expectation that Chorus' empirical Bayes takes: products of many small matrices."""

from __future__ import annotations

import numpy as np
from numba import njit

from discreet.kernels.tiles import add_products
from discreet.kernels.vectors import ROWS, lanes


@njit(cache=True, nogil=True)
def add_explained(lo, hi, squares, Q, share, out):  # type: ignore[no-untyped-def]
    """out += sum over lo <= g < hi of S (Q' C Q) S, C = squares[g] symmetric, S = diag(share[g]).

    All matrices are padded with zeros to whole tiles.
    """
    width, step = len(Q), lanes(Q)
    half, whole = np.empty_like(Q), np.empty_like(Q)
    for g in range(lo, hi):
        half[:, :] = 0
        whole[:, :] = 0
        for i in range(0, width, ROWS):
            for j in range(0, width, step):
                add_products(half, i, j, squares[g], i, Q, width)
        for i in range(0, width, ROWS):
            for j in range(0, width, step):
                add_products(whole, i, j, Q, i, half, width)
        for a in range(width):
            factor = share[g, a]
            for b in range(width):
                out[a, b] += factor * share[g, b] * whole[a, b]
