"""Least squares, row by row, from Gram matrices in tiles: each call owns a range of rows."""

from __future__ import annotations

import math

import numpy as np

from discreet.arrays import Array
from discreet.kernels.simd.batches import (
    add_records,
    eliminate,
    empty_batch,
    fits_batches,
    pivot,
    places_in_tiles,
    places_of,
    substitute,
    turn,
)
from discreet.kernels.simd.tiles import (
    add_panel,
    gather_row,
    padded,
    solve_tile,
    subtract_panel,
)
from discreet.kernels.simd.vectors import FAST, ROWS, lanes
from discreet.kernels.simd.width import vector_kernel
from discreet.kernels.sorting import read_only
from discreet.kernels.threads import row_ranges, run_ranges


@vector_kernel()
def _first_column(i, columns, step):  # type: ignore[no-untyped-def]
    """Where the tiles of the upper half begin in row i: aligned, unless that takes one more."""
    aligned = i - i % step
    fewer = (columns - i + step - 1) // step < (columns - aligned + step - 1) // step
    return i if fewer else aligned


@vector_kernel()
def add_gram(A, Z, n, d, columns):  # type: ignore[no-untyped-def]
    """A += sum over k < n of Z[k]' Z[k], in d rows and so many columns of its upper half.

    The lower half is left in any state.
    """
    step = lanes(A)
    for i in range(0, d, ROWS):
        add_panel(A, i, _first_column(i, columns, step), columns, Z, i, Z, n)


@vector_kernel(fastmath=FAST, error_model="numpy")
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


@vector_kernel(fastmath=FAST, error_model="numpy")
def factor(A, d, columns, least):  # type: ignore[no-untyped-def]
    """The upper half of A >= least I becomes R with R'R = A; further columns B become R'^-1 B.

    Rows are finished in panels of eight: what the rows above subtract from a panel is a product of
    tiles, like a Gram matrix. A is padded; the padding of its diagonal must be positive.
    """
    corner = np.empty((ROWS, ROWS), dtype=A.dtype)
    step = lanes(A)
    for top in range(0, d, ROWS):
        first = _first_column(top, columns, step)
        subtract_panel(A, top, first, columns, A, top, A, top)
        _factor_corner(A, top, least, corner)
        for j in range(first, columns, step):
            solve_tile(A, corner, top, j)
        for k in range(ROWS):
            A[top + k, top + k] = 1 / corner[k, k]  # also where a pivot was raised


@vector_kernel(fastmath=FAST, error_model="numpy")
def solve_lower(R, b, d):  # type: ignore[no-untyped-def]
    """b <- R'^-1 b."""
    for a in range(d):
        b[a] /= R[a, a]
        factor = b[a]
        for c in range(a + 1, d):
            b[c] -= factor * R[a, c]


@vector_kernel(fastmath=FAST, error_model="numpy")
def solve_upper(R, b, d):  # type: ignore[no-untyped-def]
    """b <- R^-1 b."""
    for a in range(d - 1, -1, -1):
        total = b[a]
        for c in range(a + 1, d):
            total -= R[a, c] * b[c]
        b[a] = total / R[a, a]


@vector_kernel()
def start_with(A, d, diagonal):  # type: ignore[no-untyped-def]
    """A <- diagonal times the identity, and one on the padding."""
    A[:, :] = 0
    for a in range(len(A)):
        A[a, a] = diagonal if a < d else 1


GATHERED = 64
"""Records whose rows are gathered before their products are added: a block stays in L1."""


@vector_kernel()
def gram(X):  # type: ignore[no-untyped-def]
    """X'X; a library's threads would keep spinning beside our own afterwards."""
    d = X.shape[1]
    width = padded(d, X)
    A = np.zeros((width, width), dtype=X.dtype)
    Z = np.zeros((GATHERED, width), dtype=X.dtype)
    for first in range(0, len(X), GATHERED):
        n = min(GATHERED, len(X) - first)
        for k in range(n):
            gather_row(Z, k, X, first + k)
        add_gram(A, Z, n, d, d)
    out = np.empty((d, d), dtype=X.dtype)
    for a in range(d):
        for c in range(a, d):
            out[a, c] = out[c, a] = A[a, c]
    return out


MOST_TURNED = 64
"""Numbers a row: measured in simd/README.md. A batch of longer ones leaves the second cache."""
_SUMMED = 128
"""Records summed in registers before they are added to what came before: their rows stay in L1."""


