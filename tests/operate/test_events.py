"""Events in a database: declared once, imported by the rules, published within their budgets."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.data.event_rules import Quantity
from discreet.data.events import Events
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import ledger
from discreet.database.connection import Database
from discreet.database.declaration import Declaration, establish
from discreet.errors import DatabaseError, DataError, ParameterError
from discreet.operate.assess import assess
from discreet.operate.imports import add_items, add_ratings, offered
from discreet.operate.releases import preview, publish
from discreet.operate.snapshot import read_snapshot
from discreet.privacy.noise import Randomness
from discreet.release.release import Release
from discreet.schemes.tally import Tally

WANTED = {"events": True, "quantity": "log:5", "repeats": "any", "levels": (0.1, 1.0)}
ITEMS = Items.from_frame(pl.DataFrame({"item": [str(k) for k in range(100, 130)]}))


def some(small: Ratings) -> Events:
    texts = small.to_frame().with_columns(pl.col("item").cast(pl.String))
    return Events.from_frame(texts, {"weight": "rating"}, quantity=Quantity(5, "log"))


def test_events_are_published_as_a_fit_would_and_counted_once(
    database: Database, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Randomness, "add_laplace", lambda _s, sums, _scale, **_: sums)
    declared, events = establish(database, WANTED), some(small)
    assert declared.scale == (0, 1)
    add_items(database, ITEMS)
    nothing, _ = publish(database, declared)
    assert add_ratings(database, declared, events).rows == len(events)
    snapshot = read_snapshot(database, declared)
    assert snapshot.ratings.events
    assert snapshot.ratings.rules == declared.rules
    assert (np.sort(snapshot.ratings.rating) == np.sort(events.rating)).all()
    assert preview(database, declared)["spending"] == len(events)
    here = Tally(items=ITEMS).fit(events, offered(declared)).release
    for _ in range(2):
        entry, snapshot = publish(database, declared)
        with database.reading() as connection:
            release = Release.from_files(ledger.files(connection, entry.number))
        assert release.events
        assert release.certificate.theorem.name == "incremental-events"
        assert release.tallies is not None
        assert here.tallies is not None
        assert (release.tallies.in_favour == here.tallies.in_favour).all()
    assert assess(database, declared, snapshot, entry.number) is None
    assert nothing.number == 1


def test_what_a_database_holds_is_declared_once(sqlite: Database, small: Ratings) -> None:
    declared = establish(sqlite, WANTED)
    add_items(sqlite, ITEMS)
    with pytest.raises(DataError, match=r"declared for events \(.*: got ratings"):
        add_ratings(sqlite, declared, small)
    other = Events.from_frame(small.to_frame())
    with pytest.raises(DataError, match=r"got events \(every event counts 1"):
        add_ratings(sqlite, declared, other)
    with pytest.raises(DatabaseError, match="was declared with quantity = 'log:5'"):
        establish(sqlite, {"quantity": "log:6"})
    assert establish(sqlite).rules == declared.rules


@pytest.mark.parametrize(
    "wanted",
    [
        {"quantity": "log:5"},
        {"repeats": "sum"},
        {"events": True, "quantity": "log"},
        {"events": True, "repeats": "sum"},
        {"events": True, "repeats": "first"},
    ],
)
def test_rules_that_do_not_fit_are_refused(wanted: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        Declaration(**wanted)  # type: ignore[arg-type]


def test_the_database_of_an_older_version_holds_ratings(sqlite: Database, tmp_path: Path) -> None:
    del tmp_path
    import sqlalchemy as sa

    from discreet.database.schema import settings

    before = establish(sqlite)
    with sqlite.writing() as connection:
        stored = connection.scalar(
            sa.select(settings.c.value).where(settings.c.name == "declaration")
        )
        old = {k: v for k, v in stored.items() if k not in ("events", "quantity", "repeats")}
        change = sa.update(settings).where(settings.c.name == "declaration")
        connection.execute(change.values(value=old))
    assert establish(sqlite) == before
    assert not before.events
