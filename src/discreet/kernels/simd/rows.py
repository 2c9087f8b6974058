"""Passes over the records of one row, its numbers and their sums in registers throughout."""

from __future__ import annotations

from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from discreet.kernels.simd.vectors import Writer, arrays_of, require_alike
from discreet.kernels.simd.width import BYTES

_MOST_VECTORS = 8


@njit(inline="always")
def fits_registers(d, array):
    """Whether `row_gradient` can hold rows of d numbers."""
    return d <= _MOST_VECTORS * (BYTES // array.itemsize)


def _for_each_size(w, d, write):
    """Call write(rows) for every number of vectors in a row; d decides when it runs."""
    needed = w.builder.udiv(w.builder.add(d, w.index(w.lanes - 1)), w.index(w.lanes))
    w.choose(needed, range(1, _MOST_VECTORS + 1), lambda vectors: write(_Rows(w, d, vectors)))


class _Rows:
    """Rows of d numbers in registers: so many vectors, the last one masked."""

    def __init__(self, w, d, vectors):
        self.w = w
        self.vectors = vectors
        self.mask = w.first_lanes(w.builder.sub(d, w.index((vectors - 1) * w.lanes)))

    def _parts(self, start):
        gep = self.w.builder.gep
        return [gep(start, [self.w.index(v * self.w.lanes)]) for v in range(self.vectors)]

    def load(self, start):
        *whole, last = self._parts(start)
        return [*(self.w.load(part) for part in whole), self.w.load_masked(last, self.mask)]

    def store(self, row, start):
        *whole, last = self._parts(start)
        for value, part in zip(row[:-1], whole, strict=True):
            self.w.store(value, part)
        self.w.store_masked(row[-1], last, self.mask)

    def dots(self, own, others):
        """The products with one row, to be summed over their lanes."""
        products = [self.w.multiply(own[0], row[0]) for row in others]
        for v in range(1, self.vectors):
            products = [
                self.w.add(product, self.w.multiply(own[v], row[v]))
                for product, row in zip(products, others, strict=True)
            ]
        return products

    def zeros(self):
        return [self.w.running(self.w.zero) for _ in range(self.vectors)]


@intrinsic
def row_gradient(typingctx, x, other, cols, r, lo, hi, total):
    """total <- sum over lo <= k < hi of e_k z_k, z_k = other[cols[k]], e_k = r_k - x . z_k.

    Returns the sum of e_k^2. Only where `fits_registers`: there is one loop for each number of
    vectors in a row, so that x and the sum never leave the registers.
    """
    del typingctx, lo, hi
    require_alike(x, other, r, total)

    def generate(context, builder, signature, args):
        kinds = signature.args
        x, other, cols, r, total = arrays_of(
            context, builder, (*kinds[:4], kinds[6]), (*args[:4], args[6])
        )
        lo, hi = args[4:6]
        w = Writer(context, builder, kinds[0].dtype)
        (d,) = cgutils.unpack_tuple(builder, x.shape)
        squares = {count: w.running(w.exact_zero(count)) for count in (1, 4)}

        def write(rows):
            own, sums = rows.load(x.data), rows.zeros()

            def add(k, count):
                """The next records: together, since summing four vectors takes half the steps."""
                places = [builder.add(k, w.index(n)) for n in range(count)]
                for place in places:
                    w.prefetch(other, cols, place)
                theirs = [rows.load(w.row(other, cols, place)) for place in places]
                errors = w.subtract(w.load(w.pointer(r, k), count), w.sums(rows.dots(own, theirs)))
                for n, row in enumerate(theirs):
                    everywhere = w.spread(builder.extract_element(errors, w.lane(n)))
                    for part, value in zip(sums, row, strict=True):
                        w.add_to(part, w.multiply(everywhere, value))
                exact = w.exact(errors)
                w.add_to(squares[count], w.multiply(exact, exact))

            most = max(squares)
            whole = builder.sdiv(builder.sub(hi, lo), w.index(most))
            middle = builder.add(lo, builder.mul(whole, w.index(most)))
            for first, end, count in ((lo, middle, most), (middle, hi, 1)):
                with cgutils.for_range_slice(builder, first, end, w.index(count)) as (k, _):
                    add(k, count)
            rows.store([builder.load(part) for part in sums], total.data)

        _for_each_size(w, d, write)
        totals = [builder.load(square) for square in squares.values()]
        return w.add(w.sum(totals[0]), w.sum(totals[1]))

    return types.float64(x, other, cols, r, types.intp, types.intp, total), generate


@intrinsic
def row_echo(typingctx, other, cols, r, lo, hi, centre, scale, out):
    """out[cols[k]] += w_k g, w_k = r_k - centre, g = scale * sum over lo <= k < hi of w_k z_k.

    z_k = other[cols[k]]. Only where `fits_registers`.
    """
    del typingctx, lo, hi, centre, scale
    require_alike(other, r, out)

    def generate(context, builder, signature, args):
        kinds = signature.args
        other, cols, r, out = arrays_of(
            context, builder, (*kinds[:3], kinds[7]), (*args[:3], args[7])
        )
        lo, hi, centre, scale = args[3:7]
        w = Writer(context, builder, kinds[0].dtype)
        _, d = cgutils.unpack_tuple(builder, other.shape)

        def weight(k):
            return w.spread(w.subtract(builder.load(w.pointer(r, k)), centre))

        def write(rows):
            sums = rows.zeros()
            with cgutils.for_range_slice(builder, lo, hi, w.index(1)) as (k, _):
                w.prefetch(other, cols, k)
                everywhere = weight(k)
                for part, theirs in zip(sums, rows.load(w.row(other, cols, k)), strict=True):
                    w.add_to(part, w.multiply(everywhere, theirs))
            g = [w.multiply(w.spread(scale), builder.load(part)) for part in sums]
            with cgutils.for_range_slice(builder, lo, hi, w.index(1)) as (k, _):
                everywhere, place = weight(k), w.row(out, cols, k)
                pairs = zip(rows.load(place), g, strict=True)
                rows.store([w.add(old, w.multiply(everywhere, own)) for old, own in pairs], place)

        _for_each_size(w, d, write)
        return context.get_dummy_value()

    number = other.dtype
    whole = types.intp
    return types.void(other, cols, r, whole, whole, number, number, out), generate


@intrinsic
def row_steps(typingctx, rows, cols, r, lo, hi, U, V, rate, keep_u, keep_v):
    """For lo <= k < hi, one after another: e = r_k - u . v, u <- keep_u u + rate e v and
    v <- keep_v v + rate e u, with u = U[rows[k]] and v = V[cols[k]] as they were.

    Returns the sum of e^2. Only where `fits_registers`.
    """
    del typingctx, lo, hi, rate, keep_u, keep_v
    require_alike(U, V, r)

    def generate(context, builder, signature, args):
        kinds = signature.args
        rows, cols, r, U, V = arrays_of(
            context, builder, (*kinds[:3], *kinds[5:7]), (*args[:3], *args[5:7])
        )
        lo, hi = args[3:5]
        rate, keep_u, keep_v = args[7:]
        w = Writer(context, builder, kinds[5].dtype)
        _, d = cgutils.unpack_tuple(builder, U.shape)
        squares = w.running(w.exact_zero(1))

        def write(vectors):
            kept = w.spread(keep_u), w.spread(keep_v)
            with cgutils.for_range_slice(builder, lo, hi, w.index(1)) as (k, _):
                w.prefetch(U, rows, k)
                w.prefetch(V, cols, k)
                places = w.row(U, rows, k), w.row(V, cols, k)
                u, v = (vectors.load(place) for place in places)
                error = w.subtract(w.load(w.pointer(r, k), 1), w.sums(vectors.dots(u, [v])))
                exact = w.exact(error)
                w.add_to(squares, w.multiply(exact, exact))
                step = w.spread(w.multiply(builder.extract_element(error, w.lane(0)), rate))
                for keep, own, other, place in zip(kept, (u, v), (v, u), places, strict=True):
                    parts = zip(own, other, strict=True)
                    vectors.store(
                        [w.add(w.multiply(keep, x), w.multiply(step, z)) for x, z in parts], place
                    )

        _for_each_size(w, d, write)
        return w.sum(builder.load(squares))

    number, whole = U.dtype, types.intp
    return (
        types.float64(rows, cols, r, whole, whole, U, V, number, number, number),
        generate,
    )