@vector_kernel(fastmath=FAST)
def _begin_batch(ptr, first, rows, ridge, ridge_per_record, penalty, free):  # type: ignore[no-untyped-def]
    """What keeps each row of a batch near zero, and whether nothing else is known of it."""
    for m in range(rows):
        count = ptr[first + m + 1] - ptr[first + m]
        penalty[m] = ridge + ridge_per_record * count
        free[m] = count == 0 and penalty[m] == 0
        if free[m]:
            penalty[m] = 1  # anything but zero, where a zero is the answer


@vector_kernel(fastmath=FAST)
def _solve_batch(L, d, first, rows, penalty, free, linear, out):  # type: ignore[no-untyped-def]
    """out[first:first+rows] from the lower halves of a batch of matrices, which are spoiled."""
    for a in range(d):
        for m in range(rows):
            own = first + m if len(linear) > 1 else 0
            L[a, a, m] += penalty[m]
            if not free[m]:
                L[d, a, m] -= linear[own, a]
    for a in range(d):
        pivot(L, a, a, penalty)
        for c in range(a + 1, d + 1, ROWS):
            eliminate(L, a, c, penalty)
    for a in range(d - 1, -1, -1):
        substitute(L, a, d, penalty)
    for m in range(rows):
        for a in range(d):
            out[first + m, a] = L[d, a, m]


@vector_kernel(fastmath=FAST)
def solve_in_batches(lo, hi, ptr, cols, r, other, ridge, ridge_per_record, linear, out):  # type: ignore[no-untyped-def]
    """`solve_ridge` for rows of few numbers: as many rows at once as there are lanes."""
    d, batch = other.shape[1], lanes(other)
    places = places_of(d, batch)
    count = len(places) // batch
    G = np.zeros((batch, len(places)), dtype=other.dtype)
    L = empty_batch(d, batch, other)
    penalty, free = np.ones(batch, dtype=other.dtype), np.zeros(batch, dtype=np.bool_)
    for first in range(lo, hi, batch):
        rows = min(batch, hi - first)
        _begin_batch(ptr, first, rows, ridge, ridge_per_record, penalty, free)
        for m in range(rows):
            start, end = ptr[first + m], ptr[first + m + 1]
            G[m] = 0
            for begin in range(start, end, _SUMMED):
                add_records(G[m], other, cols, r, begin, min(begin + _SUMMED, end))
        for number in range(count):
            turn(G, number, places, L)
        _solve_batch(L, d, first, rows, penalty, free, linear, out)


