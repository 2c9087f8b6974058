"""Vector instructions, written out: what compilers do not find in loops.

Three inner loops carry the solvers, and all three lose a factor of two to three when the compiler
vectorises them by itself, because sums go through memory instead of registers:

- products of gathered rows, a tile at a time: eight rows by one vector of a matrix, all records of
  a block added up before the matrix is touched;
- a triangular solve within a tile;
- the gradient of one row, the row and its sum in registers.

They are described to LLVM as vectors and compile for any processor; on one with AVX-512 a vector
is 64 bytes, else 32.
"""

from __future__ import annotations

from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import NumbaTypeError
from numba.extending import intrinsic

FAST = {"reassoc", "contract", "nsz"}
"""Sums may be reordered (so they vectorise), but a NaN stays a NaN: divergence must be seen."""
ROWS = 8
"""Rows of a tile: so many independent sums keep two multiply-add units of four cycles busy."""
_BYTES = 64 if binding.get_host_cpu_features().get("avx512f", False) else 32
_MOST_VECTORS = 8
_INDEX = ir.IntType(32)


@njit(inline="always")
def lanes(array):
    """The numbers in one vector: the columns of a tile."""
    return _BYTES // array.itemsize


@njit(inline="always")
def padded(d, array):
    """The least number of columns >= d that whole tiles cover."""
    step = max(ROWS, _BYTES // array.itemsize)
    return (d + step - 1) // step * step


@njit(inline="always")
def fits_registers(d, array):
    """Whether `row_gradient` can hold rows of d numbers."""
    return d <= _MOST_VECTORS * (_BYTES // array.itemsize)


class _Writer:
    """Writes vector instructions on the numbers of one type."""

    def __init__(self, context, builder, dtype):
        self.builder = builder
        self.bytes = dtype.bitwidth // 8
        self.number = context.get_data_type(dtype)
        self.lanes = _BYTES // self.bytes
        self.vector = ir.VectorType(self.number, self.lanes)
        self.zero = ir.Constant(self.vector, None)

    def pointer(self, array, *position):
        """Where array[position] is, the array being contiguous."""
        sizes = cgutils.unpack_tuple(self.builder, array.shape)
        place = position[0]
        for index, size in zip(position[1:], sizes[1:], strict=True):
            place = self.builder.add(self.builder.mul(place, size), index)
        return self.builder.gep(array.data, [place])

    def load(self, place):
        """A vector from memory."""
        place = self.builder.bitcast(place, self.vector.as_pointer())
        return self.builder.load(place, align=self.bytes)

    def store(self, value, place):
        """A vector to memory."""
        place = self.builder.bitcast(place, self.vector.as_pointer())
        self.builder.store(value, place, align=self.bytes)

    def spread(self, value):
        """One number in every lane."""
        kind = ir.VectorType(value.type, self.lanes)
        none = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(none, value, ir.Constant(_INDEX, 0))
        everywhere = ir.Constant(ir.VectorType(_INDEX, self.lanes), None)
        return self.builder.shuffle_vector(first, none, everywhere)

    def multiply(self, x, y):
        return self.builder.fmul(x, y, flags=sorted(FAST))

    def add(self, x, y):
        return self.builder.fadd(x, y, flags=sorted(FAST))

    def subtract(self, x, y):
        return self.builder.fsub(x, y, flags=sorted(FAST))

    def add_to(self, total, value):
        """A running sum; LLVM keeps it in a register."""
        self.builder.store(self.add(self.builder.load(total), value), total)

    def sum(self, vector):
        """The sum of a vector's lanes."""
        return self.builder.call(
            self._intrinsic("vector.reduce.fadd", self.number, [self.number, self.vector]),
            [ir.Constant(self.number, 0.0), vector],
            fastmath=sorted(FAST),
        )

    def first_lanes(self, count):
        """A mask of the lanes below count."""
        numbered = [ir.Constant(_INDEX, lane) for lane in range(self.lanes)]
        lane = ir.Constant(ir.VectorType(_INDEX, self.lanes), numbered)
        return self.builder.icmp_signed("<", lane, self.spread(self.builder.trunc(count, _INDEX)))

    def load_masked(self, place, mask):
        """A vector from memory, zero where the mask is false: nothing is read there."""
        kind = self.vector.as_pointer()
        read = self._intrinsic(
            "masked.load", self.vector, [kind, _INDEX, mask.type, self.vector], pointers=1
        )
        align = ir.Constant(_INDEX, self.bytes)
        return self.builder.call(read, [self.builder.bitcast(place, kind), align, mask, self.zero])

    def store_masked(self, value, place, mask):
        """A vector to memory where the mask is true."""
        kind = self.vector.as_pointer()
        write = self._intrinsic(
            "masked.store", ir.VoidType(), [self.vector, kind, _INDEX, mask.type], pointers=1
        )
        align = ir.Constant(_INDEX, self.bytes)
        self.builder.call(write, [value, self.builder.bitcast(place, kind), align, mask])

    def _intrinsic(self, name, result, arguments, pointers=0):
        full = f"llvm.{name}.v{self.lanes}f{8 * self.bytes}" + pointers * ".p0"
        kind = ir.FunctionType(result, arguments)
        return cgutils.get_or_insert_function(self.builder.module, kind, full)


def _require_alike(*arrays):
    """Refuse to compile what pointers are not computed for: arrays with gaps, of several types."""
    if any(array.layout != "C" or array.dtype != arrays[0].dtype for array in arrays):
        raise NumbaTypeError("vector instructions need contiguous arrays of one type of number")


def _arrays(context, builder, kinds, values):
    pairs = zip(kinds, values, strict=True)
    return [context.make_array(kind)(context, builder, value) for kind, value in pairs]


def _rows_from(builder, first):
    return [builder.add(first, ir.Constant(first.type, row)) for row in range(ROWS)]


def _products(combine):
    @intrinsic
    def products(typingctx, A, i, j, L, left, R, n):
        del typingctx, i, j, left, n
        _require_alike(A, L, R)

        def generate(context, builder, signature, args):
            arrays = [(signature.args[k], args[k]) for k in (0, 3, 5)]
            matrix, lefts, rights = _arrays(context, builder, *zip(*arrays, strict=True))
            i, j, left, n = args[1], args[2], args[4], args[6]
            w = _Writer(context, builder, signature.args[0].dtype)
            sums = [cgutils.alloca_once_value(builder, w.zero) for _ in range(ROWS)]
            with cgutils.for_range(builder, n) as loop:
                right = w.load(w.pointer(rights, loop.index, j))
                for column, total in zip(_rows_from(builder, left), sums, strict=True):
                    number = builder.load(w.pointer(lefts, loop.index, column))
                    w.add_to(total, w.multiply(w.spread(number), right))
            for row, total in zip(_rows_from(builder, i), sums, strict=True):
                place = w.pointer(matrix, row, j)
                w.store(combine(w, w.load(place), builder.load(total)), place)
            return context.get_dummy_value()

        whole = types.intp
        return types.void(A, whole, whole, L, whole, R, whole), generate

    return products


add_products = _products(_Writer.add)
"""A[i:i+8, j:j+lanes] += sum over k < n of L[k, left:left+8]' R[k, j:j+lanes]."""
subtract_products = _products(_Writer.subtract)
"""The same with a minus."""


@intrinsic
def solve_tile(typingctx, A, R, top, j):
    """A[top:top+8, j:j+lanes] <- R'^-1 of it; R is upper, 8 x 8, with 1/R_kk on its diagonal."""
    del typingctx, top, j
    _require_alike(A, R)

    def generate(context, builder, signature, args):
        matrix, factor = _arrays(context, builder, signature.args[:2], args[:2])
        top, j = args[2:]
        w = _Writer(context, builder, signature.args[0].dtype)
        places = [w.pointer(matrix, row, j) for row in _rows_from(builder, top)]
        within = _rows_from(builder, ir.Constant(top.type, 0))
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


@intrinsic
def row_gradient(typingctx, x, other, cols, r, lo, hi, total):
    """total <- sum over lo <= k < hi of e_k z_k, z_k = other[cols[k]], e_k = r_k - x . z_k.

    Returns the sum of e_k^2. Only where `fits_registers`: there is one loop for each number of
    vectors in a row, so that x and the sum never leave the registers.
    """
    del typingctx, lo, hi
    _require_alike(x, other, r, total)

    def generate(context, builder, signature, args):
        kinds = signature.args
        x, other, cols, r, total = _arrays(
            context, builder, (*kinds[:4], kinds[6]), (*args[:4], args[6])
        )
        lo, hi = args[4:6]
        w = _Writer(context, builder, kinds[0].dtype)
        (d,) = cgutils.unpack_tuple(builder, x.shape)

        def index(value):
            return ir.Constant(d.type, value)

        def write_loop(vectors):
            mask = w.first_lanes(builder.sub(d, index((vectors - 1) * w.lanes)))

            def parts(start):
                return [builder.gep(start, [index(v * w.lanes)]) for v in range(vectors)]

            def load_row(start):
                *whole, last = parts(start)
                return [*(w.load(part) for part in whole), w.load_masked(last, mask)]

            own = load_row(x.data)
            sums = [cgutils.alloca_once_value(builder, w.zero) for _ in own]
            with cgutils.for_range_slice(builder, lo, hi, index(1)) as (k, _):
                col = builder.sext(builder.load(w.pointer(cols, k)), d.type)
                row = load_row(w.pointer(other, col, index(0)))
                dot = w.multiply(own[0], row[0])
                for mine, theirs in zip(own[1:], row[1:], strict=True):
                    dot = w.add(dot, w.multiply(mine, theirs))
                error = w.subtract(builder.load(w.pointer(r, k)), w.sum(dot))
                everywhere = w.spread(error)
                for part, theirs in zip(sums, row, strict=True):
                    w.add_to(part, w.multiply(everywhere, theirs))
                exact = error if w.bytes == 8 else builder.fpext(error, ir.DoubleType())
                w.add_to(squares, w.multiply(exact, exact))
            for part, place in zip(sums[:-1], parts(total.data), strict=False):
                w.store(builder.load(part), place)
            w.store_masked(builder.load(sums[-1]), parts(total.data)[-1], mask)

        squares = cgutils.alloca_once_value(builder, ir.Constant(ir.DoubleType(), 0.0))
        done = builder.append_basic_block("done")
        needed = builder.udiv(builder.add(d, index(w.lanes - 1)), index(w.lanes))
        choice = builder.switch(needed, done)
        for vectors in range(1, _MOST_VECTORS + 1):
            loop = builder.append_basic_block(f"vectors.{vectors}")
            choice.add_case(index(vectors), loop)
            builder.position_at_end(loop)
            write_loop(vectors)
            builder.branch(done)
        builder.position_at_end(done)
        return builder.load(squares)

    return types.float64(x, other, cols, r, types.intp, types.intp, total), generate
