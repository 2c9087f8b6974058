"""Real processes for tests: a service that is started, watched, stopped and killed."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
                env={**os.environ, "OMP_NUM_THREADS": "1"},
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
        self.process.kill()
        self.process.wait(20)

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
