"""What is compiled ahead: kernels that there are, with the types that they are called with."""

import inspect
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from numba import njit

from discreet.kernels import ahead

FIT = """
import json, sys
import discreet as dc
from discreet.evaluate.judge import judge_lists
from discreet.evaluate.splits import hold_out
club = dc.cinema_club()
split = hold_out(club.ratings, 0.2, seed=0)
model = dc.Tally(items=club.items).fit(split.train, dc.PrivacySpec.groups(seed=0), seed=0)
model.predict_ratings(split.test, clip=True)
judge_lists(model, split, club.items)
from tests.kernels.test_ahead import used
print(json.dumps(used()))
"""


def dispatcher(kernel: str):
    module, _, name = kernel.rpartition(".")
    found = getattr(import_module(f"discreet.kernels.{module}"), name)
    return getattr(found, "kernel", found)


def used() -> dict[str, list[str]]:
    """By which types the listed kernels were called in this process."""
    kernels = {signature.kernel for section in ahead.sections() for signature in section}
    return {
        kernel: [str(ahead.Signature(kernel, types)) for types in dispatcher(kernel).signatures]
        for kernel in kernels
    }


def test_a_signature_is_read_as_it_is_written() -> None:
    lines = [line for line in ahead.LISTED.read_text().splitlines() if line]
    assert [str(one) for section in ahead.sections() for one in section] == lines
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize(
    "signature", [one for section in ahead.sections() for one in section], ids=lambda s: s.kernel
)
def test_every_listed_kernel_takes_so_many_arguments(signature: ahead.Signature) -> None:
    function = dispatcher(signature.kernel).py_func
    assert len(inspect.signature(function).parameters) == len(signature.arguments)


def test_the_first_section_is_what_tally_and_its_lists_use() -> None:
    done = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    called = {line for lines in json.loads(done.stdout.splitlines()[-1]).values() for line in lines}
    listed = {str(signature) for signature in ahead.sections()[0]}
    assert called == listed, "python benchmarks/startup.py record"


def test_what_compiles_is_told_once_and_only_if_it_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(ahead, "cache_folder", lambda: tmp_path / "simd" / "__pycache__")
    ahead.when_compiling(lambda: told.append("empty"))
    assert told == ["empty"]  # of a cache without anything
    (tmp_path / "some.nbi").touch()
    ahead.when_compiling(lambda: told.append("compiles"))
    assert told == ["empty"]
    for _ in range(2):
        njit(lambda x: x + 1)(1)
    assert told == ["empty", "compiles"]
    ahead.when_compiling(lambda: told.append("again"))
    ahead.when_compiling(None)
    njit(lambda x: x + 2)(1)
    assert told == ["empty", "compiles"]
