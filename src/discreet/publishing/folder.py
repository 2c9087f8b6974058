"""A ledger file and the folder its releases lie in: staged, recorded, and put in place.

A release is written beside its folder first, then its costs durably, then it takes the folder's
place. Whatever is interrupted in between, the next publication finishes or counts as lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from discreet.data.ratings import Ratings
from discreet.errors import LedgerError, ReleaseError
from discreet.publishing.file_ledger import LOST, RECORDED, VISIBLE, FileLedger, LedgerRelease
from discreet.release.durable import put_in_place, remove_leftovers
from discreet.release.format import FILES
from discreet.release.release import Release
from discreet.schemes.base import Batch, LedgerState


@dataclass(frozen=True)
class FolderLedger:
    """A ledger file, as a publication to one folder uses it."""

    book: FileLedger
    target: Path

    def require_apart(self) -> None:
        """An error if the ledger would be published, or replaced, together with a release."""
        if self.book.path.is_relative_to(self.target):
            raise LedgerError(
                f"the ledger {self.book.path} lies in the release folder, which is public and "
                "replaced whole: keep it elsewhere, as secret as the ratings"
            )

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Lock the ledger, check it, and finish what was interrupted."""
        with self.book.publishing():
            self.book.check()
            finish_interrupted(self.book)
            yield

    def state(self, data: Ratings) -> LedgerState:
        """Where the ledger stands; the folder must hold its latest release."""
        return LedgerState(
            before=_previous(self.book, self.target),
            spends=self.book.spends(data),
            history=self.book.history(self.book.next_number()),
            earlier=len(self.book.releases()),
            share=self.book.share,
        )

    def record(self, data: Ratings, batch: Batch) -> LedgerRelease:
        """Stage the release, write down what it costs, and put it in place."""
        staged = batch.model.release.stage(self.target)
        certificate = Release.load(staged).certificate
        entry = self.book.next_release(certificate, staged, self.target)
        self.book.record(data, batch.costs, entry, batch.share)
        put_in_place(staged, self.target)
        self.book.settle(entry.number, VISIBLE)
        return entry._replace(state=VISIBLE)


def finish_interrupted(ledger: FileLedger) -> None:
    """Put in place what was recorded and staged when its process ended; call it under the lock."""
    for entry in ledger.releases():
        if entry.state != RECORDED:
            continue
        if _digest(entry.staged) == entry.digest:
            put_in_place(entry.staged, entry.target)
        state = VISIBLE if _digest(entry.target) == entry.digest else LOST
        ledger.settle(entry.number, state)


def _previous(ledger: FileLedger, target: Path) -> Release | None:
    """The release to add to, the ledger's latest; leftovers of a crash are removed."""
    remove_leftovers(target, FILES)
    shown = [entry for entry in ledger.releases() if entry.state == VISIBLE]
    found = _digest(target)
    if not shown:
        if found is not None:
            raise LedgerError(
                f"{target} holds a release that {ledger.path} knows nothing of: publish to another "
                "folder, or with the ledger it was made with"
            )
        return None
    if found is not None and found not in {entry.digest for entry in ledger.releases()}:
        raise LedgerError(
            f"{target} holds a release that {ledger.path} knows nothing of. If this ledger was "
            "restored from a backup, it has forgotten what was spent since: restore the latest "
            "ledger. Without it, declare that ('discreet ledger restored'), and put back there the "
            f"latest release that it knows, number {shown[-1].number}"
        )
    if found != shown[-1].digest:
        raise LedgerError(
            f"{target} does not hold the latest release of {ledger.path}, number "
            f"{shown[-1].number}, whose tallies are needed to add to: put that release back there "
            f"(it was published at {shown[-1].target})"
        )
    return Release.load(target)


def _digest(folder: Path) -> str | None:
    try:
        return Release.load(folder).certificate.digest
    except ReleaseError:
        return None
