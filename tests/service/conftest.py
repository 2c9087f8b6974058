"""Databases of both kinds, and a club on each."""

from collections.abc import Iterator

import pytest

from discreet.data.ratings import Ratings
from discreet.database.connection import Database
from tests.databases import database as database
from tests.databases import postgresql as postgresql
from tests.databases import sqlite as sqlite
from tests.service.clubs import Club, open_club


@pytest.fixture
def club(database: Database, small: Ratings) -> Iterator[Club]:
    with open_club(database, small) as opened:
        yield opened


@pytest.fixture
def small_club(sqlite: Database, small: Ratings) -> Iterator[Club]:
    """On SQLite alone, for what does not depend on the database."""
    with open_club(sqlite, small) as opened:
        yield opened
