"""Products of gathered rows and triangular solves, a tile at a time.

A tile is eight rows by one vector of a matrix; all records of a block are added up before the
matrix is touched.
"""

from __future__ import annotations

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from discreet.kernels.simd.vectors import ROWS, Writer, arrays_of, require_alike, rows_from
from discreet.kernels.simd.width import BYTES


@njit(inline="always")
def padded(d, array):
    """The least number of columns >= d that whole tiles cover."""
    step = max(ROWS, BYTES // array.itemsize)
    return (d + step - 1) // step * step


def _products(combine):
    @intrinsic
    def products(typingctx, A, i, j, L, left, R, n):
        del typingctx, i, j, left, n
        require_alike(A, L, R)

        def generate(context, builder, signature, args):
            arrays = [(signature.args[k], args[k]) for k in (0, 3, 5)]
            matrix, lefts, rights = arrays_of(context, builder, *zip(*arrays, strict=True))
            i, j, left, n = args[1], args[2], args[4], args[6]
            w = Writer(context, builder, signature.args[0].dtype)
            sums = [w.running(w.zero) for _ in range(ROWS)]
            with cgutils.for_range(builder, n) as loop:
                right = w.load(w.pointer(rights, loop.index, j))
                for column, total in zip(rows_from(builder, left), sums, strict=True):
                    number = builder.load(w.pointer(lefts, loop.index, column))
                    w.add_to(total, w.multiply(w.spread(number), right))
            for row, total in zip(rows_from(builder, i), sums, strict=True):
                place = w.pointer(matrix, row, j)
                w.store(combine(w, w.load(place), builder.load(total)), place)
            return context.get_dummy_value()

        whole = types.intp
        return types.void(A, whole, whole, L, whole, R, whole), generate

    return products


add_products = _products(Writer.add)
"""A[i:i+8, j:j+lanes] += sum over k < n of L[k, left:left+8]' R[k, j:j+lanes]."""
subtract_products = _products(Writer.subtract)
"""The same with a minus."""


@intrinsic
def solve_tile(typingctx, A, R, top, j):
    """A[top:top+8, j:j+lanes] <- R'^-1 of it; R is upper, 8 x 8, with 1/R_kk on its diagonal."""
    del typingctx, top, j
    require_alike(A, R)

    def generate(context, builder, signature, args):
        matrix, factor = arrays_of(context, builder, signature.args[:2], args[:2])
        top, j = args[2:]
        w = Writer(context, builder, signature.args[0].dtype)
        places = [w.pointer(matrix, row, j) for row in rows_from(builder, top)]
        within = rows_from(builder, ir.Constant(top.type, 0))
        values = [w.load(place) for place in places]

        def entry(k, a):
            return w.spread(builder.load(w.pointer(factor, within[k], within[a])))

        for k in range(ROWS):
            values[k] = w.multiply(values[k], entry(k, k))
            w.store(values[k], places[k])
            for a in range(k + 1, ROWS):
                values[a] = w.subtract(values[a], w.multiply(entry(k, a), values[k]))
        return context.get_dummy_value()

    return types.void(A, R, types.intp, types.intp), generate
