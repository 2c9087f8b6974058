"""The command line as a person uses it: what it prints, and its exit status.

A process of its own takes two seconds to import what a command needs, so commands run in the tests'
own, and only what is about a process (a signal, a start, a crash) begins one.
"""

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from discreet.cli import main

COMMAND = [sys.executable, "-c", "from discreet.cli import main; main()"]
"""The command line in a process of its own."""


def run(
    *words: str | Path, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """One command in the tests' own process."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["discreet", *map(str, words)]
    with (
        _environment({"COLUMNS": "120", "NO_COLOR": "1"} | env),
        chdir(cwd or Path.cwd()),
        _started_as(argv),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    return subprocess.CompletedProcess(argv, status, out.getvalue(), err.getvalue())


def run_apart(
    *words: str | Path, cwd: Path | None = None, given: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """One command in a process of its own, with this on its standard input."""
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        input=given,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | {"COLUMNS": "120", "NO_COLOR": "1"} | env,
        timeout=120,
        check=False,
    )


def ok(*words: str | Path, cwd: Path | None = None, **more: str) -> str:
    """What a command prints that succeeds."""
    done = run(*words, cwd=cwd, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*words: str | Path, **more: str) -> str:
    """The error of a command that is refused."""
    done = run(*words, **more)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return [line for line in done.stderr.splitlines() if not line.startswith("help: ")][-1]


@contextmanager
def _environment(more: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(more)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _started_as(argv: list[str]) -> Iterator[None]:
    before = sys.argv
    sys.argv = argv
    try:
        yield
    finally:
        sys.argv = before
