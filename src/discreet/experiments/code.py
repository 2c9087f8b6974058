"""Which code a result depends on: a digest of the modules that a class is made of.

Imports are followed as they are written, also those within functions, from a class's own module on.
So a change in Chorus names its cells anew, and leaves those of DPALS, which does not use it.
Packages' own files are followed where something is imported from them by name.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGE = "discreet"
TABLES = ("discreet.field", "discreet.schemes", "discreet.evaluate.baselines", "discreet")
"""What names schemes by their words: whoever looks one up there does not depend on all of them."""
JUDGES = (
    "discreet.evaluate.judge",
    "discreet.evaluate.metrics",
    "discreet.evaluate.splits",
    "discreet.experiments.cells",
)
"""What every result depends on, whatever was fitted."""
LEFT_OUT = ("discreet.experiments.code", "discreet.cli", "discreet.service", "discreet.audit")
"""What shows, serves or attacks, and this."""
_LATER = re.compile(rf"({PACKAGE}[.\w]+):\w+")


def code_of(kind: Any) -> str:
    """A digest of the code behind a class, and of what judges it.

    >>> from discreet.schemes.tally import Tally
    >>> len(code_of(Tally))
    16
    """
    return _digest(kind.__module__)


def modules_of(name: str) -> set[str]:
    """The modules of the package that this one imports, itself among them, however indirectly."""
    found: set[str] = set()
    todo = [name]
    while todo:
        module = todo.pop()
        if module in found or module in TABLES or module.startswith(LEFT_OUT):
            continue
        found.add(module)
        todo += _imported(module)
    return found


@cache
def _digest(name: str) -> str:
    modules: set[str] = set()
    for start in (name, *JUDGES):
        modules |= modules_of(start)
    digest = hashlib.sha256()
    for module in sorted(modules):
        path = _path(module)
        digest.update(module.encode() + b"\0")
        digest.update(b"" if path is None else path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _imported(module: str) -> tuple[str, ...]:
    """What one file imports of the package."""
    path = _path(module)
    if path is None or path.suffix != ".py":
        return ()
    return tuple(dict.fromkeys(_names(ast.parse(path.read_text(encoding="utf-8")))))


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == PACKAGE)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            assert node.module is not None
            yield node.module
            # `from discreet.evaluate import lists` names a module.
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name for name in inside if _path(name) is not None)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A table of what is imported when it is asked for has "module:name".
            yield from (named[1] for named in [_LATER.fullmatch(node.value)] if named)


@cache
def _path(module: str) -> Path | None:
    """A module's file; None where there is no such module."""
    try:
        spec = find_spec(module)
    except (ModuleNotFoundError, ValueError):
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin)
