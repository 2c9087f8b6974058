"""What the first command and the first import cost, and compilation, once per installation.

    python benchmarks/startup.py
    python benchmarks/startup.py fresh     # of the built wheel, in a new environment
    python benchmarks/startup.py record    # list anew which kernels the demo needs, in its order

Compilation is what the first demo takes longer than the second, up to its first result (Tally's)
and to its end. Seconds of the clock, and of the processor in the demo's own process: on a machine
with other work, where helpers do not have a core of their own, the latter tells more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from common import seconds
from report import ROOT, keep

FITS = {
    "PMF": "dc.PMF(sweeps=1)",
    "Tally": "dc.Tally()",
    "Chorus": "dc.Chorus(delta=1e-6)",
    "PDP-PMF": "dc.PDPPMF(k1=1, k2=1)",
}
FIRST = "Tally"
"""The demo's first result."""


class Moment(NamedTuple):
    """When something happened in a process: by the clock, and by its own processor time."""

    wall: float
    cpu: float

    def __sub__(self, other: Moment) -> Moment:
        return Moment(self.wall - other.wall, self.cpu - other.cpu)

    def __str__(self) -> str:
        return f"{self.wall:.1f} s ({self.cpu:.1f} of its own processor time)"


def run(*command: str, cache: str | None = None) -> None:
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    subprocess.run(command, check=True, capture_output=True, env=environment)


def demo(python: str, cache: str) -> tuple[Moment, Moment]:
    """Until the demo's first result, and until its end."""
    ticks = os.sysconf("SC_CLK_TCK")
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONUNBUFFERED": "1"}
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        command = [python, "-m", "discreet", "demo", "--out", folder + "/demo"]
        with subprocess.Popen(
            command, cwd=folder,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            first = None
            for line in process.stdout:
                spent = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
                cpu = (int(spent[11]) + int(spent[12])) / ticks
                last = Moment(time.perf_counter() - began, cpu)
                if first is None and line.startswith(FIRST):
                    first = last
    assert first is not None
    return first, last


def record() -> None:
    """Write `signatures.txt`, by watching a demo that finds nothing compiled."""
    with tempfile.TemporaryDirectory() as cache:
        run(sys.executable, __file__, "watch", cache, cache=cache)


def watch(folder: str) -> None:
    from numba.core import event

    from discreet.cli import demo as command
    from discreet.kernels.ahead import LISTED, Signature

    lines: list[str] = []

    class Outermost(event.Listener):
        depth = 0

        def on_start(self, event: Any) -> None:
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                function = event.data["dispatcher"].py_func
                module = function.__module__.removeprefix("discreet.kernels.")
                found = Signature(f"{module}.{function.__name__}", event.data["args"])
                lines.append(str(found))

    measure, command._compile_ahead = command._measure, lambda: None

    def measured(*arguments: Any) -> None:
        measure(*arguments)
        if "" not in lines:
            lines.append("")

    command._measure = measured
    with event.install_listener("numba:compile", Outermost()):
        command.demo(Path(folder) / "demo", 0)
    LISTED.write_text("\n".join(lines) + "\n")


def fresh() -> None:
    """The same as somebody finds it who has just installed the wheel; needs a network."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, str(ROOT))
        [wheel] = Path(folder).glob("*.whl")
        run(sys.executable, "-m", "venv", f"{folder}/venv")
        python = f"{folder}/venv/bin/python"
        versions = str(ROOT / "constraints.txt")
        run(python, "-m", "pip", "install", "--constraint", versions, f"{wheel}[plots]")
        os.environ.pop("PYTHONPATH", None)
        main(python)


def main(python: str = sys.executable) -> None:
    script = str(Path(python).with_name("discreet"))
    bare = min(seconds(lambda: run(python, "-c", "pass")) for _ in range(10))
    imported = min(seconds(lambda: run(python, "-c", "import discreet")) for _ in range(10))
    helped = min(seconds(lambda: run(script, "--help")) for _ in range(10))
    rows = [
        ["`import discreet`, beside a bare interpreter", f"{1e3 * (imported - bare):.0f} ms"],
        ["`discreet --help`, in all", f"{1e3 * helped:.0f} ms"],
    ]
    keep("imports", ["", "takes"], rows)
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = demo(python, cache), demo(python, cache)
    rows = []
    for what, first, second in zip(("first result", "end"), cold, warm, strict=True):
        rows.append(
            [f"`discreet demo` to its {what}", f"{first}", f"{second}", f"{first - second}"]
        )
    for name, scheme in FITS.items():
        code = (
            "import discreet as dc; from discreet.readers.club import cinema_club; "
            f"club = cinema_club(); spec = dc.PrivacySpec.groups(); "
            f"{scheme}.fit(club.ratings, spec, seed=0).recommend(n=10)"
        )
        with tempfile.TemporaryDirectory() as cache:
            first, second = (
                seconds(lambda c=code, k=cache: run(python, "-c", c, cache=k)) for _ in range(2)
            )
        times = (f"{took:.1f} s" for took in (first, second, first - second))
        rows.append([f"{name}: a fit and lists, without helpers", *times])
    keep("startup", ["", "first ever", "in the next process", "compilation"], rows)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["record"]:
            record()
        case ["fresh"]:
            fresh()
        case ["watch", folder]:
            watch(folder)
        case _:
            main()
