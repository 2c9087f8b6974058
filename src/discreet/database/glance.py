"""Glances: one statement that reads, as most requests need one or two of them and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from discreet.database.connection import Database

Row = Sequence[Any]


def rows(
    database: Database, query: sa.sql.expression.Executable, words: Mapping[str, Any]
) -> Sequence[Row]:
    """What it finds. One statement sees one snapshot without being told that a transaction begins.

    SQLite's driver is asked itself, which takes a sixth of the time: so columns must be such as
    are stored as they are. A statement is compiled once: it must be one that a module holds.
    """
    if not database.sqlite:
        with database.connected() as connection:
            return (
                connection.execution_options(isolation_level="AUTOCOMMIT")
                .execute(query, dict(words))
                .all()
            )
    text, names = _compiled(query)
    try:
        with closing(database.engine.raw_connection()) as pooled:
            driver = pooled.driver_connection
            assert driver is not None
            found: list[Row] = driver.execute(text, [words[name] for name in names]).fetchall()
            return found
    except sqlite3.Error as error:
        raise sa.exc.OperationalError(text, None, error, hide_parameters=True) from None


@lru_cache(maxsize=32)
def _compiled(query: Any) -> tuple[str, tuple[str, ...]]:
    """As SQLite's driver takes it, and which words stand for its question marks."""
    compiled = query.compile(dialect=sqlite.dialect(paramstyle="qmark"))
    return str(compiled), tuple(compiled.positiontup or ())
