"""Publish: read one snapshot of the database, train, and record release and spends together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl

from discreet.data.ids import Ids
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import catalogue, erasures, generation, ledger, own_ratings
from discreet.database.connection import Database, now
from discreet.database.declaration import Declaration, ledger_key
from discreet.database.hashes import Hashes
from discreet.errors import DataError, LedgerError
from discreet.operate.imports import offered
from discreet.privacy.hashing import pair_hashes
from discreet.privacy.history import History
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.progress import Progress, silent
from discreet.publishing.publish import require_publishing
from discreet.release.release import Release
from discreet.schemes import usual_scheme
from discreet.schemes.base import Publishing, Run, build_scheme


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What the database held at one moment: all of it secret but the catalogue."""

    at: int
    ratings: Ratings
    items: Items
    hashes: Hashes
    spends: Spends
    history: History
    """Of the ledger, up to the next release."""
    before: Release | None


def declared_scheme(declared: Declaration, items: Items) -> Publishing:
    """Pure, or with the delta that was declared; t is the largest level offered."""
    kind = usual_scheme(declared.delta)
    given = {"delta": declared.delta} if declared.delta else {}
    return cast("Publishing", build_scheme(kind, items, **given))


def read_snapshot(database: Database, declared: Declaration) -> Snapshot:
    """Everything that a publication needs, as of one moment."""
    at = now()
    with database.reading() as connection:
        items = catalogue.read(connection)
        if items is None:
            raise DataError("the catalogue is empty: import an item table first")
        number = generation.next_number(connection)
        history = generation.history(connection, declared, number, at)
        content = ledger.files(connection, ledger.latest(connection))
        ratings = _ratings(own_ratings.everybody(connection), items, declared)
        key = ledger_key(connection)
        known = ledger.all_spends(connection)
    hashes = pair_hashes(
        key, ratings.users.values, ratings.items.values, ratings.user, ratings.item
    )
    wanted = pl.DataFrame({"h1": hashes[0], "h2": hashes[1]})
    joined = wanted.join(known, on=["h1", "h2"], how="left", maintain_order="left").fill_null(0.0)
    spends = Spends(*(joined[name].to_numpy() for name in ("level", "spent", "delta")))
    before = Release.from_files(content) if content else None
    return Snapshot(at, ratings, items, hashes, spends, history, before)


def preview(database: Database, declared: Declaration) -> dict[str, float]:
    """What a publication would spend if it began now, at most: for the operator alone."""
    snapshot = read_snapshot(database, declared)
    scheme = declared_scheme(declared, snapshot.items)
    spec, data = scheme.prepare(snapshot.ratings, offered(declared))
    costs = scheme.allowances(data, spec, snapshot.spends)
    spending = costs[costs > 0]
    return {
        "ratings": float(len(data)),
        "spending": float(len(spending)),
        "total": float(spending.sum()),
        "largest": float(spending.max(initial=0.0)),
        "delta": declared.delta,
    }


def publish(
    database: Database,
    declared: Declaration,
    *,
    seed: int | None = None,
    progress: Progress = silent,
) -> tuple[ledger.ReleaseEntry, Snapshot]:
    """Fit within every pair's lifetime budget and record the release: visible, or no trace at all.

    It happens also when nothing is new: leaving it out would tell that.
    """
    progress("publish", 0, 3)
    keeper = generation.DatabaseKeeper(database)
    keeper.check()
    erasures.erase_again(database)
    snapshot = read_snapshot(database, declared)
    history = snapshot.history
    scheme = declared_scheme(declared, snapshot.items)
    require_publishing(scheme)
    if snapshot.before is not None and snapshot.before.scale != declared.rating_scale:
        raise LedgerError("the previous release has another scale: its tallies cannot be added to")
    spec, data = scheme.prepare(snapshot.ratings, offered(declared))
    randomness = Randomness(seed, run=history.release - 1)
    progress("publish", 1, 3)
    batch = scheme.publish_batch(
        data,
        spec,
        snapshot.spends,
        snapshot.before,
        Run(randomness, progress=progress),
        history=history,
    )
    progress("publish", 2, 3)
    content = batch.model.release.files()
    certificate = Release.from_files(content).certificate
    entry = ledger.next_entry(history.release, certificate, snapshot.at)
    assert data.timestamp is not None
    costs = ledger.Costs(
        snapshot.hashes, spec.levels(data), batch.epsilons, batch.deltas, data.timestamp
    )
    with keeper.publication(history, entry.digest) as announced:
        ledger.record(database, entry, content, costs, announced)
    progress("publish", 3, 3)
    return entry, snapshot


def _ratings(parts: Iterable[Sequence[Any]], items: Items, declared: Declaration) -> Ratings:
    """All ratings over the catalogue; there may be none, which nobody may notice."""
    schema = {
        "user": pl.String,
        "item": pl.String,
        "rating": pl.Float64,
        "epsilon": pl.Float64,
        "revision": pl.Int64,
    }
    frames = [pl.DataFrame(list(map(tuple, part)), schema=schema, orient="row") for part in parts]
    table = pl.concat(frames) if frames else pl.DataFrame(schema=schema)
    if table.height == 0:
        nothing, none = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        nobody = Ids(pl.Series("user", [], dtype=pl.String))
        empty, scale = np.zeros(0), declared.rating_scale
        return Ratings(nobody, items.ids, nothing, none, empty, empty, none.astype(np.int64), scale)
    # A revision goes along with its rating in the place of a time.
    columns = {"timestamp": "revision"}
    return Ratings.from_frame(table, columns, scale=declared.rating_scale).with_items(items.ids)
