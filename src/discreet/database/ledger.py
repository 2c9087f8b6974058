"""Releases and the ledger: a release and what it spends are recorded in one transaction.

So a release is visible if and only if all that it cost is written down, whatever crashes; and of
two publishers who began from the same release only one can record the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.arrays import Integers
from discreet.database.connection import Database, Lock, one_at_a_time
from discreet.database.schema import assessments, release_files, releases, settings
from discreet.database.spend_pages import DatabasePages
from discreet.errors import LedgerError
from discreet.privacy import spend_pages
from discreet.privacy.hashing import Hashes
from discreet.privacy.lifetime import Costs, Spends, Summary
from discreet.privacy.spend_pages import Page

SHARE = "pure share"
_SHARE = sa.select(settings.c.value).where(settings.c.name == SHARE)


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


def find_spends(connection: Connection, hashes: Hashes) -> Spends:
    """What these pairs have spent; a new one nothing."""
    return spend_pages.find(DatabasePages(connection), hashes)


def pure_share(connection: Connection) -> float | None:
    """The pure share of every epsilon, if the ledger is divided into purses."""
    found = connection.scalar(_SHARE)
    return None if found is None else float(found)


def spends_of(connection: Connection, hashes: Hashes) -> dict[tuple[int, int], Spend]:
    """What these pairs have spent, those alone that have; keyed by their hashes."""
    found = {}
    for _, page in spend_pages.look_up(DatabasePages(connection), hashes):
        rows = (part.tolist() for part in (*page.hashes, *page.numbers, *page.marks))
        for first, second, *spent, release, revision in zip(*rows, strict=True):
            found[first, second] = Spend._make((*spent, release or None, revision))
    return found


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


def add_spends(connection: Connection, charges: Charges, number: int | None) -> None:
    """Add up what pairs spend."""
    one_at_a_time(connection, Lock.SPENDS)
    pages, (hashes, costs, revisions) = DatabasePages(connection), charges
    spend_pages.add(pages, hashes, costs, number or 0, revisions)


def charge_all(connection: Connection, level: float, delta: float) -> None:
    """Take every pair that was ever counted to have spent all it could, nobody knows where.

    That is one whole level and delta: what came out of either purse is among it, not on top.
    """
    full = np.array([level, level, delta])[:, None]

    def charge(page: Page) -> None:
        page.numbers[:3] = np.maximum(page.numbers[:3], full)
        page.numbers[3:] = 0.0
        page.marks[0] = 0

    one_at_a_time(connection, Lock.SPENDS)
    spend_pages.change(DatabasePages(connection), charge)


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
    return spend_pages.summary(spend_pages.pages(DatabasePages(connection)))


class Overview(NamedTuple):
    """What all pairs have spent, in three ways: for the operator alone."""

    totals: Summary
    spread: list[tuple[float, float, int]]
    """How many pairs have spent more than one offered level, up to the next, undivided or pure:
    rows (above, up to, pairs)."""
    counted: dict[int, int]
    """How many pairs were counted last in each release."""


def overview(connection: Connection, levels: Sequence[float]) -> Overview:
    """All of it in one pass: a ledger may hold millions of pairs."""
    bounds, found = [0.0, *levels], Counter[int]()
    counts = np.zeros(len(bounds) + 1, dtype=np.int64)

    def seen() -> Iterator[Page]:
        nonlocal counts
        for page in spend_pages.pages(DatabasePages(connection)):
            spent = page.numbers[1] + page.numbers[3]
            # What was spent is a level rounded down to the grid: a hair above never happens.
            counts += np.bincount(np.searchsorted(bounds, spent), minlength=len(counts))
            numbers, times = np.unique(page.marks[0], return_counts=True)
            found.update(dict(zip(numbers.tolist(), times.tolist(), strict=True)))
            yield page

    totals = spend_pages.summary(seen())
    between = zip(pairwise(bounds), counts[1:-1], strict=True)
    return Overview(totals, [(*pair, int(n)) for pair, n in between], dict(found))
