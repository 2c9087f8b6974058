"""The ways from a table to a release: every one is the code that people use."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

from discreet.data.event_rules import EventRules, Quantity
from discreet.data.events import Events
from discreet.data.ids import Ids
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.engines import fit_release
from discreet.engines.stream import open_stream
from discreet.kernels.compute import Compute
from discreet.privacy.history import History
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.publishing.publish import publish
from discreet.release.release import Release
from discreet.schemes.base import LedgerState, Run
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.tally import Tally


@dataclass(frozen=True)
class ThroughFit:
    """The public `fit`, over a catalogue that may leave the last item of every table out."""

    scheme: Tally | Chorus
    max_level: float = 1.0
    every: int | None = None
    """Of so many items the last is not in the catalogue."""
    compute: Compute = Compute()

    def __call__(self, table: Ratings) -> Sequence[Release]:
        """One release."""
        spec = PrivacySpec.column(max_level=self.max_level)
        scheme = self.scheme
        if self.every is not None:
            ids = table.items.values
            inside = np.arange(len(ids)) % self.every != self.every - 1
            items = Items.from_frame(pl.DataFrame({"item": ids.filter(pl.Series(inside))}))
            scheme = replace(scheme, items=items)
        return [scheme.fit(table, spec, compute=self.compute).release]


@dataclass(frozen=True)
class ThroughStream:
    """The engine for tables on disk, in at least two parts."""

    scheme: Tally | Chorus
    compute: Compute = Compute()

    def __call__(self, table: Ratings) -> Sequence[Release]:
        """One release."""
        items = Items.from_frame(pl.DataFrame({"item": table.items.values}))
        with tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder:
            source = Path(folder) / "ratings.parquet"
            table.to_frame().write_parquet(source)
            rules = EventRules(Quantity(1)) if table.events else None
            rows = len(table) // 2
            with open_stream(source, rules=rules, rows=rows, folder=folder) as stream:
                known = replace(self.scheme, items=items)
                return [fit_release(known, stream, compute=self.compute)]


@dataclass(frozen=True)
class ThroughEvents:
    """A table of events in which every one stands several times, read as its owner reads it."""

    scheme: Tally
    max_level: float = 1.0
    times: int = 2

    def __call__(self, table: Ratings) -> Sequence[Release]:
        """One release."""
        frame = pl.concat([table.to_frame()] * self.times)
        items = Items.from_frame(pl.DataFrame({"item": table.items.values}))
        read = Events.from_frame(frame, quantity=Quantity(1))
        spec = PrivacySpec.column(max_level=self.max_level)
        return [replace(self.scheme, items=items).fit(read, spec).release]


@dataclass(frozen=True)
class ThroughLedger:
    """Publications with the same ledger file, one after the other."""

    scheme: Tally | Chorus
    times: int
    max_level: float

    def __call__(self, table: Ratings) -> Sequence[Release]:
        """So many releases."""
        spec = PrivacySpec.column(max_level=self.max_level)
        with tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder:
            out, book = Path(folder) / "release", Path(folder) / "ledger.db"
            return [
                publish(self.scheme, table, spec, out=out, ledger=book).release
                for _ in range(self.times)
            ]


@dataclass(frozen=True)
class ThroughBatches:
    """The same without files: every publication's `publish_batch`, spends kept in memory."""

    scheme: Tally | Chorus
    times: int
    max_level: float
    compute: Compute = Compute()

    def __call__(self, table: Ratings) -> Sequence[Release]:
        """So many releases."""
        spec, spends = PrivacySpec.column(max_level=self.max_level), Spends.none(len(table))
        releases: list[Release] = []
        share: float | None = None
        for number in range(self.times):
            before = releases[-1] if releases else None
            history = History(release=number + 1, generation="")
            state = LedgerState(spends, before, history, earlier=number, share=share)
            run = Run(Randomness(None, run=number), self.compute)
            batch = self.scheme.publish_batch(table, spec, state, run)
            spends, share = spends.after(batch.costs), batch.share
            releases.append(batch.model.release)
        return releases


@dataclass(frozen=True)
class ThroughDatabase:
    """Publications from a SQLite database, as the service's publisher makes them."""

    times: int
    level: float
    delta: float = 0.0
    """0: Tally; above 0: Chorus."""

    def __call__(self, table: Ratings) -> Sequence[Release]:
        """So many releases."""
        from discreet.database import ledger
        from discreet.database.connection import Database
        from discreet.database.declaration import establish
        from discreet.operate.imports import add_items, add_ratings
        from discreet.operate.releases import publish as publish_from

        # Texts in the order of the numbers.
        named = Ids(pl.Series("item", [f"{k:09d}" for k in range(len(table.items))]))
        wanted = {"levels": (self.level,), "delta": self.delta, "events": table.events}
        with tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder:
            database = Database(Path(folder) / "ratings.db")
            try:
                declared = establish(database, wanted)
                add_items(database, Items.from_frame(pl.DataFrame({"item": named.values})))
                add_ratings(database, declared, replace(table, items=named))
                releases = []
                for _ in range(self.times):
                    entry, _ = publish_from(database, declared)
                    with database.reading() as connection:
                        content = ledger.files(connection, entry.number)
                    releases.append(_unnamed(Release.from_files(content)))
                return releases
            finally:
                database.close()


def _unnamed(release: Release) -> Release:
    """Without its database's own name, which is random and says nothing of any table."""
    certificate = release.certificate
    history = certificate.provenance.history
    assert history is not None
    provenance = replace(certificate.provenance, history=replace(history, generation=""))
    return replace(release, certificate=replace(certificate, provenance=provenance))


def database_missing() -> str | None:
    """Why there is no game through the database, if there is none."""
    if find_spec("sqlalchemy") is None or find_spec("alembic") is None:
        return "games through the database need the extra serve: pip install 'discreet[serve]'"
    return None
