"""Vector instructions, written out: what compilers do not find in loops.

The inner loops of least squares lose a factor of up to three when the compiler vectorises them by
itself, because sums go through memory instead of registers. `tiles` and `batches` write them with
the words that stand here. They are described to LLVM as vectors and compile for any processor;
how wide a vector is, `width` says.
"""

from __future__ import annotations

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import NumbaTypeError

from discreet.kernels.simd.instructions import AHEAD, prefetch
from discreet.kernels.simd.width import BYTES

FAST = {"reassoc", "contract", "nsz"}
"""Sums may be reordered (so they vectorise), but a NaN stays a NaN: divergence must be seen."""
ROWS = 8
"""Rows of a tile: so many independent sums keep two multiply-add units of four cycles busy."""
_INDEX = ir.IntType(32)


@njit(inline="always")
def lanes(array):
    """The numbers in one vector: the columns of a tile."""
    return BYTES // array.itemsize


@njit(inline="always")
def copy_row(source, target):
    """target[:] = source, whose checks and their messages would take seconds to compile."""
    for a in range(len(source)):
        target[a] = source[a]


class Writer:
    """Writes vector instructions on the numbers of one type."""

    def __init__(self, context, builder, dtype):
        self.builder = builder
        self.whole = context.get_value_type(types.intp)
        self.bytes = dtype.bitwidth // 8
        self.number = context.get_data_type(dtype)
        self.lanes = BYTES // self.bytes
        self.vector = ir.VectorType(self.number, self.lanes)
        self.zero = ir.Constant(self.vector, None)

    def pointer(self, array, *position):
        """Where array[position] is, the array being contiguous."""
        sizes = cgutils.unpack_tuple(self.builder, array.shape)
        place = position[0]
        for index, size in zip(position[1:], sizes[1:], strict=True):
            place = self.builder.add(self.builder.mul(place, size), index)
        return self.builder.gep(array.data, [place])

    def index(self, value):
        """A constant to count with."""
        return ir.Constant(self.whole, value)

    def row(self, array, rows, k):
        """Where array[rows[k]] is."""
        number = self.builder.sext(self.builder.load(self.pointer(rows, k)), self.whole)
        return self.pointer(array, number, self.index(0))

    def prefetch(self, array, rows, k):
        """Ask for array[rows[k + AHEAD]]: beyond the end of a row of records they go on."""
        (count,) = cgutils.unpack_tuple(self.builder, rows.shape)
        later = self.builder.add(k, self.index(AHEAD))
        last = self.builder.sub(count, self.index(1))
        inside = self.builder.icmp_signed("<", later, last)
        start = self.row(array, rows, self.builder.select(inside, later, last))
        _, d = cgutils.unpack_tuple(self.builder, array.shape)
        end = self.builder.gep(start, [self.builder.sub(d, self.index(1))])
        for place in (start, end):
            prefetch(self.builder, place)

    def load(self, place):
        """A vector from memory."""
        place = self.builder.bitcast(place, self.vector.as_pointer())
        return self.builder.load(place, align=self.bytes)

    def store(self, value, place):
        """A vector to memory."""
        place = self.builder.bitcast(place, self.vector.as_pointer())
        self.builder.store(value, place, align=self.bytes)

    def choose(self, value, cases, write):
        """Code for each case, written by write(case); the one that is value runs."""
        done = self.builder.append_basic_block("done")
        switch = self.builder.switch(value, done)
        for case in cases:
            block = self.builder.append_basic_block(f"case.{case}")
            switch.add_case(self.index(case), block)
            self.builder.position_at_end(block)
            write(case)
            self.builder.branch(done)
        self.builder.position_at_end(done)

    def spread(self, value):
        """One number in every lane."""
        kind = ir.VectorType(value.type, self.lanes)
        none = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(none, value, ir.Constant(_INDEX, 0))
        everywhere = ir.Constant(ir.VectorType(_INDEX, self.lanes), None)
        return self.builder.shuffle_vector(first, none, everywhere)

    def multiply(self, x, y):
        """Lane by lane."""
        return self.builder.fmul(x, y, flags=sorted(FAST))

    def add(self, x, y):
        """Lane by lane."""
        return self.builder.fadd(x, y, flags=sorted(FAST))

    def subtract(self, x, y):
        """Lane by lane."""
        return self.builder.fsub(x, y, flags=sorted(FAST))

    def running(self, first):
        """A running sum; LLVM keeps it in a register."""
        total = cgutils.alloca_once(self.builder, first.type)
        self.builder.store(first, total)
        return total

    def add_to(self, total, value):
        """To a running sum."""
        self.builder.store(self.add(self.builder.load(total), value), total)

    def shuffle(self, x, y, lanes):
        """A vector of these lanes of x and, counting on, of y."""
        chosen = ir.Constant(ir.VectorType(_INDEX, len(lanes)), lanes)
        return self.builder.shuffle_vector(x, y, chosen)

    def root(self, vector):
        """The square root of every lane."""
        return self.builder.call(self._intrinsic("sqrt", self.vector, [self.vector]), [vector])

    def subtract_from(self, total, value):
        """From a running sum."""
        self.builder.store(self.subtract(self.builder.load(total), value), total)

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

    def _intrinsic(self, name, result, arguments, pointers=0):
        full = f"llvm.{name}.v{self.lanes}f{8 * self.bytes}" + pointers * ".p0"
        kind = ir.FunctionType(result, arguments)
        return cgutils.get_or_insert_function(self.builder.module, kind, full)


def exchanged(lanes, half):
    """Which lanes of two vectors, counting on, make two others: those without a bit, those with."""
    low = [lane if not lane & half else lanes + (lane & ~half) for lane in range(lanes)]
    return low, [lane + half for lane in low]


def require_alike(*arrays):
    """Refuse to compile what pointers are not computed for: arrays with gaps, of several types."""
    if any(array.layout != "C" or array.dtype != arrays[0].dtype for array in arrays):
        raise NumbaTypeError("vector instructions need contiguous arrays of one type of number")


def arrays_of(context, builder, kinds, values):
    """What is known of each array: where its numbers are, and its shape."""
    pairs = zip(kinds, values, strict=True)
    return [context.make_array(kind)(context, builder, value) for kind, value in pairs]


def rows_from(builder, first, count=ROWS):
    """The numbers of a tile's rows."""
    return [builder.add(first, ir.Constant(first.type, row)) for row in range(count)]
