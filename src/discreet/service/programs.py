"""Programs beside the service: publish, preview and import run in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.database.connection import Database, now
from discreet.service import logs
from discreet.service.monitoring import Metrics
from discreet.service.problems import Problem

IMPORT_SECONDS, PREVIEW_SECONDS, STOP_SECONDS = 1800, 300, 20


@dataclass(frozen=True)
class Publication:
    """The latest publication that this service started."""

    state: str = "idle"
    """idle, running, published, failed"""
    begun_at: int | None = None
    ended_at: int | None = None
    number: int | None = None
    message: str = ""
    """Why it failed: for the operator alone."""


class Programs:
    """Starts `discreet operate ...` on this database, one publication and one import at a time."""

    def __init__(self, database: Database, metrics: Metrics, changed: Callable[[], None]) -> None:
        self.database, self.metrics, self.changed = database, metrics, changed
        self.publication = Publication()
        self._publisher: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._importing, self._previewing = threading.Lock(), threading.Lock()

    def publish(self) -> Publication:
        """Start a publication; a problem if one is running."""
        with self._lock:
            if self.publication.state == "running":
                raise Problem(
                    409, "publishing", "a publication is running: wait until it has ended"
                )
            self._publisher = self._start("publish")
            self.publication = Publication("running", now())
        self.metrics.publishing.set(1)
        logs.event("publication begun")
        threading.Thread(target=self._wait, args=(self._publisher,), daemon=True).start()
        return self.publication

    def _wait(self, publisher: subprocess.Popen[str]) -> None:
        assert publisher.stdout is not None
        # The first line says that the release is out; its assessment may take longer.
        number = _number(publisher.stdout.readline())
        if number is not None:
            self._ended(replace(self.publication, state="published", number=number))
        _, errors = publisher.communicate()
        if number is None:
            self._ended(replace(self.publication, state="failed", message=_reason(errors)))
        elif publisher.returncode:
            logs.event("assessment failed", code=publisher.returncode)
        self.changed()

    def _ended(self, publication: Publication) -> None:
        self.changed()
        self.publication = replace(publication, ended_at=now())
        self.metrics.publishing.set(0)
        self.metrics.publications.labels(publication.state).inc()
        logs.event(f"publication {publication.state}", release=publication.number)

    def preview(self) -> dict[str, Any]:
        """What a publication would spend now: for the operator alone."""
        if not self._previewing.acquire(blocking=False):
            raise Problem(409, "previewing", "another preview is being made: wait for it")
        try:
            return self._run(["preview"], PREVIEW_SECONDS)
        finally:
            self._previewing.release()

    def import_table(
        self, what: str, content: Path, *, replace: bool = False, public_columns: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Import an item table, with the columns that the operator vouches for, or a ratings
        table."""
        if not self._importing.acquire(blocking=False):
            raise Problem(409, "importing", "another table is being imported: wait for it")
        try:
            vouched = [f"--public-column={name}" for name in public_columns]
            words = [what, *(["--replace"] if replace else []), *vouched, str(content)]
            result = self._run(words, IMPORT_SECONDS)
        finally:
            self._importing.release()
        self.changed()
        logs.event("table imported", table=what)
        return result

    def _run(self, words: list[str], seconds: int) -> dict[str, Any]:
        program = self._start(*words)
        try:
            output, errors = program.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            program.kill()
            program.communicate()
            raise Problem(504, "too_slow", "it took too long and was stopped") from None
        if program.returncode:
            # The name of a temporary file would say nothing.
            raise Problem(422, "refused", _reason(errors).replace(f"{words[-1]}: ", ""))
        return dict(json.loads(output))

    def _start(self, *words: str) -> subprocess.Popen[str]:
        url = self.database.url.render_as_string(hide_password=False)
        program = subprocess.Popen(
            [sys.executable, "-m", "discreet", "operate", *words, "--json"],
            # Not on the command line, where every user of the machine could read a password.
            env={**os.environ, "DISCREET_DATABASE": url},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the service, which stops it gently
        )
        with suppress(OSError):  # those who are waiting for a page come first
            os.setpriority(os.PRIO_PROCESS, program.pid, 5)
        return program

    def stop(self) -> None:
        """Give a running publication a little time, then end it: it leaves no trace, or all."""
        if self._publisher is None or self._publisher.poll() is not None:
            return
        try:
            # Once its release is out, nothing is lost if the assessment is.
            self._publisher.wait(STOP_SECONDS if self.publication.state == "running" else 0)
        except subprocess.TimeoutExpired:
            self._publisher.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._publisher.wait(5)


def spooled(suffix: str) -> Any:
    """A file for an uploaded table that only its owner can read, and that goes when closed."""
    return tempfile.NamedTemporaryFile(suffix=suffix, prefix="discreet-import-")


def _number(line: str) -> int | None:
    """Of the release that a publisher reports; None if it reports anything else."""
    try:
        return int(json.loads(line)["number"])
    except (ValueError, KeyError, TypeError):
        return None


def _reason(errors: str) -> str:
    lines = [line for line in errors.splitlines() if line.startswith("error: ")]
    return lines[-1].removeprefix("error: ") if lines else "the program ended unexpectedly"
