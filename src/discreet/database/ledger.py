"""Releases and the ledger: a release and what it spends are recorded in one transaction.

So a release is visible if and only if all that it cost is written down, whatever crashes; and of
two publishers who began from the same release only one can record the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.arrays import Integers
from discreet.database.connection import Database
from discreet.database.schema import assessments, release_files, releases, spends
from discreet.errors import LedgerError
from discreet.privacy.hashing import Hashes
from discreet.privacy.lifetime import SPEND_COLUMNS, Costs, Summary

_CHUNK = 5_000


class ReleaseEntry(NamedTuple):
    """One release as the list of releases shows it: public."""

    number: int
    digest: str
    scheme: str
    threshold: str
    begun_at: int
    published_at: int


class Spend(NamedTuple):
    """What one pair of user and item has spent, at which level, and in which release last."""

    level: float
    spent: float
    delta: float
    release: int | None
    revision: int
    """Of the rating that was counted last."""


class Charges(NamedTuple):
    """What a release charges to each record that it read: the pair, its costs, its revision."""

    hashes: Hashes
    costs: Costs
    revisions: Integers


def entries(connection: Connection) -> list[ReleaseEntry]:
    """All releases, oldest first."""
    rows = connection.execute(sa.select(*releases.c).order_by(releases.c.number)).all()
    return [ReleaseEntry._make(row) for row in rows]


def latest(connection: Connection) -> int:
    """The number of the latest release; 0 if there is none."""
    return int(connection.scalar(sa.select(sa.func.max(releases.c.number))) or 0)


def files(connection: Connection, number: int) -> dict[str, bytes]:
    """The files of a release; empty if there is no such release."""
    query = sa.select(release_files.c.name, release_files.c.content)
    rows = connection.execute(query.where(release_files.c.release == number)).all()
    return {row.name: bytes(row.content) for row in rows}


def all_spends(connection: Connection) -> pl.DataFrame:
    """What all pairs have spent: a frame with the columns h1, h2, level, spent, delta."""
    query = sa.select(*(spends.c[name] for name in SPEND_COLUMNS))
    streamed = connection.execution_options(stream_results=True, yield_per=200_000)
    parts = [
        pl.DataFrame(list(map(tuple, part)), schema=SPEND_COLUMNS, orient="row")
        for part in streamed.execute(query).partitions()
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=SPEND_COLUMNS)


def spends_of(connection: Connection, hashes: Hashes) -> dict[tuple[int, int], Spend]:
    """What these pairs have spent, those alone that have; keyed by their hashes."""
    first, second = (column.tolist() for column in hashes)
    wanted = set(zip(first, second, strict=True))
    found = {}
    for start in range(0, len(first), _CHUNK):
        where = spends.c.h1.in_(first[start : start + _CHUNK])
        for row in connection.execute(sa.select(*spends.c).where(where)):
            if (row.h1, row.h2) in wanted:
                found[row.h1, row.h2] = Spend._make(getattr(row, n) for n in Spend._fields)
    return found


def record(
    database: Database,
    entry: ReleaseEntry,
    content: Mapping[str, bytes],
    charges: Charges,
    announced: Callable[[Connection], object],
) -> None:
    """Make a release visible and write down what it costs, both or neither.

    `announced` sees to it, in the same transaction, that this is still the ledger which announced
    the release.
    """
    try:
        with database.writing() as connection:
            announced(connection)
            connection.execute(sa.insert(releases).values(**entry._asdict()))
            add_spends(connection, charges, entry.number)
            rows = [{"release": entry.number, "name": n, "content": c} for n, c in content.items()]
            connection.execute(sa.insert(release_files), rows)
    except sa.exc.IntegrityError:
        raise LedgerError(
            f"another publisher was first with release {entry.number}: nothing was spent and "
            "nothing shown; look at that release before you publish again"
        ) from None


_COLUMNS = ("h1", "h2", "level", "spent", "delta", "release", "revision")
_ADD = """
    ON CONFLICT (h1, h2) DO UPDATE SET
        level = CASE WHEN excluded.level > spends.level THEN excluded.level ELSE spends.level END,
        spent = spends.spent + excluded.spent, delta = spends.delta + excluded.delta,
        release = excluded.release, revision = excluded.revision
