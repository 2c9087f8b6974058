"""Migrations: the steps from an empty database to today's tables."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError

from discreet.database.connection import Database, one_at_a_time
from discreet.errors import DatabaseError


def config() -> Config:
    """Alembic's configuration: only where the steps are."""
    found = Config()
    found.set_main_option("script_location", str(Path(__file__).parent))
    return found


def migrate(database: Database) -> None:
    """Bring the tables to this version's, keeping what is in them; nothing if they are."""
    steps = config()
    newest = ScriptDirectory.from_config(steps).get_current_head()
    with database.writing() as connection:
        one_at_a_time(connection)
        try:
            if MigrationContext.configure(connection).get_current_revision() == newest:
                return
            steps.attributes["connection"] = connection
            command.upgrade(steps, "head")
        except (CommandError, sa.exc.DatabaseError) as error:
            reason = str(error).splitlines()[0]
            raise DatabaseError(
                f"{database!r} is not a recommender's database, or one of a newer version: {reason}"
            ) from None
