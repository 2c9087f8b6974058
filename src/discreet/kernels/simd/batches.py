"""Vector instructions for small least squares: as many rows solved at once as a vector has lanes.

The Gram matrix of one row is summed in registers alone, in as few passes over some of its records
as they allow: one with AVX-512. The matrices of a batch are then turned round, so that a vector
holds the same entry of every matrix: factoring them needs no sum across lanes and waits for no
square root of its own.
"""

from __future__ import annotations

from itertools import count

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

_REGISTERS = (32 if BYTES == 64 else 16) - 1
"""Of vectors; with one more LLVM begins to keep sums in memory: 1.2 times as long."""
_MOST_PASSES = 1 if BYTES == 64 else 4
"""Over the same records; measured beside tiles in README.md."""


@register_jitable
def products_of(d: int, lanes: int) -> list[tuple[int, int]]:
    """Which number of a record is multiplied by which of its vectors, for a lower half of a matrix.

    The right-hand side is number d. It also stands behind the last number of the last vector, so
    only whole vectors are multiplied by it, each as soon as all that need it were.
    """
    products = []
    for c in range(d):
        for v in range(c // lanes + 1):
            products.append((c, v))  # noqa: PERF401
        if (c + 1) % lanes == 0:
            products.append((d, c // lanes))
    return products


def _passes(products: list[tuple[int, int]], most: int) -> list[list[tuple[int, int]]]:
    """The products in runs: their sums, what they read and one number fit so many registers."""
    runs: list[list[tuple[int, int]]] = [[]]
    for product in products:
        run = [*runs[-1], product]
        if len(run) + len({v for _, v in run}) + 1 > most:
            runs.append([product])
        else:
            runs[-1] = run
    return runs


def _even_passes(d: int, lanes: int) -> list[list[tuple[int, int]]]:
    """As few passes as registers allow, as long as each other: a short one waits for its sums."""
    products = products_of(d, lanes)
    fewest = len(_passes(products, _REGISTERS))
    choices = (_passes(products, most) for most in range(4, _REGISTERS + 1))
    return next(passes for passes in choices if len(passes) == fewest)


def _most_factors(lanes: int) -> int:
    """The largest d whose sums take few enough passes."""

    def takes_more(d: int) -> bool:
        return len(_passes(products_of(d, lanes), _REGISTERS)) > _MOST_PASSES

    return next(filter(takes_more, count(1))) - 1


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
    products = products_of(d, lanes)
    places = np.full(len(products) * lanes, (d + ROWS) * columns)
    for number, (c, v) in enumerate(products):
        for lane in range(lanes):
            a = v * lanes + lane
            if a <= c and a < d:
                places[number * lanes + lane] = c * columns + a
            elif a == d:
                places[number * lanes + lane] = d * columns + c
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

        def load(start, d, v):
            """Vector v of a record, the right-hand side behind the last number."""
            first = v * w.lanes
            place = builder.gep(start, [w.index(first)])
            if first + w.lanes <= d:
                return w.load(place)
            return w.load_masked(place, w.first_lanes(w.index(d - first)))

        def write(d):
            number, passes = 0, _even_passes(d, w.lanes)
            for among in passes:
                totals = [w.running(w.zero) for _ in among]
                with cgutils.for_range_slice(builder, lo, hi, w.index(1)) as (k, _):
                    if among is passes[0]:
                        w.prefetch(other, cols, k)
                    start = w.row(other, cols, k)
                    value = builder.load(w.pointer(r, k))
                    row = {v: load(start, d, v) for _, v in among}
                    if d // w.lanes in row:
                        lane = ir.Constant(ir.IntType(32), d % w.lanes)
                        last = row[d // w.lanes]
                        row[d // w.lanes] = builder.insert_element(last, value, lane)
                    factors = {
                        c: builder.load(builder.gep(start, [w.index(c)])) if c < d else value
                        for c, _ in among
                    }
                    for total, (c, v) in zip(totals, among, strict=True):
                        w.add_to(total, w.multiply(w.spread(factors[c]), row[v]))
                for total in totals:
                    place = w.pointer(sums, w.index(number * w.lanes))
                    w.store(w.add(w.load(place), builder.load(total)), place)
                    number += 1

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
