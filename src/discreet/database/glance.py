"""Glances: one statement that reads, as most requests need one or two of them and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import PoolProxiedConnection

from discreet.database.connection import Database

Row = Sequence[Any]


def rows(
    database: Database, query: sa.sql.expression.Executable, words: Mapping[str, Any]
) -> Sequence[Row]:
    """What it finds. One statement sees one snapshot without being told that a transaction begins.

    The driver is asked itself, which takes a fraction of the time: so columns must be such as are
    stored as they are. A statement is compiled once: it must be one that a module holds.
    """
    engine = database.engine
    text, names = _compiled(query, engine.dialect)
    try:
        with closing(engine.raw_connection()) as pooled:
            if database.sqlite:
                return _asked(pooled, text, [words[name] for name in names])
            return _asked_server(pooled, text, words)
    except engine.dialect.loaded_dbapi.Error as error:
        raise sa.exc.OperationalError(text, None, error, hide_parameters=True) from None


def _asked(pooled: PoolProxiedConnection, text: str, words: Any, **more: Any) -> Sequence[Row]:
    driver = pooled.driver_connection
    assert driver is not None
    found: list[Row] = driver.execute(text, words, **more).fetchall()
    return found


def _asked_server(pooled: PoolProxiedConnection, text: str, words: Any) -> Sequence[Row]:
    """The statement is its own transaction, and the server remembers how it is answered."""
    driver: Any = pooled.driver_connection
    driver.autocommit = True
    try:
        return _asked(pooled, text, words, prepare=True)
    finally:
        if driver.closed:
            pooled.invalidate()
        else:
            driver.autocommit = False


@lru_cache(maxsize=32)
def _compiled(query: Any, dialect: sa.Dialect) -> tuple[str, tuple[str, ...]]:
    """As the driver takes it, and which words stand for SQLite's question marks, in their order."""
    compiled = query.compile(dialect=dialect)
    return str(compiled), tuple(compiled.positiontup or ())
