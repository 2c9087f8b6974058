"""Products of gathered rows and triangular solves, a tile at a time.

A tile is some rows by one or three vectors of a matrix; all records of a block are added up
before the matrix is touched.
"""

from __future__ import annotations

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from discreet.kernels.simd.vectors import ROWS, Writer, arrays_of, lanes, require_alike, rows_from
from discreet.kernels.simd.width import BYTES, vector_kernel


@njit(inline="always")
def padded(d, array):
    """The least number of columns >= d that whole tiles cover."""
    step = max(ROWS, BYTES // array.itemsize)
    return (d + step - 1) // step * step


def _products(combine, rows, vectors):
    @intrinsic
    def products(typingctx, A, i, j, L, left, R, n):
        del typingctx, i, j, left, n
        require_alike(A, L, R)

        def generate(context, builder, signature, args):
            arrays = [(signature.args[k], args[k]) for k in (0, 3, 5)]
            matrix, lefts, rights = arrays_of(context, builder, *zip(*arrays, strict=True))
            i, j, left, n = args[1], args[2], args[4], args[6]
            w = Writer(context, builder, signature.args[0].dtype)
            columns = [builder.add(j, w.index(v * w.lanes)) for v in range(vectors)]
            sums = [[w.running(w.zero) for _ in columns] for _ in range(rows)]
            with cgutils.for_range(builder, n) as loop:
                right = [w.load(w.pointer(rights, loop.index, column)) for column in columns]
                for row, totals in zip(rows_from(builder, left, rows), sums, strict=True):
                    number = w.spread(builder.load(w.pointer(lefts, loop.index, row)))
                    for total, numbers in zip(totals, right, strict=True):
                        w.add_to(total, w.multiply(number, numbers))
            for row, totals in zip(rows_from(builder, i, rows), sums, strict=True):
                for column, total in zip(columns, totals, strict=True):
                    place = w.pointer(matrix, row, column)
                    w.store(combine(w, w.load(place), builder.load(total)), place)
            return context.get_dummy_value()

        whole = types.intp
        return types.void(A, whole, whole, L, whole, R, whole), generate

    return products


WIDE = ROWS if BYTES == 64 else ROWS // 2
"""Rows of a tile of three vectors: its sums, which are to stay in registers, are 12 of 16, or 24 of
32. Such a tile loads a number for every three products, not for each."""

add_products = _products(Writer.add, ROWS, 1)
"""A[i:i+8, j:j+lanes] += sum over k < n of L[k, left:left+8]' R[k, j:j+lanes]."""
_subtract_products = _products(Writer.subtract, ROWS, 1)
_add_3, _subtract_3 = _products(Writer.add, WIDE, 3), _products(Writer.subtract, WIDE, 3)


@vector_kernel()
def add_panel(A, i, j, end, L, left, R, n):
    """A[i:i+8, j:end] += sum over k < n of L[k, left:left+8]' R[k, j:end], in whole vectors."""
    step = lanes(A)
    while j < end:
        if end - j > 2 * step:
            for row in range(0, ROWS, WIDE):
                _add_3(A, i + row, j, L, left + row, R, n)
            j += 3 * step
        else:
            add_products(A, i, j, L, left, R, n)
            j += step


@vector_kernel()
def subtract_panel(A, i, j, end, L, left, R, n):
    """The same with a minus."""
    step = lanes(A)
    while j < end:
        if end - j > 2 * step:
            for row in range(0, ROWS, WIDE):
                _subtract_3(A, i + row, j, L, left + row, R, n)
            j += 3 * step
        else:
            _subtract_products(A, i, j, L, left, R, n)
            j += step


@intrinsic
def gather_row(typingctx, Z, k, other, row):
    """Z[k] <- other[row], and zeros to the end of the last vector."""
    del typingctx, k, row
    require_alike(Z, other)

    def generate(context, builder, signature, args):
        kinds = signature.args
        Z, other = arrays_of(context, builder, (kinds[0], kinds[2]), (args[0], args[2]))
        k, row = args[1], args[3]
        w = Writer(context, builder, kinds[0].dtype)
        _, d = cgutils.unpack_tuple(builder, other.shape)
        source, target = w.pointer(other, row, w.index(0)), w.pointer(Z, k, w.index(0))
        whole = builder.and_(d, w.index(-w.lanes))
        with cgutils.for_range_slice(builder, w.index(0), whole, w.index(w.lanes)) as (a, _):
            w.store(w.load(builder.gep(source, [a])), builder.gep(target, [a]))
        left = builder.sub(d, whole)
        with builder.if_then(builder.icmp_signed(">", left, w.index(0))):
            tail = w.load_masked(builder.gep(source, [whole]), w.first_lanes(left))
            w.store(tail, builder.gep(target, [whole]))
        return context.get_dummy_value()

    return types.void(Z, types.intp, other, types.intp), generate


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
