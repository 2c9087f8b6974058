"""Erasing people, also from older copies: keyed hashes of who has left lie beside a SQLite file.

A database that was restored from an older copy does not know who has left since. They are noted
before they are erased, so that a crash in between, too, leaves nobody behind.
"""

from __future__ import annotations

import os
from pathlib import Path

import sqlalchemy as sa

from discreet.database import people, schema
from discreet.database.connection import Database
from discreet.database.declaration import ledger_key
from discreet.database.writer import Writer
from discreet.privacy.beside import write_durably


def erase(writer: Writer, person: str) -> None:
    """Remove all that is stored about a person but keyed hashes, in later copies of it as well."""
    database = writer.database
    place = _beside(database)
    if place is not None:
        with database.reading() as connection:
            hidden = people.hidden(ledger_key(connection), person)
        # After a line's end: a crash may have left half a line.
        write_durably(place, f"\n{hidden}\n", os.O_APPEND)
    writer.write_apart(lambda connection: people.erase(connection, person))
    database.forget()


def erase_again(database: Database) -> int:
    """Remove those who have left since the copy was made that this database may be; how many."""
    place = _beside(database)
    if place is None or not place.exists():
        return 0
    gone = set(place.read_text().split())
    with database.writing() as connection:
        key = ledger_key(connection)
        back = [
            p
            for p in connection.scalars(sa.select(schema.people.c.id))
            if people.hidden(key, p) in gone
        ]
        for person in back:
            people.erase(connection, person)
    return len(back)


def _beside(database: Database) -> Path | None:
    if not database.sqlite:
        return None
    path = Path(database.url.database or "").resolve()
    return path.with_name(f"{path.name}.erased")
