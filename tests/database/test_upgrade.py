"""A database of the first version, with data in it, is brought to this one's tables."""

from dataclasses import asdict

import numpy as np
import polars as pl
import sqlalchemy as sa
from alembic import command
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from discreet.database import answered, catalogue, ledger, own_ratings, people
from discreet.database.connection import Database, now
from discreet.database.declaration import Declaration, catalogue_version, establish
from discreet.database.hashes import hashes_of_one
from discreet.database.migrations import config
from discreet.database.people import Role, digest
from discreet.privacy.hashing import HASH_BITS, pair_hash
from discreet.service import disclosure

KEY = "7" * 64
TOKEN = "discreet-person-from-before"


def _as_it_was(declared: Declaration) -> dict[str, object]:
    """Without what is declared since."""
    later = ("threshold", "changes")
    return {name: value for name, value in asdict(declared).items() if name not in later}


def first_version(database: Database, declared: Declaration, upto: str = "0001") -> None:
    """The tables of the first version, or one since, with one of all that the first had."""
    counted, deleted = (pair_hash(KEY, "ann", item) for item in ("a", "b"))
    spent = {"level": 0.3, "spent": 0.3, "delta": 0.0, "release": 1, "revision": 7}
    rows: dict[str, list[dict[str, object]]] = {
        "settings": [
            {"name": "declaration", "value": _as_it_was(declared)},
            {"name": "ledger key", "value": KEY},
            {"name": "catalogue version", "value": 3},
        ],
        "people": [{"id": "ann", "created_at": 5}],
        "tokens": [
            {
                "digest": digest(TOKEN), "role": "person", "kind": "token", "person": "ann",
                "created_at": 5, "expires_at": now() + 10**9,
            }
        ],
        "items": [{"id": item, "features": {"title": item}} for item in ("a", "b", "c")],
        "ratings": [
            {
                "person": "ann", "item": "a", "rating": 4.0, "epsilon": 0.3, "changed_at": 6,
                "revision": 7,
            }
        ],
        "deleted_ratings": [dict(zip(("h1", "h2"), deleted, strict=True))],
        "releases": [
            {
                "number": 1, "digest": "d", "scheme": "Tally", "threshold": "1", "begun_at": 8,
                "published_at": 9,
            }
        ],
        "spends": [
            {**dict(zip(("h1", "h2"), pair, strict=True)), **spent} for pair in (counted, deleted)
        ],
    }  # fmt: skip
    steps = config()
    with database.writing() as connection:
        steps.attributes["connection"] = connection
        command.upgrade(steps, upto)
        tables = sa.MetaData()
        for name, values in rows.items():
            table = sa.Table(name, tables, autoload_with=connection)
            for column in ("value", "features"):
                if column in table.c:
                    table.c[column].type = sa.JSON()
            connection.execute(sa.insert(table), values)


def test_what_the_version_before_held_is_there_with_what_is_new(database: Database) -> None:
    """From the tables of the latest step but one, as they were, to today's."""
    steps = config()
    script = ScriptDirectory.from_config(steps)
    newest = script.get_revision("head")
    assert newest is not None
    first_version(database, Declaration(declared_at=1), upto=str(newest.down_revision))
    with database.reading() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
    assert found == newest.down_revision
    declared = establish(database)
    assert (declared.max_level, declared.changes) == (1.0, ())
    with database.writing() as connection:
        assert people.bearer(connection, TOKEN) is not None
        assert ledger.summary(connection)["pairs"] == 2
        assert len(ledger.spends_of(connection, hashes_of_one(connection, "ann", ["a", "b"]))) == 2
        assert catalogue.removed(connection) == frozenset()
        assert catalogue.take_down(connection, "c")
        assert answered.once(connection, "shop", "1", b"", lambda _: {"written": 1}) == {
            "written": 1
        }


def test_what_the_first_version_held_is_there_after_the_upgrade(database: Database) -> None:
    declared = Declaration(declared_at=1)
    first_version(database, declared)
    assert establish(database) == declared
    with database.reading() as connection:
        holder = people.bearer(connection, TOKEN)
        assert holder is not None
        assert (holder.role, holder.person, holder.kind) == (Role.PERSON, "ann", "token")
        assert catalogue_version(connection) == 3
        assert [entry.number for entry in ledger.entries(connection)] == [1]
        own = own_ratings.of(connection, "ann")
        assert [(r.item, r.rating, r.epsilon) for r in own] == [("a", 4.0, 0.3)]
        # Of what was deleted there is a hash alone: it is found all the same.
        catalogue = pl.Series("item", ["a", "b", "c"])
        found = disclosure.record(connection, declared, "ann", own, catalogue)
    assert {one.item: one.state for one in found.ratings} == {"a": "counted", "b": "deleted"}


def test_no_spend_is_forgotten_when_rows_become_pages(database: Database) -> None:
    """Against the rows themselves: some share the first half of their hashes, some no release."""
    first_version(database, Declaration(declared_at=1), upto="0005")
    rng, count = np.random.default_rng(6), 3000
    halves = np.concatenate([rng.integers(0, 1 << HASH_BITS, 2998), [0, (1 << HASH_BITS) - 1]])
    first = np.where(rng.random(count) < 0.1, np.roll(halves, 1), halves)
    second = rng.permutation(count)
    numbers = np.where(rng.random((5, count)) < 0.3, 0.0, rng.random((5, count)))
    release = [None if one else 1 for one in rng.random(count) < 0.2]
    revision = rng.integers(0, 1 << 48, count)
    columns = (first, second, *numbers, np.array(release, dtype=object), revision)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    names = ("h1", "h2", "level", "spent", "delta", "pure", "mu2", "release", "revision")
    with database.writing() as connection:
        table = sa.Table("spends", sa.MetaData(), autoload_with=connection)
        given = [dict(zip(names, row, strict=True)) for row in rows]
        connection.execute(sa.insert(table), given)
    establish(database)
    with database.reading() as connection:
        found = ledger.spends_of(connection, (first, second))
        assert ledger.summary(connection)["pairs"] == count + 2
        assert not sa.inspect(connection).has_table("spends")
    assert found == {(row[0], row[1]): row[2:] for row in rows}
