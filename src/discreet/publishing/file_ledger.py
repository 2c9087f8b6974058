"""The ledger in a file: what each pair of user and item has spent, over all releases; secret.

A SQLite file that only its owner can read; `file_pages` says how spends lie in it. A pair is named
by a keyed hash alone, so erasing a person's ratings elsewhere leaves nothing here that names them.
A spend is written durably before its release becomes visible; a crash in between loses budget,
never privacy, and the next publication first puts in place what was recorded and staged.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from discreet.data.ratings import Ratings
from discreet.errors import LedgerError
from discreet.privacy import spend_pages
from discreet.privacy.beside import Beside
from discreet.privacy.certificate import Certificate
from discreet.privacy.generation import Generation, unrecorded
from discreet.privacy.hashing import Hashes
from discreet.privacy.history import History
from discreet.privacy.keeper import Keeper
from discreet.privacy.lifetime import Costs, Spends, Summary
from discreet.publishing.file_pages import SCHEMA, FilePages
from discreet.publishing.ledger import Named, hash_records

FORMAT, OLDER = "4", ("3", "2")
"""Older ones have a row for every pair and no purses, or no generation either; they become what is
written now with their next publication."""
_SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
{SCHEMA}
CREATE TABLE releases (
    number INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, scheme TEXT NOT NULL,
    threshold TEXT NOT NULL, recorded TEXT NOT NULL, state TEXT NOT NULL,
    staged TEXT NOT NULL, target TEXT NOT NULL
);
"""
RECORDED, VISIBLE, LOST = "recorded", "visible", "lost"


class LedgerRelease(NamedTuple):
    """One publication as the ledger has it.

    `state` is "recorded" (spent, not yet in place), "visible", or "lost" (spent, but never shown).
    """

    number: int
    digest: str
    scheme: str
    threshold: str
    recorded: str
    state: str
    staged: Path
    target: Path


