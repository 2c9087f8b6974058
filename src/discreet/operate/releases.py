"""Publish from the database: read one snapshot, train, record the release and what it spends."""

from __future__ import annotations

import math
from typing import Any, cast

from discreet.data.items import Items
from discreet.database import erasures, publications
from discreet.database.connection import Database
from discreet.database.declaration import Declaration
from discreet.database.generation import DatabaseKeeper
from discreet.database.ledger import ReleaseEntry
from discreet.operate.database_ledger import DatabaseLedger
from discreet.operate.imports import offered
from discreet.operate.snapshot import Snapshot, read_snapshot
from discreet.progress import Progress, silent
from discreet.publishing.publish import publish_into
from discreet.schemes import usual_scheme
from discreet.schemes.base import Publishing, build_scheme


def declared_scheme(declared: Declaration, items: Items, **given: Any) -> Publishing:
    """The scheme that a declaration asks for: Tally without a delta, Chorus with one."""
    kind = usual_scheme(declared.delta)
    if declared.delta:
        given |= {"delta": declared.delta, "publications": declared.publications}
    return cast("Publishing", build_scheme(kind, items, **given))


def preview(database: Database, declared: Declaration) -> dict[str, float]:
    """What the next publication would spend of people's budgets at most: for the operator alone."""
    snapshot = read_snapshot(database, declared)
    scheme = declared_scheme(declared, snapshot.items)
    spec, data = scheme.prepare(snapshot.ratings, offered(declared))
    costs = scheme.allowances(data, spec, snapshot.state)
    epsilons = costs.epsilon + costs.pure
    return {
        "ratings": float(len(data)),
        "spending": float(costs.counted.sum()),
        "total": float(epsilons.sum()),
        "largest": float(epsilons.max(initial=0.0)),
        "delta": float(costs.delta.max(initial=0.0)),
        "mu": math.sqrt(costs.mu2.max(initial=0.0)),
        "lifetime_delta": declared.delta,
    }


def publish(
    database: Database,
    declared: Declaration,
    *,
    noise: str = "exact",
    seed: int | None = None,
    progress: Progress = silent,
) -> tuple[ReleaseEntry, Snapshot]:
    """Train on the ratings that have budget left and record the release: visible, or no trace.

    It happens also when nothing is new: leaving it out would tell that. `noise` is what draws it.
    """
    progress("read", 0, 1)
    DatabaseKeeper(database).check()
    erasures.erase_again(database)
    with publications.making(database):
        snapshot = read_snapshot(database, declared)
        progress("read", 1, 1)
        into, spec = DatabaseLedger(database, snapshot), offered(declared)
        scheme = declared_scheme(declared, snapshot.items, noise=noise)
        _, entry = publish_into(into, scheme, snapshot.ratings, spec, seed=seed, progress=progress)
    return entry, snapshot
