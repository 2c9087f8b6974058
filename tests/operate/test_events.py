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
from discreet.privacy.spec import PrivacySpec
from discreet.release.release import Release
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.tally import Tally
from tests.publishing.ledgers import no_noise

WANTED = {"events": True, "quantity": "log:5", "repeats": "any", "levels": (0.1, 1.0)}
ITEMS = Items.from_frame(pl.DataFrame({"item": [str(k) for k in range(100, 130)]}))


def some(small: Ratings) -> Events:
    texts = small.to_frame().with_columns(pl.col("item").cast(pl.String))
    return Events.from_frame(texts, {"weight": "rating"}, quantity=Quantity(5, "log"))


def test_events_are_published_as_a_fit_would_and_counted_once(
    database: Database, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_noise(monkeypatch)
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
    assert nothing.number == 1


def test_chorus_publishes_events_as_a_fit_would_and_within_their_budgets(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Directions of who chooses what, from the database's own ledger, and then nothing is left."""
    no_noise(monkeypatch)
    monkeypatch.setattr(Randomness, "add_gaussian", lambda _s, sums, _scale, **_: sums)
    declared = establish(database, {"events": True, "levels": (1.0,), "delta": 0.01})
    add_items(database, ITEMS)
    events = two_tastes()
    add_ratings(database, declared, events)
    entry, _ = publish(database, declared)
    with database.reading() as connection:
        release = Release.from_files(ledger.files(connection, entry.number))
        spent = ledger.summary(connection)
    scheme, spec = Chorus(items=ITEMS, delta=0.01), PrivacySpec.uniform(1.0)
    here = scheme.fit(events, spec, seed=0).release
    assert (entry.scheme, release.events) == ("Chorus", True)
    assert release.certificate.delta == 0.01
    assert (spent["pairs"], spent["largest"]) == (len(events), pytest.approx(1.0))
    assert release.choices is not None
    assert here.choices is not None
    assert here.tallies is not None
    assert release.tallies is not None
    assert (release.tallies.in_favour == here.tallies.in_favour).all()
    apart = release.recommend(["100", "101", "102"], n=8)["item"].cast(pl.Int64)
    assert (apart < 115).sum() > (apart >= 115).sum()  # whoever chose the first half stays there
    assert preview(database, declared)["spending"] == 0
    again, _ = publish(database, declared)
    with database.reading() as connection:
        later = Release.from_files(ledger.files(connection, again.number))
        assert ledger.summary(connection)["largest"] == spent["largest"]
    assert later.tallies is not None
    assert (later.tallies.in_favour == release.tallies.in_favour).all()


def two_tastes() -> Events:
    """Four hundred people, of whom each chose from one half of the items alone."""
    rng = np.random.default_rng(5)
    rows = [
        (f"u{person}", str(100 + 15 * (person % 2) + item))
        for person in range(400)
        for item in rng.choice(15, 8, replace=False)
    ]
    return Events.from_frame(pl.DataFrame(rows, ["user", "item"], orient="row"))


def test_what_privacy_costs_of_events_is_told_by_their_lists(sqlite: Database) -> None:
    declared = establish(sqlite, {"events": True, "levels": (1.0,)})
    add_items(sqlite, ITEMS)
    add_ratings(sqlite, declared, two_tastes())
    entry, snapshot = publish(sqlite, declared)
    found = assess(sqlite, declared, snapshot, entry.number)
    assert found is not None
    assert set(found) == {"hits"}  # nobody rated anything: there is no error
    hits = found["hits"]
    assert set(hits) == {"uniform", "chosen", "no_noise", "released"}
    assert [level for level, _ in hits["uniform"]] == [0.03, 0.1, 0.3, 1.0, 3.0]
    # Of some eight choices a tenth is hidden, and a third of the items is listed.
    assert 0 < hits["no_noise"] < 1.5
    with sqlite.reading() as connection:
        assert ledger.assessed(connection) == {entry.number: found}


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
