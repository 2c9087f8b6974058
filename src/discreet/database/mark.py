"""What a copy forgets, written down outside the database: the latest release, and who was erased.

A database that was restored from an older copy does not know what was spent since, nor who has
left since. Beside a SQLite file lie the number of the latest release, and keyed hashes of those who
were erased: publishing is refused while the file is behind, and nobody comes back.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.database import ledger, people, schema
from discreet.database.connection import Database, insert
from discreet.database.declaration import ledger_key
from discreet.database.schema import settings
from discreet.errors import LedgerError

COPY, SKIPPED = "is a copy", "numbers used elsewhere"


class Latest(NamedTuple):
    """The latest release that was published from a database."""

    number: int
    digest: str


def _beside(database: Database, what: str) -> Path | None:
    return Path(f"{database.url.database}.{what}") if database.sqlite else None


def latest(database: Database) -> Latest | None:
    """What is written down beside the database; None if nothing is."""
    place = _beside(database, "latest")
    if place is None or not place.exists():
        return None
    try:
        seen = json.loads(place.read_text())
        return Latest(int(seen["number"]), str(seen["digest"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LedgerError(f"{place} cannot be read: {error}") from None


def check(database: Database) -> None:
    """An error if the database may be older than the latest release published from it."""
    seen = latest(database)
    with database.reading() as connection:
        known = {entry.number: entry.digest for entry in ledger.entries(connection)}
        copied = _setting(connection, COPY) is not None
    remedy = (
        "It has forgotten what was spent since. Restore the latest copy, or say 'discreet operate "
        "restored', which charges every rating in full"
    )
    if seen is not None and known.get(seen.number) != seen.digest:
        raise LedgerError(
            f"release {seen.number} was published from this database, which knows nothing of it: "
            f"it was restored from an older copy. {remedy}"
        )
    if seen is None and copied:
        raise LedgerError(f"this database is a copy, and others may have been made since. {remedy}")


def set_down(database: Database, number: int, digest: str) -> None:
    """Note the latest release, durably."""
    place = _beside(database, "latest")
    if place is None:
        return
    fresh = place.with_name(f"{place.name}-{os.getpid()}")
    _write(fresh, json.dumps({"number": number, "digest": digest}), os.O_TRUNC)
    fresh.rename(place)


def note_erased(database: Database, person: str) -> None:
    """Remember, outside the database, that somebody was erased; as a keyed hash alone."""
    place = _beside(database, "erased")
    if place is not None:
        with database.reading() as connection:
            hidden = people.hidden(ledger_key(connection), person)
        _write(place, hidden + "\n", os.O_APPEND)


def erase_again(database: Database) -> int:
    """Remove those who were erased after the copy was made that this database is; how many."""
    place = _beside(database, "erased")
    if place is None or not place.exists():
        return 0
    gone = set(place.read_text().split())
    with database.writing() as connection:
        key = ledger_key(connection)
        back = [p for p in connection.scalars(sa.select(schema.people.c.id))
                if people.hidden(key, p) in gone]  # fmt: skip
        for person in back:
            people.erase(connection, person)
    return len(back)


def next_number(connection: Connection) -> int:
    """The number of the next release: no number is given twice, also after a restored copy."""
    return max(ledger.latest(connection), int(_setting(connection, SKIPPED) or 0)) + 1


def label_copy(connection: Connection) -> None:
    """Say in a copy that it is one."""
    _set(connection, COPY, 1)


def begin_anew(database: Database, after: int) -> None:
    """All was charged in full: go on with numbers that were not used before."""
    seen = latest(database)
    with database.writing() as connection:
        used = max(after, 0 if seen is None else seen.number)
        _set(connection, SKIPPED, max(used, int(_setting(connection, SKIPPED) or 0)))
        connection.execute(sa.delete(settings).where(settings.c.name == COPY))
    place = _beside(database, "latest")
    if place is not None:
        place.unlink(missing_ok=True)


def _setting(connection: Connection, name: str) -> Any:
    return connection.scalar(sa.select(settings.c.value).where(settings.c.name == name))


def _set(connection: Connection, name: str, value: int) -> None:
    statement = insert(connection, settings)
    changed = statement.on_conflict_do_update(
        index_elements=["name"], set_={"value": statement.excluded.value}
    )
    connection.execute(changed, [{"name": name, "value": value}])


def _write(place: Path, text: str, how: int) -> None:
    with os.fdopen(os.open(place, os.O_CREAT | os.O_WRONLY | how, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
