"""The high-water mark: which release was the latest, written down outside the database.

A database that was restored from an older copy has forgotten what was spent since; beside a SQLite
file lies the number of the latest release, and publishing is refused while the file is behind it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from discreet.database import ledger
from discreet.database.connection import Database
from discreet.errors import LedgerError


def _place(database: Database) -> Path | None:
    return Path(f"{database.url.database}.latest") if database.sqlite else None


def check(database: Database) -> None:
    """An error if the database is older than the latest release that was published from it."""
    place = _place(database)
    if place is None or not place.exists():
        return
    try:
        seen = json.loads(place.read_text())
        number, digest = int(seen["number"]), str(seen["digest"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LedgerError(f"{place} cannot be read: {error}") from None
    with database.reading() as connection:
        known = {entry.number: entry.digest for entry in ledger.entries(connection)}
    if known.get(number) != digest:
        raise LedgerError(
            f"release {number} was published from this database, which knows nothing of it: it was "
            "restored from an older copy and has forgotten what was spent since. Restore the "
            "latest copy, or say 'discreet operate restored', which charges every rating in full"
        )


def set_down(database: Database, entry: ledger.ReleaseEntry) -> None:
    """Note the latest release, durably."""
    place = _place(database)
    if place is None:
        return
    fresh = place.with_name(f"{place.name}-{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
        json.dump({"number": entry.number, "digest": entry.digest}, file)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(place)


def lift(database: Database) -> None:
    """Forget the mark: what the database knows is the truth from now on."""
    place = _place(database)
    if place is not None:
        place.unlink(missing_ok=True)
