"""A PostgreSQL of a benchmark's own: from the system's programs, durable, gone afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg


@contextmanager
def postgresql(port: int) -> Iterator[str]:
    """The URL of an empty database; every commit waits for the disk, as it does by default."""
    found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), *_on_path()]
    if not found:
        raise SystemExit("no PostgreSQL here: install the package postgresql")
    programs, folder = found[-1], Path(tempfile.mkdtemp(prefix="discreet-postgresql-"))
    # The server refuses to run as root; Debian's package brings a user for it.
    user: dict[str, Any] = {"user": "postgres"} if os.getuid() == 0 else {}
    if user:
        shutil.chown(folder, "postgres")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **user}
    begin = ["-D", folder / "data", "-A", "trust", "-U", "discreet"]
    subprocess.run([programs / "initdb", *begin], check=True, **quiet)
    words = ["-D", folder / "data", "-k", folder, "-h", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen([programs / "postgres", *words], **quiet)
    url = f"postgresql://discreet@127.0.0.1:{port}/postgres"
    for _ in range(600):
        try:
            psycopg.connect(url, connect_timeout=1).close()
            break
        except psycopg.OperationalError:
            time.sleep(0.1)
    try:
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _on_path() -> list[Path]:
    known = shutil.which("initdb")
    return [] if known is None else [Path(known).parent]
