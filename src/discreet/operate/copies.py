"""Backups of the database, and what must happen after an older one was restored."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sqlalchemy.engine import Connection

from discreet.database import ledger
from discreet.database.connection import Database
from discreet.database.declaration import Declaration
from discreet.database.generation import DatabaseKeeper
from discreet.errors import DatabaseError, OutputError
from discreet.operate.snapshot import read_snapshot
from discreet.privacy.lifetime import Costs


def back_up(database: Database, target: Path) -> None:
    """Copy one snapshot of a SQLite database into a new file that only its owner can read."""
    if not database.sqlite:
        raise DatabaseError("PostgreSQL has its own: pg_dump --format=custom, as of one moment")
    place = target.expanduser().resolve()
    try:
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise OutputError(f"cannot write the backup {place}: {error.strerror}") from None
    with database.engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute("VACUUM INTO ?", (str(place),))


def charge_in_full(database: Database, declared: Declaration, after: int = 0) -> int:
    """After an older copy was restored: no rating in it will ever be counted again.

    What was counted since the copy was made is unknown; so every pair that it knows, also of a
    rating that was deleted or whose item was taken down, is taken to have spent all it could. Later
    releases get numbers above `after`, and their certificates name the restore. Returns how many
    ratings there are.
    """
    snapshot = read_snapshot(database, declared, taken_down=True)
    spends = snapshot.state.spends
    rest = Costs.of(
        np.full(len(snapshot.ratings), declared.max_level),
        epsilon=np.maximum(declared.max_level - spends.epsilon, 0.0),
        delta=np.maximum(declared.delta - spends.delta, 0.0),
    )
    charges = ledger.Charges(snapshot.hashes, rest, snapshot.revisions)

    def charge(connection: Connection) -> None:
        ledger.add_spends(connection, charges, None)
        ledger.charge_all(connection, declared.max_level, declared.delta)

    DatabaseKeeper(database).restored(charge, after)
    return len(snapshot.ratings)
