"""Kernels at every width of vectors, whichever this processor has; and the compiler they rest on.

What is run for other widths compiles anew: about 30 seconds of one core for each.
"""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import numba
import pytest
from packaging.requirements import Requirement

from discreet.errors import ParameterError
from discreet.kernels.simd import width

ROOT = Path(__file__).parents[2]
VECTORS_ARE_IN = [
    "tests/kernels/test_choices.py",
    "tests/kernels/test_twins.py",
    "tests/schemes/test_identities.py",
    "tests/release/test_scoring.py",
]


@pytest.mark.parametrize("other", [w for w in width.WIDTHS if w != width.BYTES])
def test_kernels_pass_their_tests_at_other_widths(other: int) -> None:
    run = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider",
            *VECTORS_ARE_IN,
        ],
        cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, width.VARIABLE: str(other)},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout


def test_the_variable_chooses_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted in width.WIDTHS:
        monkeypatch.setenv(width.VARIABLE, str(wanted))
        assert width.vector_bytes() == wanted
    monkeypatch.setenv(width.VARIABLE, "24")
    with pytest.raises(ParameterError, match="VECTOR_BYTES must be 16, 32 or 64: got '24'"):
        width.vector_bytes()
    monkeypatch.setenv(width.VARIABLE, "")
    nothing_said = width.vector_bytes()
    monkeypatch.delenv(width.VARIABLE)
    assert width.vector_bytes() == nothing_said


def test_what_was_compiled_for_another_width_or_of_other_sources_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    for own, sources, kept in ((16, "a", 0), (64, "a", 0), (16, "b", 0), (16, "a", 1)):
        monkeypatch.setattr(width, "BYTES", own)
        monkeypatch.setattr(width, "SOURCES", sources)
        kernel = width.vector_kernel()(compiled_width)
        assert kernel() == own
        assert sum(kernel.stats.cache_hits.values()) == kept


def compiled_width() -> int:
    return width.BYTES  # a constant to what is compiled, as in every kernel


@pytest.mark.parametrize("name", ["numba", "llvmlite"])
def test_the_compiler_is_of_the_version_that_the_kernels_were_tested_with(name: str) -> None:
    """Kernels are written in LLVM's language through interfaces that change between minors."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    [wanted] = [r for r in map(Requirement, listed) if r.name == name]
    assert wanted.specifier.contains(version(name)), (
        f"{name} {version(name)} is installed and {wanted} is wanted: a kernel may be compiled to "
        "something else, or use what was kept for another width. Install what is wanted; or change "
        "it in pyproject.toml, once all tests of this folder pass and `make bench` is no slower"
    )
    major, minor, *_ = version(name).split(".")
    assert not wanted.specifier.contains(f"{major}.{int(minor) + 1}.0")
