"""Releases and the ledger: a release and what it spends are recorded in one transaction.

So a release is visible if and only if all that it cost is written down, whatever crashes; and of
two publishers who began from the same release only one can record the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.arrays import Integers
from discreet.database.connection import Database
from discreet.database.schema import assessments, release_files, releases, settings, spends
from discreet.database.streaming import stream
from discreet.errors import LedgerError
from discreet.privacy.hashing import Hashes
from discreet.privacy.lifetime import SPEND_COLUMNS, Costs, Summary

_CHUNK = 5_000
SHARE = "pure share"
_SHARE = sa.select(settings.c.value).where(settings.c.name == SHARE)
_AMONG = sa.select(*spends.c).where(spends.c.h1.in_(sa.bindparam("first", expanding=True)))
_ONE = sa.select(*spends.c).where(
    spends.c.h1 == sa.bindparam("first"), spends.c.h2 == sa.bindparam("second")
)
"""Made once, as every rating that is given asks for its own: to make it takes longer."""


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
    pure: float
    mu2: float
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
    """What all pairs have spent: a frame with the columns of SPEND_COLUMNS."""
    query = sa.select(*(spends.c[name] for name in SPEND_COLUMNS))
    parts = [
        pl.DataFrame(part, schema=SPEND_COLUMNS, orient="row") for part in stream(connection, query)
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=SPEND_COLUMNS)


def pure_share(connection: Connection) -> float | None:
    """The pure share of every epsilon, if the ledger is divided into purses."""
    found = connection.scalar(_SHARE)
    return None if found is None else float(found)


def spends_of(connection: Connection, hashes: Hashes) -> dict[tuple[int, int], Spend]:
    """What these pairs have spent, those alone that have; keyed by their hashes."""
    first, second = (column.tolist() for column in hashes)
    wanted = set(zip(first, second, strict=True))
    if len(wanted) == 1:
        row = connection.execute(_ONE, {"first": first[0], "second": second[0]}).one_or_none()
        return {} if row is None else {(row.h1, row.h2): _spend(row)}
    found = {}
    for start in range(0, len(first), _CHUNK):
        for row in connection.execute(_AMONG, {"first": first[start : start + _CHUNK]}):
            if (row.h1, row.h2) in wanted:
                found[row.h1, row.h2] = _spend(row)
    return found


def _spend(row: Any) -> Spend:
    return Spend._make(getattr(row, name) for name in Spend._fields)


def record(
    database: Database,
    entry: ReleaseEntry,
    content: Mapping[str, bytes],
    charges: Charges,
    announced: Callable[[Connection], object],
    share: float | None = None,
) -> None:
    """Make a release visible and write down what it costs, both or neither.

    `announced` sees to it, in the same transaction, that this is still the ledger which announced
    the release. With a pure share the ledger is divided by it, from now on and for ever.
    """
    try:
        with database.writing() as connection:
            announced(connection)
            if share is not None and pure_share(connection) is None:
                row = {"name": SHARE, "value": share}
                connection.execute(sa.insert(settings).values(**row))
            connection.execute(sa.insert(releases).values(**entry._asdict()))
            add_spends(connection, charges, entry.number)
            rows = [{"release": entry.number, "name": n, "content": c} for n, c in content.items()]
            connection.execute(sa.insert(release_files), rows)
    except sa.exc.IntegrityError:
        raise LedgerError(
            f"another publisher was first with release {entry.number}: nothing was spent and "
            "nothing shown; look at that release before you publish again"
        ) from None


_COLUMNS = (*SPEND_COLUMNS, "release", "revision")
_ADD = """
    ON CONFLICT (h1, h2) DO UPDATE SET
        level = CASE WHEN excluded.level > spends.level THEN excluded.level ELSE spends.level END,
        spent = spends.spent + excluded.spent, delta = spends.delta + excluded.delta,
        pure = spends.pure + excluded.pure, mu2 = spends.mu2 + excluded.mu2,
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
    """Take every pair that was ever counted to have spent all it could, nobody knows where.

    That is one whole level and delta: what came out of either purse is among it, not on top.
    """
    full = {"level": level, "spent": level, "delta": delta}
    most = {
        name: sa.case((spends.c[name] > value, spends.c[name]), else_=value)
        for name, value in full.items()
    }
    connection.execute(sa.update(spends).values(**most, pure=0.0, mu2=0.0, release=None))


def assess(database: Database, number: int, content: Mapping[str, Any]) -> None:
    """Keep what the operator may know of a release's errors; secret."""
    with database.writing() as connection:
        connection.execute(sa.insert(assessments).values(release=number, content=dict(content)))


def assessed(connection: Connection) -> dict[int, dict[str, Any]]:
    """What the operator may know of every release's errors, by its number; secret."""
    query = sa.select(assessments.c.release, assessments.c.content)
    return {int(number): dict(content) for number, content in connection.execute(query)}


def summary(connection: Connection) -> Summary:
    """What all pairs have spent: for the operator alone."""
    f, c = sa.func, spends.c
    spent = c.spent + c.pure
    query = sa.select(
        f.count(c.h1), f.sum(spent), f.avg(spent), f.max(spent), f.max(c.delta), f.max(c.mu2)
    )
    pairs, total, mean, most, delta, mu2 = (float(n or 0) for n in connection.execute(query).one())
    return Summary(
        pairs=pairs,
        total=total,
        mean=mean,
        largest=most,
        largest_delta=delta,
        largest_mu=math.sqrt(mu2),
    )


def spread(connection: Connection, levels: Sequence[float]) -> list[tuple[float, float, int]]:
    """For the operator alone: how many pairs have spent more than one offered level, up to the
    next, undivided or pure: rows (above, up to, pairs)."""
    bounds, spent = [0.0, *levels], spends.c.spent + spends.c.pure
    # What was spent is a level rounded down to the grid: a hair above never happens.
    counted = [
        sa.func.sum(sa.case(((spent > low) & (spent <= high), 1), else_=0))
        for low, high in pairwise(bounds)
    ]
    row = connection.execute(sa.select(*counted)).one()
    return [(*pair, int(n or 0)) for pair, n in zip(pairwise(bounds), row, strict=True)]


def latest_counts(connection: Connection) -> dict[int, int]:
    """For the operator alone: how many pairs were counted last in each release."""
    query = sa.select(spends.c.release, sa.func.count()).group_by(spends.c.release)
    return {int(number or 0): int(count) for number, count in connection.execute(query)}
