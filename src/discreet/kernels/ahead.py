"""Compile ahead: what a first fit will need, by a second process, while the first is at work.

Numba compiles under one lock, so threads gain nothing; what another process has compiled is found
on disk. `signatures.txt` has the kernels in the order in which the demo needs them: a process goes
from its beginning by itself, and helpers come towards it from the end of every section.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from numba import types
from numba.core import event

from discreet.kernels.simd.width import SOURCES, cache_folder
from discreet.kernels.threads import thread_count

LISTED = Path(__file__).with_name("signatures.txt")
"""A line for each: kernel and argument types, `!` where an array is read-only. A section ends with
an empty line: the first is what Tally and its lists need."""
_HELPERS = 3
"""At most: with more, each compiles less than it takes to start."""
_GARBAGE = 100_000
"""Compilers make much and leave little: to look for it as often as usual takes a seventh longer."""
_NO_MORE = "ahead-"
"""Beginning of the name of an empty file: everything was compiled, by these sources."""
_ARRAY = re.compile(r"(\w+)\[(\d)(\w)\](!?)")
_TUPLE = re.compile(r"(\w+)\*(\d+)")


class Signature(NamedTuple):
    """A kernel, as module.function, and the types that it is called with."""

    kernel: str
    arguments: tuple[Any, ...]

    @classmethod
    def of(cls, line: str) -> Signature:
        """As it stands in the list.

        >>> Signature.of("sums.add_votes int64 int32[1C]! float64").arguments[1].mutable
        False
        """
        kernel, *arguments = line.split()
        return cls(kernel, tuple(map(_read, arguments)))

    def __str__(self) -> str:
        return " ".join([self.kernel, *map(_written, self.arguments)])

    def compile(self) -> None:
        """Compile it, unless that has been done."""
        module, _, name = self.kernel.rpartition(".")
        kernel = getattr(import_module(f"discreet.kernels.{module}"), name)
        getattr(kernel, "kernel", kernel).compile(self.arguments)


def _read(word: str) -> Any:
    array: Any = types.Array
    tuple_: Any = types.UniTuple
    if found := _ARRAY.fullmatch(word):
        number, dimensions, layout, fixed = found.groups()
        return array(getattr(types, number), int(dimensions), layout, readonly=bool(fixed))
    if found := _TUPLE.fullmatch(word):
        return tuple_(getattr(types, found[1]), int(found[2]))
    return types.boolean if word == "bool" else getattr(types, word)


def _written(kind: Any) -> str:
    if isinstance(kind, types.Array):
        return f"{kind.dtype}[{kind.ndim}{kind.layout}]{'' if kind.mutable else '!'}"
    if isinstance(kind, types.UniTuple):
        return f"{kind.dtype}*{kind.count}"
    return str(kind)


def sections() -> list[list[Signature]]:
    """What stands in the list."""
    parts = LISTED.read_text().strip().split("\n\n")
    return [[Signature.of(line) for line in part.splitlines()] for part in parts]


class _Listener(event.Listener):
    """Who is told, once, that this process compiles something."""

    tell: Callable[[], None] | None = None

    def on_start(self, event: Any) -> None:
        del event
        tell, self.tell = self.tell, None
        if tell is not None:
            tell()

    def on_end(self, event: Any) -> None:
        del event


_LISTENER = _Listener()
event.register("numba:compile", _LISTENER)  # type: ignore[no-untyped-call]


def when_compiling(tell: Callable[[], None] | None) -> None:
    """Call this, in place of what was asked for before, when this process compiles something.

    At once, if nothing was ever compiled: then processes that it starts may be the first to do it.
    """
    _LISTENER.tell = tell
    if next(cache_folder().parents[1].rglob("*.nbi"), None) is None:
        _LISTENER.on_start(None)


@cache
def compile_ahead() -> None:
    """Start helpers, one for every core but one, unless all has been compiled; they end with us.

    Asked again, it does nothing.
    """
    if _done().exists():
        return
    gc.set_threshold(_GARBAGE)
    helpers = min(thread_count(None) - 1, _HELPERS)
    for number in range(helpers):
        command = [sys.executable, "-m", __name__, str(number), str(helpers)]
        silent: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        atexit.register(subprocess.Popen(command, **silent).terminate)


def _done() -> Path:
    return cache_folder() / f"{_NO_MORE}{SOURCES[:16]}"


def help_compiling(number: int, helpers: int) -> None:
    """Every so-manieth kernel, from the end of each section to its beginning, if any is wanted."""
    if _done().exists():
        return
    gc.set_threshold(_GARBAGE)
    wanted = [signature for section in sections() for signature in reversed(section)]
    for signature in wanted[number::helpers]:
        signature.compile()
    if number == 0:
        _done().touch()


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(1)  # where cores are few, those who wait for a result come first
    help_compiling(int(sys.argv[1]), int(sys.argv[2]))
