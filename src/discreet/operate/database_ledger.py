"""The database as a ledger: a release and what it spends are recorded in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from discreet.data.ratings import Ratings
from discreet.database import ledger
from discreet.database.connection import Database, now
from discreet.database.generation import DatabaseKeeper
from discreet.errors import LedgerError
from discreet.operate.snapshot import Snapshot
from discreet.publishing.ledger import Named
from discreet.release.release import Release
from discreet.schemes.base import Batch, LedgerState

_MINUTE = 60_000


@dataclass(frozen=True, eq=False)
class DatabaseLedger:
    """The database's ledger, as a publication of one snapshot uses it.

    The database is checked (DatabaseKeeper.check) before the snapshot is read: only then has it a
    generation that the release can be announced with.
    """

    database: Database
    snapshot: Snapshot

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Nobody waits: of two who began from the same release the database lets one record."""
        yield

    def state(self, data: Ratings) -> LedgerState:
        """Where the ledger stood when the snapshot's ratings were read."""
        self._require_same(len(data))
        return self.snapshot.state

    def record(self, data: Ratings, batch: Batch) -> ledger.ReleaseEntry:
        """Make a release visible and write down what it costs, or leave no trace at all."""
        snapshot, content = self.snapshot, batch.model.release.files()
        self._require_same(len(data), len(batch.costs.level), len(snapshot.revisions))
        history = snapshot.state.history
        named = Named.by(Release.from_files(content).certificate)
        # To the second, it would tell for ever how long training took, and so how many rated. (Who
        # watches while it happens sees that anyway: docs/threat-model.md.)
        published_at = now() // _MINUTE * _MINUTE
        entry = ledger.ReleaseEntry(history.release, *named, snapshot.at, published_at)
        charges = ledger.Charges(snapshot.hashes, batch.costs, snapshot.revisions)
        with DatabaseKeeper(self.database).publication(history, entry.digest) as announced:
            ledger.record(self.database, entry, content, charges, announced, batch.share)
        return entry

    def _require_same(self, *counts: int) -> None:
        """Costs and revisions are the snapshot's records', one for one."""
        if set(counts) != {len(self.snapshot.ratings)}:
            raise LedgerError("these are not the ratings of the snapshot: nothing was recorded")
