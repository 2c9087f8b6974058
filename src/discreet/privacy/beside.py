"""The file beside a ledger: the latest release, in a place that copying does not take along.

A ledger that is copied, or put back from an older copy, looks whole. So a second file lies beside
it, and each publication makes a new one: the ledger knows which one belongs to it, by number and
birth in the file system. Neither goes along with a copy, also not with one written over it.

A publication is announced here before the ledger commits it, by a note of its own; afterwards the
note takes the file's place. What a crash leaves in between tells what happened.
"""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import NamedTuple

from discreet.errors import LedgerError
from discreet.privacy.generation import Generation


class Note(NamedTuple):
    """What stands in a file beside a ledger: its latest release. Number 0 before the first."""

    generation: str
    number: int
    digest: str
    nonce: str


class Prepared(NamedTuple):
    """A note that is on disk under a hidden name; nobody reads it before `show` renames it."""

    note: Note
    hidden: Path
    shown: Path
    place: str


Known = Mapping[int, str]
"""The digests of a ledger's releases by their numbers, with (0, "") before the first."""


class Beside:
    """The notes beside one ledger, in its folder; `before` is a file that older versions kept."""

    def __init__(self, ledger: Path, before: str | None = None) -> None:
        self.path = ledger.with_name(f"{ledger.name}.generation")
        self._before = None if before is None else ledger.with_name(f"{ledger.name}.{before}")

    @property
    def current(self) -> Note | None:
        """What was published last; None if nothing lies here."""
        found = _read(self.path)
        if found is None and self._before is not None:
            found = _read(self._before)
        return found

    def prepare(self, generation: str, number: int, digest: str) -> Prepared:
        """Write a note durably, where nobody looks."""
        note = Note(generation, number, digest, secrets.token_hex(8))
        hidden = self.path.with_name(f".{self.path.name}-{note.nonce}")
        try:
            write_durably(hidden, json.dumps(note._asdict()), os.O_EXCL)
        except OSError as error:
            raise LedgerError(f"cannot write {hidden}: {error.strerror}") from None
        shown = self.path.with_name(f"{self.path.name}-{note.nonce}")
        return Prepared(note, hidden, shown, place_of(hidden))

    def show(self, prepared: Prepared) -> None:
        """From now on everybody takes the note into account."""
        with suppress(
            FileNotFoundError
        ):  # swept away: its number is taken, and nothing comes of it
            prepared.hidden.rename(prepared.shown)
        _sync_folder(self.path.parent)

    def withdraw(self, prepared: Prepared) -> None:
        """Nothing came of what was announced."""
        for place in (prepared.hidden, prepared.shown):
            place.unlink(missing_ok=True)

    def settle(self, prepared: Prepared) -> None:
        """Put the note of what was committed in the file's place."""
        with suppress(FileNotFoundError):  # another process has done it for us
            prepared.shown.replace(self.path)
        _sync_folder(self.path.parent)
        if self._before is not None:
            self._before.unlink(missing_ok=True)

    def finish(self, inside: Generation) -> None:
        """Settle what was committed by a process that ended before it could."""
        for path, note in self._announced():
            with suppress(FileNotFoundError):
                if note.generation == inside.name and same_place(inside.place, place_of(path)):
                    self.settle(Prepared(note, path, path, inside.place))

    def sweep(self, inside: Generation, known: Known) -> None:
        """Remove what nothing can come of any more; while nobody else writes to the ledger."""
        for path in (*self._places(), *self._places(hidden=True)):
            # By name alone: a note whose writer was killed half-way cannot be read.
            nonce = path.name.rpartition("-")[2]
            if inside.pending.get(nonce, 0) <= max(known):
                path.unlink(missing_ok=True)

    def forgotten(self, inside: Generation | None, known: Known) -> int | None:
        """The number of a release that was made here and that the ledger knows nothing of."""
        current = self.current
        if current is not None and known.get(current.number) != current.digest:
            return current.number
        # Announced, but neither committed nor known to have been begun: an older copy. What was
        # announced in a generation that ended was declared about when it did.
        present = {inside and inside.name, current and current.generation}
        begun = {} if inside is None else inside.pending
        for _, note in self._announced():
            if note.number > max(known) and note.nonce not in begun and note.generation in present:
                return note.number
        return None

    def differs(self, inside: Generation) -> str | None:
        """Why this is not what the ledger was last published with; None if it is."""
        current = self.current
        if current is None:
            return f"this is a copy: {self.path.name} is not beside it"
        with suppress(FileNotFoundError):
            here = place_of(self.path)
            if current.generation == inside.name and same_place(inside.place, here):
                return None
        return f"this is a copy, or was put back from one: {self.path.name} is another's"

    def highest(self) -> int:
        """The largest number that was used here, or may have been."""
        notes = [self.current, *(note for _, note in self._announced())]
        return max((note.number for note in notes if note is not None), default=0)

    def _places(self, *, hidden: bool = False) -> list[Path]:
        start = "." if hidden else ""
        return sorted(self.path.parent.glob(f"{start}{escape(self.path.name)}-*"))

    def _announced(self) -> Iterator[tuple[Path, Note]]:
        for path in self._places():
            note = _read(path)
            if note is not None:  # it may be settled or withdrawn at this very moment
                yield path, note


def _read(path: Path) -> Note | None:
    try:
        found = json.loads(path.read_text())
        texts = (str(found.get(name, "")) for name in ("generation", "digest", "nonce"))
        generation, digest, nonce = texts
        return Note(generation, int(found["number"]), digest, nonce)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerError(
            f"{path} cannot be read: {error}. Without it nobody knows whether this is an older "
            "copy: mend it, or remove it and declare a restore"
        ) from None


def write_durably(path: Path, text: str, how: int) -> None:
    """Write a file that only its owner can read; `how` is O_EXCL for a new one, or O_APPEND."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | how, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def place_of(path: Path) -> str:
    """What a copy of a file does not share with it: its number, and when it was born.

    Numbers are used again when a file is gone; births are not, where the file system tells them.
    """
    status = path.stat()
    born = getattr(status, "st_birthtime_ns", None) or _birth(path)
    return f"{status.st_ino}:{'' if born is None else born}"


def same_place(one: str, other: str) -> bool:
    """Whether both may name one file; a birth that only one of them tells is not compared.

    >>> same_place("17:204", "17:"), same_place("17:204", "17:309"), same_place("17:", "18:")
    (True, False, False)
    """
    (number, born), (other_number, other_born) = one.split(":"), other.split(":")
    return number == other_number and (born == other_born or not (born and other_born))


def _birth(path: Path) -> int | None:
    """When a file was made, in ns; None where nobody tells. Linux has it, Python asks in 3.15."""
    here, wanted, size = -100, 0x800, 256  # AT_FDCWD, STATX_BTIME, of struct statx
    answer = ctypes.create_string_buffer(size)
    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except (OSError, AttributeError):
        return None
    if statx(here, os.fsencode(path), 0, wanted, answer) != 0:
        return None
    mask, seconds, nanoseconds = struct.unpack_from("=I76xqI", answer.raw)
    return int(seconds) * 10**9 + int(nanoseconds) if mask & wanted else None