class _Keeper(Keeper[sqlite3.Connection]):
    """Keeps the generation among a file's words about itself."""

    def __init__(self, path: Path) -> None:
        self.path, self.beside = path, Beside(path)

    def command(self, declared: str) -> str:
        """The command, with the table that a restore needs."""
        table = " RATINGS" if declared == "restored" else ""
        return f"discreet ledger {declared} {self.path}{table}"

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction, durable when it ends; one at a time."""
        with closing(connect(self.path)) as database, database:
            database.execute("BEGIN IMMEDIATE")
            yield database

    def load(self, at: sqlite3.Connection) -> Generation | None:
        """The generation; None in a ledger of the older format."""
        found = at.execute("SELECT value FROM meta WHERE name = 'generation'").fetchone()
        return None if found is None else Generation.of(json.loads(found[0]))

    def save(self, at: sqlite3.Connection, generation: Generation) -> None:
        """Store it; only versions that know of purses can read the ledger from now on."""
        FilePages(at).replace_rows()
        rows = [("generation", json.dumps(generation.to_dict())), ("format", FORMAT)]
        at.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    def releases(self, at: sqlite3.Connection) -> dict[int, str]:
        """The digests of all releases by their numbers."""
        return dict(at.execute("SELECT number, digest FROM releases").fetchall())


class FileLedger:
    """A file that keeps every rating within its epsilon over all releases that share it.

    `FileLedger(path)` opens it, and creates it if there is none. Keep it as secret as the ratings,
    and never two copies of it: budgets that one has spent the other would spend again.
    """

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path).expanduser().resolve()  # one lock, however the path is spelled
        self._keeper = _Keeper(self.path)
        self._named: tuple[Ratings | None, Hashes | None] = (None, None)
        if not self.path.exists():
            if not create:
                raise LedgerError(f"no ledger {self.path}: check the path")
            self._create()
        try:
            with closing(connect(self.path)) as database:
                rows = dict(database.execute("SELECT name, value FROM meta").fetchall())
            self._key, found = rows["key"], rows["format"]
        except (sqlite3.DatabaseError, KeyError) as error:
            raise LedgerError(f"{self.path} is not a ledger: {error}") from None
        if found not in (FORMAT, *OLDER):
            raise LedgerError(f"{self.path} has format {found!r}, this version reads {FORMAT}")

    def __repr__(self) -> str:
        return f"FileLedger({str(self.path)!r})"

    def _create(self) -> None:
        """A new ledger, whole or absent, that only its owner can read."""
        fresh = self.path.with_name(f".{self.path.name}-{secrets.token_hex(4)}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerError(f"cannot create the ledger {self.path}: {error}") from None
        try:
            os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(fresh)) as database:
                database.executescript(_SCHEMA)
                rows = [("format", FORMAT), ("key", secrets.token_hex(32))]
                database.executemany("INSERT INTO meta VALUES (?, ?)", rows)
                settle = self._keeper.begin(database)
                database.commit()
            os.link(fresh, self.path)  # fails, unlike a rename, if another process was first
            settle()
        except FileExistsError:
            pass
        except LedgerError:
            if not self.path.exists():  # what lies beside it is not of one that was just made
                raise
        except (OSError, sqlite3.DatabaseError) as error:
            raise LedgerError(f"cannot create the ledger {self.path}: {error}") from None
        finally:
            with suppress(OSError):
                fresh.unlink()

    @contextmanager
    def publishing(self, *, wait: float = 30.0) -> Iterator[None]:
        """One publisher at a time; the lock goes with its process, however that ends."""
        lock = self.path.with_name(self.path.name + ".lock")
        with closing(sqlite3.connect(lock, timeout=wait, isolation_level=None)) as holder:
            lock.chmod(0o600)
            try:
                holder.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:
                raise LedgerError(
                    f"another process is publishing with {self.path}: wait until it has ended"
                ) from None
            yield

    def spends(self, ratings: Ratings) -> Spends:
        """What the pair of each record has spent so far."""
        with closing(connect(self.path)) as database:
            return spend_pages.find(FilePages(database), self._hashes(ratings))

    def _hashes(self, ratings: Ratings) -> Hashes:
        """The pairs' names; of the table that was asked for last they are known."""
        last, hashes = self._named
        if last is not ratings or hashes is None:
            hashes = hash_records(self._key, ratings)
            self._named = (ratings, hashes)
        return hashes

    @property
    def share(self) -> float | None:
        """The pure share of every epsilon, if the ledger is divided into purses."""
        with closing(connect(self.path)) as database:
            found = database.execute("SELECT value FROM meta WHERE name = 'share'").fetchone()
        return None if found is None else float(found[0])

    def record(
        self, ratings: Ratings, costs: Costs, release: LedgerRelease, share: float | None = None
    ) -> None:
        """Write, in one durable step, what each record spends and which release it is for.

        With a pure share the ledger is divided by it, from now on and for ever.
        """
        hashes = self._hashes(ratings)
        announced = self._keeper.publication(self.history(release.number), release.digest)
        with announced as commit, self._keeper.writing() as database:
            # The lock should have seen to it, but budgets were computed from this very state.
            if self._next_number(database) != release.number:
                raise LedgerError(
                    f"another process has published with {self.path} in the meantime: nothing was "
                    "recorded and nothing shown; publish again"
                )
            spend_pages.add(FilePages(database), hashes, costs)
            if share is not None:
                row = ("share", repr(share))
                database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", row)
            database.execute(
                "INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    release.number,
                    release.digest,
                    release.scheme,
                    release.threshold,
                    release.recorded,
                    release.state,
                    str(release.staged),
                    str(release.target),
                ),
            )
            commit(database)

    def settle(self, number: int, state: str) -> None:
        """Note what became of a recorded release."""
        with closing(connect(self.path)) as database:
            database.execute("UPDATE releases SET state = ? WHERE number = ?", (state, number))
            database.commit()

    def next_release(self, certificate: Certificate, staged: Path, target: Path) -> LedgerRelease:
        """The entry of a release that is about to be recorded."""
        number, named = self.next_number(), Named.by(certificate)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return LedgerRelease(number, *named, now, RECORDED, staged, target)

    def next_number(self) -> int:
        """The number of the next release; none is given twice, also after a restored copy."""
        with closing(connect(self.path)) as database:
            return self._next_number(database)

    def _next_number(self, database: sqlite3.Connection) -> int:
        inside, latest = self._keeper.load(database), max(self._keeper.known(database))
        return (inside or Generation()).next_number(latest)

    def history(self, number: int) -> History:
        """What happened to this ledger up to release `number`; it has no declared schedule."""
        with closing(connect(self.path)) as database:
            inside, latest = self._keeper.load(database), max(self._keeper.known(database))
        return (inside or unrecorded(latest)).history(number)

    def check(self) -> None:
        """An error if this is a copy, or older than what lies beside it; call it under the lock."""
        self._keeper.check()

    def restored(self, ratings: Ratings, after: int = 0) -> int:
        """Declare that this is an older copy: no rating that it or the table knows counts again.

        What was counted since the copy was made is unknown, so all are charged without limit.
        Later releases get numbers above `after`. Returns how many pairs were charged.
        """
        hashes = hash_records(self._key, ratings)

        def charge(database: sqlite3.Connection) -> None:
            FilePages(database).charge_in_full(hashes)

        with self.publishing():
            self._keeper.restored(charge, after)
        return self.charged_in_full()

    def moved(self) -> bool:
        """Declare that this is the only one that goes on; False if there is nothing to declare."""
        with self.publishing():
            return self._keeper.moved()

    def releases(self) -> list[LedgerRelease]:
        """All publications, oldest first."""
        with closing(connect(self.path)) as database:
            rows = database.execute("SELECT * FROM releases ORDER BY number").fetchall()
        return [LedgerRelease._make((*row[:6], Path(row[6]), Path(row[7]))) for row in rows]

    def summary(self) -> Summary:
        """What pairs have spent, but those charged in full, without limit: `charged_in_full`."""
        with closing(connect(self.path)) as database:
            return spend_pages.summary(spend_pages.pages(FilePages(database)))

    def charged_in_full(self) -> int:
        """For the operator alone: how many pairs will never be counted again, after a restore."""
        with closing(connect(self.path)) as database:
            return sum(int(p.endless.sum()) for p in spend_pages.pages(FilePages(database)))


def connect(path: Path) -> sqlite3.Connection:
    """Open a ledger's file, so that what is committed is durable when COMMIT returns."""
    database = sqlite3.connect(path, timeout=30)
    try:
        database.execute("PRAGMA synchronous = EXTRA")
    except sqlite3.Error:  # such as a file that is no database
        database.close()
        raise
    return database
