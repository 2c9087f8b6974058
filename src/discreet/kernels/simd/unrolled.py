"""Plain loops over rows whose length is known when they are compiled: LLVM makes vectors of them.

Told how many numbers a row has, LLVM writes the loops over them out, keeps sums in registers and
joins neighbours into vectors, with less at the end of a row than a loop of unknown length needs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from numba.core import config
from numba.core.compiler import Compiler

from discreet.kernels.simd.vectors import FAST
from discreet.kernels.simd.width import vector_kernel


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


def unrolled_kernel(function: Callable[..., Any]) -> Any:
    """A kernel of which the arguments that it writes overlap no others.

    `len(length)` is a constant in it where `length` is a tuple, as its type says how long it is.
    """
    return vector_kernel(fastmath=FAST, pipeline_class=_Unrolling)(function)


def unrolled_for(matrix: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An `unrolled_kernel`, called without its last argument, `length`: as long as a row of this.

    It is compiled anew, in half a second, for every length that is used, and kept.
    """

    def compile_lazily(function: Callable[..., Any]) -> Callable[..., Any]:
        kernel = unrolled_kernel(function)
        place = list(inspect.signature(function).parameters).index(matrix)

        @wraps(function)
        def call(*arguments: Any) -> Any:
            return kernel(*arguments, (None,) * arguments[place].shape[1])

        return call

    return compile_lazily
