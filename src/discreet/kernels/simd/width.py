"""How wide a vector is in this process, and kernels that are kept on disk by it."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba import njit
from numba.core.caching import FunctionCache

from discreet.errors import ParameterError

VARIABLE = "DISCREET_VECTOR_BYTES"
WIDTHS = (16, 32, 64)


def vector_bytes() -> int:
    """What the variable says, else what suits the processor; any width compiles for any of them."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return 64 if binding.get_host_cpu_features().get("avx512f", False) else 32
    if wanted not in map(str, WIDTHS):
        raise ParameterError(f"{VARIABLE} must be 16, 32 or 64: got {wanted!r}")
    return int(wanted)


BYTES = vector_bytes()


def _digest_of_sources() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


SOURCES = _digest_of_sources()
"""Of what stands in this folder, which every kernel may be made of."""


class _CacheByWidth(FunctionCache):
    """Numba's cache, which by itself looks at a function's own file and processor alone.

    Kernels are made of what stands in other files and of the width, a constant to them: whatever
    was compiled for others must not be found.
    """

    def _index_key(self, *args: Any) -> tuple[Any, ...]:
        key = super()._index_key(*args)
        return (*key, BYTES, SOURCES)


def cache_folder() -> Path:
    """Where what was compiled from this folder is kept, on this machine."""
    return Path(_CacheByWidth(vector_bytes).cache_path)


def vector_kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`njit(cache=True, nogil=True)` for what is made of vectors."""

    def compile_lazily(function: Callable[..., Any]) -> Any:
        kernel = njit(nogil=True, **options)(function)
        # As cache=True would with Numba's own.
        kernel._cache = _CacheByWidth(function)
        return kernel

    return compile_lazily
