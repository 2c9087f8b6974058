"""Streaming: all rows of a large table, part by part, as the driver gives them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection


def stream(
    connection: Connection, query: sa.Select[Any], chunk: int = 100_000
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a query without parameters, in this transaction.

    To wrap millions of rows into SQLAlchemy's takes longer than to read them.
    """
    text = str(query.compile(dialect=connection.dialect))
    driver = connection.connection.driver_connection
    assert driver is not None
    # PostgreSQL would send everything at once, unless the cursor is its own.
    named = {} if connection.dialect.name == "sqlite" else {"name": "discreet_stream"}
    with closing(driver.cursor(**named)) as cursor:
        cursor.execute(text)
        while part := cursor.fetchmany(chunk):
            yield part
