"""Programs beside the service: publish, preview and import run in processes of their own."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from discreet.database import publications
from discreet.database.connection import Database
from discreet.database.publications import Publication
from discreet.errors import DatabaseError
from discreet.service import logs
from discreet.service.monitoring import Metrics
from discreet.service.problems import Problem

IMPORT_SECONDS, PREVIEW_SECONDS, STOP_SECONDS = 1800, 300, 20
_PROGRESS = re.compile(r"(.+): (\d+)/(\d+)")
"""A line by which a program tells how far it is."""


class Programs:
    """Starts `discreet operate ...` on this database, one import at a time, and one publication
    at a time of all processes together."""

    def __init__(self, database: Database, metrics: Metrics, changed: Callable[[], None]) -> None:
        self.database, self.metrics, self.changed = database, metrics, changed
        self.name = secrets.token_hex(8)
        self._publisher: subprocess.Popen[str] | None = None
        self._watching: list[threading.Thread] = []
        self._released = threading.Event()
        """Of the latest publisher alone: one before it may still be assessing its release."""
        self._importing, self._previewing = threading.Lock(), threading.Lock()

    @property
    def publication(self) -> Publication:
        """The latest, whichever process started it."""
        with self.database.reading() as connection:
            return publications.current(connection)

    def publish(self, still_wanted: Callable[[Connection], bool] = lambda _: True) -> Publication:
        """Start a publication; a problem if one is running, or it is no longer wanted."""
        begun = publications.begin(self.database, self.name, still_wanted)
        if begun is None:
            raise Problem(409, "publishing", "a publication is running: wait until it has ended")
        try:
            self._publisher, self._released = self._start("publish"), threading.Event()
        except OSError:
            self._ended("failed", message="the program could not be started")
            raise
        self.metrics.publishing.set(1)
        logs.event("publication begun")
        self._watching = [
            threading.Thread(target=watch, args=(self._publisher, self._released), daemon=True)
            for watch in (self._wait, self._renew)
        ]
        for thread in self._watching:
            thread.start()
        return begun

    def _renew(self, publisher: subprocess.Popen[str], released: threading.Event) -> None:
        while publisher.poll() is None and not released.is_set():
            with suppress(DatabaseError, SQLAlchemyError):  # it may be away for a moment
                publications.renew(self.database, self.name)
            with suppress(subprocess.TimeoutExpired):
                publisher.wait(publications.LEASE_MS / 3000)

    def _wait(self, publisher: subprocess.Popen[str], released: threading.Event) -> None:
        errors: list[str] = []
        following = threading.Thread(
            target=self._follow, args=(publisher, released, errors), daemon=True
        )
        following.start()
        assert publisher.stdout is not None
        # The first line says that the release is out; its assessment may take longer.
        number = _number(publisher.stdout.readline())
        if number is not None:
            self._ended("published", number=number)
            released.set()  # until then, as it is loaded here first, the lease is renewed
        with publisher:  # which ends, and closes what it said
            publisher.stdout.read()
            following.join()
        if number is None:
            self._ended("failed", message=_reason("".join(errors)))
        elif publisher.returncode:
            logs.event("assessment failed", code=publisher.returncode)
        self.changed()

    def _follow(
        self, publisher: subprocess.Popen[str], released: threading.Event, errors: list[str]
    ) -> None:
        """Tell how far a publication is, and keep what else it says."""
        assert publisher.stderr is not None
        for line in publisher.stderr:
            found = _PROGRESS.match(line)
            if found is None:
                errors.append(line)
            elif not released.is_set():
                step = {"step": found[1], "done": int(found[2]), "total": int(found[3])}
                with suppress(DatabaseError, SQLAlchemyError):  # it may be away for a moment
                    publications.renew(self.database, self.name, **step)

    def _ended(self, state: str, **found: Any) -> None:
        self.changed()
        try:
            publications.end(self.database, self.name, state=state, **found)
        except (DatabaseError, SQLAlchemyError):
            logs.failure("publication's end not written")  # its lease will tell
        self.metrics.publishing.set(0)
        self.metrics.publications.labels(state).inc()
        logs.event(f"publication {state}", release=found.get("number"))

    def preview(self) -> dict[str, Any]:
        """What a publication would spend now: for the operator alone."""
        if not self._previewing.acquire(blocking=False):
            raise Problem(409, "previewing", "another preview is being made: wait for it")
        try:
            return self._run(["preview"], PREVIEW_SECONDS)
        finally:
            self._previewing.release()

    def import_table(
        self, what: str, content: Path, *, options: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Import an item table or a ratings table; the options are those of the command."""
        if not self._importing.acquire(blocking=False):
            raise Problem(409, "importing", "another table is being imported: wait for it")
        try:
            result = self._run([what, *options, str(content)], IMPORT_SECONDS)
        finally:
            self._importing.release()
        self.changed()
        logs.event("table imported", table=what)
        return result

    def look_at(self, what: str, table: Path, *, options: Sequence[str] = ()) -> dict[str, Any]:
        """What an import would find: read and checked in the same way, and nothing is written."""
        return self._run([what, "--look", *options, str(table)], IMPORT_SECONDS)

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
            place = Path(words[-1])
            reason = _reason(errors).replace(f"{place}: ", "")
            for name in (str(place), place.name):
                reason = reason.replace(name, "the table")
            raise Problem(422, "refused", reason)
        return dict(json.loads(output))

    def _start(self, *words: str) -> subprocess.Popen[str]:
        url = self.database.url.render_as_string(hide_password=False)
        program = subprocess.Popen(
            [sys.executable, "-m", "discreet", "operate", *words, "--json"],
            # Not on the command line, where every user of the machine could read a password.
            env=_environment() | {"DISCREET_DATABASE": url},
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
        if self._publisher is not None and self._publisher.poll() is None:
            try:
                # Once its release is out, nothing is lost if the assessment is.
                self._publisher.wait(0 if self._released.is_set() else STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._publisher.terminate()
                with suppress(subprocess.TimeoutExpired):
                    self._publisher.wait(5)
        for thread in self._watching:
            thread.join(STOP_SECONDS)  # they write down how it ended


def spooled(suffix: str) -> Any:
    """A file for an uploaded table that only its owner can read, and that goes when closed."""
    return tempfile.NamedTemporaryFile(suffix=suffix, prefix="discreet-import-")


def _environment() -> dict[str, str]:
    """Without what an operator has set for their own programs: ours are told all that they do."""
    ours = os.environ.items()
    return {name: value for name, value in ours if not name.startswith("DISCREET_OPERATE_")}


def _number(line: str) -> int | None:
    """Of the release that a publisher reports; None if it reports anything else."""
    try:
        return int(json.loads(line)["number"])
    except (ValueError, KeyError, TypeError):
        return None


def _reason(errors: str) -> str:
    lines = [line for line in errors.splitlines() if line.startswith("error: ")]
    return lines[-1].removeprefix("error: ") if lines else "the program ended unexpectedly"
