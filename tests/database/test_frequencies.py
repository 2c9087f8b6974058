"""What processes share of limits: nobody gets more for asking several at once."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from discreet.database import frequencies
from discreet.database.connection import Database
from discreet.database.declaration import establish
from tests.databases import database as database
from tests.databases import postgresql as postgresql

RATE, BURST = 1e-6, 10.0
_BLOCKED = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")


def waits(database: Database, connection: sa.Connection) -> bool:
    """Whether somebody waits for us to end."""
    if database.sqlite:
        return database.waiting_writers > 0
    return bool(connection.scalar(_BLOCKED))


def test_who_come_first_at_the_same_moment_share_one_bucket(database: Database) -> None:
    establish(database)

    def take(connection: sa.Connection) -> float:
        return frequencies.take(connection, "address:192.0.2.1", RATE, BURST, 6.0)

    def take_apart() -> float:
        with database.writing() as connection:
            return take(connection)

    with ThreadPoolExecutor(1) as other:
        with database.writing() as connection:
            first = take(connection)
            waiting = other.submit(take_apart)
            while not (waits(database, connection) or waiting.done()):
                time.sleep(0.01)
            early = waiting.done()
        second = waiting.result(60)
    assert not early
    assert first == 6.0
    assert round(second, 3) == 4.0


def test_time_that_has_filled_a_bucket_does_not_fill_it_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has waited for others, or whose clock is late, comes with a time that is over."""
    establish(database)
    found = []
    for at in (10_000, 5_000, 10_000):
        monkeypatch.setattr(frequencies, "now", lambda at=at: at)
        with database.writing() as connection:
            found.append(frequencies.take(connection, "person:ann", 1.0, BURST, BURST))
    assert found == [BURST, 0.0, 0.0]
