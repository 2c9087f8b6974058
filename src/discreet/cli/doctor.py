"""discreet doctor: what is installed, what this machine is, which data are here."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from json import dumps
from pathlib import Path

import typer

from discreet.cli import extras, show
from discreet.cli import options as o

_REQUIRED = ("numpy", "numba", "llvmlite", "polars", "typer", "rich")


def doctor(as_json: o.JsonOption = False) -> None:
    """Say what is installed, what this machine is, and which data are here.

    Nothing is changed, and no rating is read. What it says helps whoever helps you.

    \b
    Example:
      discreet doctor
    """
    found = {
        "installed": _installed(),
        "machine": _machine(),
        "extras": _extras(),
        "data": _data(),
        "caches": _caches(),
    }
    if as_json:
        typer.echo(dumps(found, indent=2))
        return
    console = show.console()
    for title, rows in found.items():
        table = show.compact()
        table.add_column(title, no_wrap=True)
        table.add_column("", overflow="fold")
        for name, value in rows.items():
            table.add_row(name, value)
        console.print(table)
        console.print()


def _installed() -> dict[str, str]:
    from importlib.metadata import version

    import discreet

    return {
        "discreet": f"{discreet.__version__}, {Path(discreet.__file__).parent}",
        "python": f"{platform.python_version()}, {sys.executable}",
        **{name: version(name) for name in _REQUIRED},
    }


def _machine() -> dict[str, str]:
    from discreet.kernels.simd.width import VARIABLE, vector_bytes
    from discreet.kernels.threads import thread_count

    chosen = f", as {VARIABLE} says" if os.environ.get(VARIABLE) else ""
    return {
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": f"{thread_count(None)} for this process, {os.cpu_count()} in all",
        "vectors": f"{vector_bytes()} bytes wide{chosen}",
        "java": shutil.which("java") or "none (only Spark needs it)",
    }


def _extras() -> dict[str, str]:
    told = {}
    for extra in extras.EXTRAS:
        absent = extras.missing(extra)
        installed = extras.versions(extra)
        remedy = f"missing {', '.join(absent)}: {extras.how_to_install(extra)}" if absent else ""
        told[extra] = "; ".join(part for part in (installed, remedy) if part)
    return told


def _data() -> dict[str, str]:
    from discreet.readers import datasets

    told = {}
    for name, known in datasets.DATA_SETS.items():
        place = "embedded" if known.generate else datasets.find(name)
        if place is not None:
            told[name] = str(place)
    looked = ", ".join(map(str, datasets.folders()))
    return {**told, "looked in": f"{looked} (set DISCREET_DATA to add one)"}


def _caches() -> dict[str, str]:
    from discreet.kernels.simd.width import cache_folder
    from discreet.readers import datasets

    compiled = cache_folder().parents[1]
    return {
        "data sets": _size(datasets.cache_folder()),
        "compiled kernels": _size(compiled, "*.nb?"),
    }


def _size(folder: Path, files: str = "*") -> str:
    if not folder.is_dir():
        return f"{folder}: nothing yet"
    total = sum(file.stat().st_size for file in folder.rglob(files) if file.is_file())
    return f"{folder}: {total / 1e6:,.1f} MB"