@vector_kernel(fastmath=FAST)
def solve_in_tiled_batches(lo, hi, ptr, cols, r, other, ridge, ridge_per_record, linear, out):  # type: ignore[no-untyped-def]
    """The same where sums go through tiles: too many for registers, few enough for the caches."""
    d, batch = other.shape[1], lanes(other)
    width = padded(d, other)
    spare = width > d  # then the right-hand side goes along in a column that is there anyway
    columns = d + 1 if spare else d
    places = places_in_tiles(d, width)
    G = np.zeros((batch, width * width), dtype=other.dtype)
    Z = np.zeros((GATHERED, width), dtype=other.dtype)
    L, b = empty_batch(d, batch, other), np.zeros(d, dtype=other.dtype)
    penalty, free = np.ones(batch, dtype=other.dtype), np.zeros(batch, dtype=np.bool_)
    for first in range(lo, hi, batch):
        rows = min(batch, hi - first)
        _begin_batch(ptr, first, rows, ridge, ridge_per_record, penalty, free)
        for m in range(rows):
            A = G[m].reshape((width, width))
            A[:d] = 0
            b[:] = 0
            for begin in range(ptr[first + m], ptr[first + m + 1], GATHERED):
                n = min(GATHERED, ptr[first + m + 1] - begin)
                for k in range(n):
                    gather_row(Z, k, other, cols[begin + k])
                    if spare:
                        Z[k, d] = r[begin + k]
                    else:
                        for a in range(d):
                            b[a] += r[begin + k] * Z[k, a]
                add_gram(A, Z, n, d, columns)
            if not spare:
                for a in range(d):
                    L[d, a, m] = b[a]
        for number in range(d * width // batch):
            turn(G, number, places, L)
        _solve_batch(L, d, first, rows, penalty, free, linear, out)


@vector_kernel(fastmath=FAST)
def solve_in_tiles(lo, hi, ptr, cols, r, other, ridge, ridge_per_record, linear, out):  # type: ignore[no-untyped-def]
    """`solve_ridge` for rows of any length, row by row."""
    d = other.shape[1]
    width = padded(d, other)
    # Where padding leaves a column, the right-hand side goes along in it for nothing.
    spare = width > d
    columns = d + 1 if spare else d
    A = np.empty((width, width), dtype=other.dtype)
    Z = np.zeros((GATHERED, width), dtype=other.dtype)
    b = np.zeros(d, dtype=other.dtype)
    for i in range(lo, hi):
        start, end = ptr[i], ptr[i + 1]
        penalty = ridge + ridge_per_record * (end - start)
        if start == end and penalty == 0:
            out[i, :] = 0
            continue
        own = i if len(linear) > 1 else 0
        start_with(A, d, penalty)
        for a in range(d):
            b[a] = -linear[own, a]
        for first in range(start, end, GATHERED):
            n = min(GATHERED, end - first)
            for k in range(n):
                z, value = other[cols[first + k]], r[first + k]
                gather_row(Z, k, other, cols[first + k])
                if spare:
                    Z[k, d] = value
                else:
                    for a in range(d):
                        b[a] += value * z[a]
            add_gram(A, Z, n, d, columns)
        if spare:
            for a in range(d):
                A[a, d] += b[a]
        factor(A, d, columns, penalty)
        if spare:
            for a in range(d):
                b[a] = A[a, d]
        else:
            solve_lower(A, b, d)
        solve_upper(A, b, d)
        for a in range(d):
            out[i, a] = b[a]


@vector_kernel(fastmath=FAST)
def dot(x, y):  # type: ignore[no-untyped-def]
    """x . y."""
    total = 0.0
    for a in range(len(x)):
        total += x[a] * y[a]
    return total


@vector_kernel()
def orthonormalise(rows):  # type: ignore[no-untyped-def]
    """Gram-Schmidt in place, from the first row on; a row that depends on those before is zero."""
    for k in range(len(rows)):
        row = rows[k]
        before = math.sqrt(dot(row, row))
        for _ in range(2):  # the second time takes away what rounding left
            for e in range(k):
                share = dot(rows[e], row)
                for a in range(len(row)):
                    row[a] -= share * rows[e, a]
        norm = math.sqrt(dot(row, row))
        scale = 1 / norm if norm > 1e-5 * before else 0.0
        for a in range(len(row)):
            row[a] *= scale


def solve_ridge(
    lo: int,
    hi: int,
    ptr: Array,
    cols: Array,
    r: Array,
    other: Array,
    ridge: float,
    ridge_per_record: float,
    linear: Array,
    out: Array,
) -> None:
    """out[i] = argmin_x 1/2 sum (r_ij - x . z_j)^2 + lambda_i/2 |x|^2 + linear_i . x.

    lambda_i is the ridge, and more by another for each record; `linear` has a row for all, or one.
    """
    number = other.dtype.type
    # Chosen here: what is not used is then not compiled.
    kernel = solve_in_tiles
    if fits_batches(other.shape[1], other.itemsize):
        kernel = solve_in_batches
    elif other.shape[1] <= MOST_TURNED:
        kernel = solve_in_tiled_batches
    ptr, cols, r, other, linear = map(read_only, (ptr, cols, r, other, linear))
    kernel(lo, hi, ptr, cols, r, other, number(ridge), number(ridge_per_record), linear, out)


def solve_rows(
    ptr: Array,
    cols: Array,
    r: Array,
    other: Array,
    ridge: float,
    ridge_per_record: float,
    *,
    linear: Array | None = None,
    threads: int = 1,
) -> Array:
    """`solve_ridge` for every row, on all threads; without `linear`, that term is zero."""
    out = np.empty((len(ptr) - 1, other.shape[1]), dtype=other.dtype)
    if linear is None:
        linear = np.zeros((1, other.shape[1]), dtype=other.dtype)
    run_ranges(
        solve_ridge,
        row_ranges(ptr, threads),
        threads,
        ptr,
        cols,
        r,
        other,
        ridge,
        ridge_per_record,
        linear,
        out,
    )
    return out
