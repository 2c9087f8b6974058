"""Glances: what most requests read, whatever has become of the database."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from discreet.database import people
from discreet.database.connection import Database
from discreet.database.declaration import establish
from discreet.database.people import Role


def test_a_glance_sees_what_a_transaction_sees(database: Database) -> None:
    establish(database)
    with database.writing() as connection:
        token = people.issue(connection, Role.OPERATOR, name="ann")
        held = people.bearer(connection, token)
    assert held is not None
    assert people.holder(database, token) == held
    assert people.holder(database, "nobody's") is None


def test_a_file_that_is_away_is_a_database_that_is_away(tmp_path: Path) -> None:
    """The service answers 503 for it, as for a server, not 500: also where no pool has it open."""
    (folder := tmp_path / "mounted").mkdir()
    database = Database(folder / "club.db")
    establish(database)
    database.engine.dispose()
    folder.rename(tmp_path / "away")
    with pytest.raises(sa.exc.OperationalError):
        people.holder(database, "anybody's")
    database.close()
