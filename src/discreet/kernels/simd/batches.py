"""Vector instructions for small least squares: as many rows solved at once as a vector has lanes.

The Gram matrix of one row is summed in registers alone, in a single pass over its records. The
matrices of a batch are then turned round, so that a vector holds the same entry of every matrix:
factoring them needs no sum across lanes and waits for no square root of its own.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable

from discreet.kernels.simd.vectors import (
    ROWS,
    Writer,
    arrays_of,
    exchanged,
    require_alike,
    rows_from,
)
from discreet.kernels.simd.width import BYTES

_REGISTERS = 32 if BYTES == 64 else 16


@register_jitable
def sums_of(d: int, lanes: int) -> int:
    """How many vectors hold the upper half of a d x d matrix, its right-hand side as a column."""
    return d if d + 1 <= lanes else 2 * d + 1 - lanes


def _most_factors(lanes: int) -> int:
    """The largest d whose sums fit the registers, two rows and a broadcast left free."""
    return max(d for d in range(1, 2 * lanes) if sums_of(d, lanes) <= _REGISTERS - 4)


_MOST_OF_4, _MOST_OF_8 = _most_factors(BYTES // 4), _most_factors(BYTES // 8)


@register_jitable
def fits_batches(d: int, itemsize: int) -> bool:
    """Whether batches hold rows of d numbers."""
    return d <= (_MOST_OF_4 if itemsize == 4 else _MOST_OF_8)


@njit
def empty_batch(d, lanes, like):
    """Lower halves of a batch of matrices, entry by entry; row d is the right-hand side.

    Some rows more are there for `eliminate` to spoil, and one for what `turn` has no place for.
    """
    return np.zeros((d + ROWS + 1, d + 1, lanes), dtype=like.dtype)


@njit
def places_of(d, lanes):
    """Which entry of the batch each lane of each sum is, counted row by row."""
    columns = d + 1
    places = np.full(sums_of(d, lanes) * lanes, (d + ROWS) * columns)
    for c in range(d + 1):
        for a in range(min(c + 1, d)):
            if c < lanes:
                place = a * lanes + c
            elif a < lanes:
                place = c * lanes + a
            else:
                place = (d + 1 + a - lanes) * lanes + c - lanes
            places[place] = c * columns + a
    return places


@njit
def places_in_tiles(d, width):
    """The same of a matrix of this width with its upper half filled, the right-hand side behind."""
    columns = d + 1
    places = np.full(d * width, (d + ROWS) * columns)
    for a in range(d):
        for c in range(a, min(columns, width)):
            places[a * width + c] = c * columns + a
    return places


@intrinsic
def add_records(typingctx, G, other, cols, r, lo, hi):
    """G += the sums of one row over records lo..hi, in the places that `places_of` tells."""
    del typingctx, lo, hi
    require_alike(G, other, r)

    def generate(context, builder, signature, args):
        kinds = signature.args
        sums, other, cols, r = arrays_of(context, builder, kinds[:4], args[:4])
        lo, hi = args[4:]
        w = Writer(context, builder, kinds[0].dtype)
        _, d = cgutils.unpack_tuple(builder, other.shape)

        def write(d):
            totals = [w.running(w.zero) for _ in range(sums_of(d, w.lanes))]
            last = d // w.lanes  # the vector that the right-hand side is in
            loaded = w.first_lanes(w.index(d - last * w.lanes))
            lane = ir.Constant(ir.IntType(32), d - last * w.lanes)
            with cgutils.for_range_slice(builder, lo, hi, w.index(1)) as (k, _):
                w.prefetch(other, cols, k)
                start = w.row(other, cols, k)
                value = builder.load(w.pointer(r, k))
                row = [w.load(builder.gep(start, [w.index(v * w.lanes)])) for v in range(last)]
                tail = w.load_masked(builder.gep(start, [w.index(last * w.lanes)]), loaded)
                row.append(builder.insert_element(tail, value, lane))
                factors = [builder.load(builder.gep(start, [w.index(a)])) for a in range(d)]
                factors.append(value)
                pairs = [(c, 0) for c in range(min(d, w.lanes))]
                if last:
                    pairs += [(c, 0) for c in range(w.lanes, d + 1)]
                    pairs += [(c, 1) for c in range(w.lanes, d)]
                for total, (c, v) in zip(totals, pairs, strict=True):
                    w.add_to(total, w.multiply(w.spread(factors[c]), row[v]))
            for number, total in enumerate(totals):
                place = w.pointer(sums, w.index(number * w.lanes))
                w.store(w.add(w.load(place), builder.load(total)), place)

        w.choose(d, range(1, _most_factors(w.lanes) + 1), write)
        return context.get_dummy_value()

    return types.void(G, other, cols, r, types.intp, types.intp), generate


@intrinsic
def turn(typingctx, G, number, places, L):
    """L[places[number, lane]] <- that lane of sum `number` of every matrix in G."""
    del typingctx, number
    require_alike(G, L)

    def generate(context, builder, signature, args):
        kinds = signature.args
        G, places, L = arrays_of(context, builder, (kinds[0], *kinds[2:]), (args[0], *args[2:]))
        number = args[1]
        w = Writer(context, builder, kinds[0].dtype)
        first = builder.mul(number, w.index(w.lanes))
        rows = [w.load(w.pointer(G, w.index(m), first)) for m in range(w.lanes)]
        # A butterfly: exchange the off-diagonal blocks, of half the lanes first.
        half = w.lanes // 2
        while half:
            low, high = exchanged(w.lanes, half)
            for m in range(w.lanes):
                if not m & half:
                    pair = rows[m], rows[m + half]
                    rows[m], rows[m + half] = w.shuffle(*pair, low), w.shuffle(*pair, high)
            half //= 2
        for lane, row in enumerate(rows):
            place = builder.load(w.pointer(places, builder.add(first, w.index(lane))))
            w.store(row, builder.gep(L.data, [builder.mul(place, w.index(w.lanes))]))
        return context.get_dummy_value()

    return types.void(G, types.intp, places, L), generate


def _step(write):
    """An intrinsic on the entries of a batch."""

    @intrinsic
    def step(typingctx, L, a, b, least):
        del typingctx, a, b
        require_alike(L, least)

        def generate(context, builder, signature, args):
            kinds = signature.args
            L, least = arrays_of(context, builder, (kinds[0], kinds[3]), (args[0], args[3]))
            a, b = args[1:3]
            w = Writer(context, builder, kinds[0].dtype)

            def entry(c, k):
                return w.pointer(L, c, k, w.index(0))

            write(w, builder, entry, a, b, least)
            return context.get_dummy_value()

        return types.void(L, types.intp, types.intp, least), generate

    return step


@_step
def pivot(w, builder, entry, a, _, least):
    """L[a, a] <- 1 / sqrt(L[a, a] - sum over k < a of L[a, k]^2), of no less than `least`."""
    total = w.running(w.load(entry(a, a)))
    with cgutils.for_range(builder, a) as loop:
        value = w.load(entry(a, loop.index))
        w.subtract_from(total, w.multiply(value, value))
    bound = w.load(w.pointer(least, w.index(0)))
    square = builder.load(total)
    low = builder.fcmp_ordered("<", square, bound)  # a NaN is not, and stays one
    root = w.root(builder.select(low, bound, square))
    one = ir.Constant(w.vector, [1.0] * w.lanes)
    w.store(builder.fdiv(one, root), entry(a, a))


@_step
def eliminate(w, builder, entry, a, first, _):
    """L[c, a] <- (L[c, a] - sum over k < a of L[c, k] L[a, k]) L[a, a], eight rows c from first."""
    rows = rows_from(builder, first)
    totals = [w.running(w.load(entry(c, a))) for c in rows]
    with cgutils.for_range(builder, a) as loop:
        value = w.load(entry(a, loop.index))
        for c, total in zip(rows, totals, strict=True):
            product = w.multiply(value, w.load(entry(c, loop.index)))
            w.subtract_from(total, product)
    scale = w.load(entry(a, a))
    for c, total in zip(rows, totals, strict=True):
        w.store(w.multiply(builder.load(total), scale), entry(c, a))


@_step
def substitute(w, builder, entry, a, d, _):
    """L[d, a] <- (L[d, a] - sum over a < c < d of L[c, a] L[d, c]) L[a, a]."""
    total = w.running(w.load(entry(d, a)))
    one = w.index(1)
    with cgutils.for_range_slice(builder, builder.add(a, one), d, one) as (c, _):
        product = w.multiply(w.load(entry(c, a)), w.load(entry(d, c)))
        w.subtract_from(total, product)
    w.store(w.multiply(builder.load(total), w.load(entry(a, a))), entry(d, a))