"""


def add_spends(connection: Connection, charges: Charges, number: int | None) -> None:
    """Add up what pairs spend, in the drivers' own fast ways: others are waiting to write."""
    counted, (first, second) = charges.costs.counted, charges.hashes
    # In the table's own order rows are written several times faster.
    order = np.flatnonzero(counted)[np.lexsort((second[counted], first[counted]))]
    columns = (first, second, *charges.costs, charges.revisions)
    *others, revision = (column[order].tolist() for column in columns)
    rows = list(zip(*others, [number] * len(order), revision, strict=True))
    names = ", ".join(_COLUMNS)
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        places = ", ".join("?" * len(_COLUMNS))
        connection.exec_driver_sql(f"INSERT INTO spends ({names}) VALUES ({places}) {_ADD}", rows)
        return
    new = "CREATE TEMPORARY TABLE new_spends (LIKE spends) ON COMMIT DROP"
    connection.exec_driver_sql(new)
    driver = connection.connection.driver_connection
    assert driver is not None
    with driver.cursor().copy(f"COPY new_spends ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    connection.exec_driver_sql(
        f"INSERT INTO spends ({names}) SELECT {names} FROM new_spends {_ADD}"
    )


def charge_all(connection: Connection, level: float, delta: float) -> None:
    """Take every pair that was ever counted to have spent all it could, nobody knows where."""
    full = {"level": level, "spent": level, "delta": delta}
    most = {
        name: sa.case((spends.c[name] > value, spends.c[name]), else_=value)
        for name, value in full.items()
    }
    connection.execute(sa.update(spends).values(**most, release=None))


def assess(database: Database, number: int, content: Mapping[str, Any]) -> None:
    """Keep what the operator may know of a release's errors; secret."""
    with database.writing() as connection:
        connection.execute(sa.insert(assessments).values(release=number, content=dict(content)))


def assessment(connection: Connection, number: int) -> dict[str, Any] | None:
    """What the operator may know of a release's errors; secret."""
    query = sa.select(assessments.c.content).where(assessments.c.release == number)
    found = connection.scalar(query)
    return None if found is None else dict(found)


def summary(connection: Connection) -> Summary:
    """What all pairs have spent: for the operator alone."""
    f, c = sa.func, spends.c
    query = sa.select(f.count(c.h1), f.sum(c.spent), f.avg(c.spent), f.max(c.spent), f.max(c.delta))
    pairs, total, mean, most, delta = (float(n or 0) for n in connection.execute(query).one())
    return Summary(pairs=pairs, total=total, mean=mean, largest=most, largest_delta=delta)


def spread(connection: Connection, levels: Sequence[float]) -> list[tuple[float, float, int]]:
    """For the operator alone: how many pairs have spent more than one offered level, up to the
    next: rows (above, up to, pairs)."""
    bounds = [0.0, *levels]
    # What was spent is a level rounded down to the grid: a hair above never happens.
    counted = [
        sa.func.sum(sa.case(((spends.c.spent > low) & (spends.c.spent <= high), 1), else_=0))
        for low, high in pairwise(bounds)
    ]
    row = connection.execute(sa.select(*counted)).one()
    return [(*pair, int(n or 0)) for pair, n in zip(pairwise(bounds), row, strict=True)]


def latest_counts(connection: Connection) -> dict[int, int]:
    """For the operator alone: how many pairs were counted last in each release."""
    query = sa.select(spends.c.release, sa.func.count()).group_by(spends.c.release)
    return {int(number or 0): int(count) for number, count in connection.execute(query)}
