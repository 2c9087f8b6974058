"""Instructions that have no name in Python."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

AHEAD = 16
"""Records ahead whose places in memory are asked for, since they may lie beyond the caches."""


@intrinsic
def ones(typingctx, word):
    """How many bits of a word are set."""
    del typingctx

    def generate(context, builder, signature, args):
        del context, signature
        return builder.ctpop(args[0])

    return word(word), generate


def _asking(*, write):
    @intrinsic
    def ask(typingctx, array, place):
        del typingctx

        def generate(context, builder, signature, args):
            start = context.make_array(signature.args[0])(context, builder, args[0]).data
            prefetch(builder, builder.gep(start, [args[1]]), write=write)
            return context.get_dummy_value()

        return types.void(array, place), generate

    return ask


def prefetch(builder, place, *, write=False):
    """Write the instruction that brings a place in memory into the caches."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    ask = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(ir.VoidType(), [byte, number, number, number]),
        "llvm.prefetch.p0",
    )
    to_keep, data = number(3), number(1)
    builder.call(ask, [builder.bitcast(place, byte), number(int(write)), to_keep, data])


about_to_read = _asking(write=False)
"""Ask for the memory of a number of an array, counted row by row, or beyond the array's end."""
about_to_write = _asking(write=True)
"""The same for a place that is to be changed."""
