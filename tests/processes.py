"""Real processes for tests: a service that is started, watched, stopped and killed."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import httpx2 as httpx


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Served:
    """`discreet serve` as a process of its own."""

    def __init__(self, folder: Path, *words: str, port: int | None = None) -> None:
        self.port = port or free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = folder / "service.log"
        words = ("serve", "--port", str(self.port), *words)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "discreet", *words], stderr=log, stdout=log,
                env={**os.environ, "OMP_NUM_THREADS": "1"}, start_new_session=True,
            )  # fmt: skip
        self._wait()

    def _wait(self) -> None:
        for _ in range(1200):
            if self.process.poll() is not None:
                raise AssertionError(f"the service has ended: {self.log.read_text()[-2000:]}")
            try:
                if httpx.get(f"{self.address}/healthz", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("the service did not start")

    def token(self, role: str) -> str:
        """A token that was shown at the start."""
        found = re.findall(rf"discreet-{role}-[\w-]+", self.log.read_text())
        return str(found[-1])

    def kill(self) -> None:
        """All its processes, with nothing that they could still do."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(20)

    def workers(self) -> list[int]:
        """The processes that answer."""
        found = []
        for place in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = place.read_text().rpartition(")")[2].split()
                words = place.with_name("cmdline").read_bytes()
                if int(fields[1]) == self.process.pid and b"spawn_main" in words:
                    found.append(int(place.parent.name))
        return found

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(40)


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[Served]:
    served = Served(folder, *words)
    try:
        yield served
    finally:
        if served.process.poll() is None:
            served.kill()


@contextmanager
def doomed(work: Callable[..., None], *arguments: object) -> Iterator[Connection]:
    """Work that never ends, in a process that gets kill -9 where the block ends.

    The block begins when the work says so, by `Connection.send`, and may hear more of it. Processes
    are forked from one that has imported everything, so that a dozen of them cost little more than
    one.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.conftest", "discreet.publishing.publish"])
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs, *arguments))
    process.start()
    theirs.close()
    try:
        ours.recv()
        yield ours
    finally:
        process.kill()
        process.join()
        ours.close()


def seconds_of(work: Callable[..., None], *arguments: object) -> float:
    """How long doomed work takes here until it says something more, from a fresh start."""
    with doomed(work, *arguments) as ready:
        began = time.perf_counter()
        ready.recv()
        return time.perf_counter() - began


Ready = Connection
"""By which doomed work says that it has begun."""
