"""Plain loops over rows whose length is known when they are compiled: LLVM makes vectors of them.

Told how many numbers a row has, LLVM writes the loops over them out, keeps sums in registers and
joins neighbours into vectors, with less at the end of a row than a loop of unknown length needs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.compiler import Compiler
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from discreet.kernels.simd.vectors import FAST
from discreet.kernels.simd.width import BYTES, vector_kernel


class _Unrolling(Compiler):
    """Numba's compiler, which says two things more to LLVM.

    No two arguments of a kernel overlap where one is written, so a sum can stay in registers. And
    neighbours in straight code are to be joined (`NUMBA_SLP_VECTORIZE`, which is off by default):
    once a loop is written out, nothing else makes vectors of it.
    """

    def define_pipelines(self):
        self.state.flags.noalias = True
        return super().define_pipelines()

    def compile_extra(self, func):
        # Numba compiles under a lock, so no other function sees this.
        settings, name = vars(config), "SLP_VECTORIZE"
        before, settings[name] = settings[name], 1
        try:
            return super().compile_extra(func)
        finally:
            settings[name] = before


def unrolled_for(matrix: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A kernel called without its last argument, `length`: a tuple as long as a row of this matrix.

    `len(length)` is a constant in it, as a tuple's type says how long it is: it is compiled anew,
    in half a second, for every length that is used, and kept. Arguments that it writes may overlap
    no others. Other options are Numba's.
    """

    def compile_lazily(function: Callable[..., Any]) -> Callable[..., Any]:
        kernel = vector_kernel(fastmath=FAST, pipeline_class=_Unrolling, **options)(function)
        place = list(inspect.signature(function).parameters).index(matrix)

        @wraps(function)
        def call(*arguments: Any) -> Any:
            return kernel(*arguments, (None,) * arguments[place].shape[1])

        vars(call)["kernel"] = kernel
        return call

    return compile_lazily


def _row_on_stack(typingctx, matrix, length):
    del typingctx
    number, count = matrix.dtype, len(length)
    row = types.Array(number, 1, "C")

    def generate(context, builder, signature, args):
        del signature, args
        kind, index = context.get_data_type(number), context.get_value_type(types.intp)
        place = cgutils.alloca_once(builder, ir.ArrayType(kind, count))
        place.align = BYTES
        size = index(context.get_abi_sizeof(kind))
        array = context.make_array(row)(context, builder)
        populate_array(
            array,
            data=builder.bitcast(place, kind.as_pointer()),
            shape=[index(count)],
            strides=[size],
            itemsize=size,
            meminfo=None,
        )
        return array._getvalue()

    return row(matrix, length), generate


row_in_registers: Any = intrinsic(_row_on_stack)
"""Called with a matrix and `length`: an array of len(length) numbers of its type, within one call.

It lies on the stack, where nothing else can see it: once the loops over it are written out, LLVM
puts its numbers into registers, as far as these go. A sum in any other array is written back with
every record.
"""
