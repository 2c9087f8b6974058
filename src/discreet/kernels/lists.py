"""Scores and lists: each call owns people or pairs."""

from __future__ import annotations

import numpy as np

from discreet.kernels.simd.tiles import add_panel
from discreet.kernels.simd.vectors import FAST, ROWS, copy_row
from discreet.kernels.simd.width import vector_kernel


@vector_kernel(fastmath=FAST)
def dot_pairs(lo, hi, rows, cols, U, V, out):  # type: ignore[no-untyped-def]
    """out[k] = u_rows[k] . v_cols[k]."""
    d = U.shape[1]
    for k in range(lo, hi):
        u, v = U[rows[k]], V[cols[k]]
        dot = U.dtype.type(0)
        for a in range(d):
            dot += u[a] * v[a]
        out[k] = dot


@vector_kernel()
def score_people(U, VT, out):  # type: ignore[no-untyped-def]
    """out[p] = U[p] VT; VT and out are padded to whole tiles, and out is overwritten there too."""
    d = U.shape[1]
    L = np.zeros((d, ROWS), dtype=U.dtype)
    out[:, :] = 0
    for first in range(0, len(U), ROWS):
        for p in range(first, min(first + ROWS, len(U))):
            copy_row(U[p], L[:, p - first])
        add_panel(out, first, 0, VT.shape[1], L, 0, VT, d)


@vector_kernel()
def add_family_scores(table, codes, scores):  # type: ignore[no-untyped-def]
    """scores[p, j] += table[p, codes[j]], nothing where the code is -1."""
    for p in range(len(table)):
        for j in range(len(codes)):
            if codes[j] >= 0:
                scores[p, j] += table[p, codes[j]]


_CHUNK = 32


@vector_kernel(fastmath={"nnan", "nsz"})
def _largest(scores):  # type: ignore[no-untyped-def]
    most = scores[0]  # scores are numbers or minus infinity, never NaN, so this vectorises
    for j in range(len(scores)):
        most = max(most, scores[j])
    return most


@vector_kernel()
def _insert(score, j, best, out):  # type: ignore[no-untyped-def]
    """Put a score that exceeds the last of the descending list `best` into its place."""
    place = len(best) - 1
    while place > 0 and score > best[place - 1]:
        best[place], out[place] = best[place - 1], out[place - 1]
        place -= 1
    best[place], out[place] = score, j


@vector_kernel()
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
                _insert(maxima[c], c, mine, places)  # the place is not used
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
