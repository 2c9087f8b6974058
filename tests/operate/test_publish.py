"""Publishing from the database: once, within a lifetime's budget, visible or without a trace."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import sqlalchemy as sa

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import ledger, own_ratings, people
from discreet.database.connection import Database
from discreet.database.declaration import establish
from discreet.database.schema import metadata
from discreet.errors import DataError, LedgerError, ParameterError, SpecError
from discreet.operate.assess import assess
from discreet.operate.imports import add_items, add_ratings
from discreet.operate.releases import preview, publish
from discreet.privacy.provenance import Provenance
from discreet.privacy.spec import PrivacySpec
from discreet.publishing.file_ledger import FileLedger
from discreet.publishing.publish import publish as publish_to_folder
from discreet.release.format import ITEMS, MODEL
from discreet.release.release import Release
from discreet.schemes.tally import Tally
from tests.databases import filled, films


def released(database: Database) -> Release:
    with database.reading() as connection:
        return Release.from_files(ledger.files(connection, ledger.latest(connection)))


def spent(database: Database) -> dict[str, float]:
    with database.reading() as connection:
        return ledger.summary(connection)


def made(release: Release) -> Provenance:
    """How a release was made, but for its ledger's random name."""
    provenance = release.certificate.provenance
    assert provenance.history is not None
    return replace(provenance, history=replace(provenance.history, generation=""))


def test_it_equals_publishing_with_a_ledger_file(
    database: Database, small: Ratings, tmp_path: Path
) -> None:
    declared = filled(database, small.subset(small.user < 25))
    table = small.to_frame().with_columns(pl.col("item").cast(pl.String)).drop("timestamp")
    twin = Ratings.from_frame(table)
    book, spec = (
        FileLedger(tmp_path / "ledger.db"),
        PrivacySpec.column(default=declared.usual_level),
    )
    for people_so_far in (25, 40):
        add_ratings(database, declared, small.subset(small.user < people_so_far))
        publish(database, declared, seed=3)
        publish_to_folder(
            Tally(items=films()), twin.subset(twin.user < people_so_far), spec,
            out=tmp_path / "release", ledger=book, seed=3,
        )  # fmt: skip
        here, there = released(database), Release.load(tmp_path / "release")
        assert made(here) == made(there)
        for file in (ITEMS, MODEL):
            assert here.files()[file] == there.files()[file]
    for name, value in book.summary().items():
        assert spent(database)[name] == pytest.approx(value, rel=1e-12)


def test_a_rating_is_counted_once_and_never_beyond_its_level(database: Database) -> None:
    declared = establish(database)
    add_items(database, films())
    with database.writing() as connection:
        people.new_person(connection, "ann")
        own_ratings.put(connection, "ann", "100", 5.0, 0.3)
    assert preview(database, declared)["total"] == pytest.approx(0.3)
    publish(database, declared)
    assert spent(database)["total"] == pytest.approx(0.3, abs=1e-5)
    for rating, level, total in (
        (1.0, 0.3, 0.3),
        (1.0, 0.1, 0.3),
        (1.0, 1.0, 1.0),
        (2.0, 1.0, 1.0),
    ):
        with database.writing() as connection:
            own_ratings.remove(connection, "ann", "100")
            own_ratings.put(connection, "ann", "100", rating, level)
        publish(database, declared)
        assert spent(database)["total"] == pytest.approx(total, abs=1e-5)
        assert spent(database)["largest"] <= declared.max_level
    assert preview(database, declared)["spending"] == 0


def test_erasing_gives_no_budget_back_and_leaves_only_hashes(database: Database) -> None:
    declared = establish(database)
    add_items(database, films())
    with database.writing() as connection:
        people.new_person(connection, "ann")
        own_ratings.put(connection, "ann", "100", 5.0, 0.3)
    publish(database, declared)
    with database.writing() as connection:
        people.erase(connection, "ann")
    publish(database, declared)
    assert spent(database)["pairs"] == 1
    assert spent(database)["total"] == pytest.approx(0.3, abs=1e-5)
    with database.reading() as connection:
        for table in metadata.sorted_tables:
            assert "'ann'" not in str(connection.execute(sa.select(table)).all())


def test_a_publication_without_ratings_is_a_publication(database: Database) -> None:
    declared = establish(database)
    with pytest.raises(DataError, match="catalogue is empty"):
        publish(database, declared)
    add_items(database, films())
    for number in (1, 2):
        entry, snapshot = publish(database, declared)
        assert entry.number == number
        assert assess(database, declared, snapshot, number) is None
    assert spent(database)["pairs"] == 0


def test_the_catalogue_may_grow(database: Database, small: Ratings) -> None:
    declared = filled(database, small)
    publish(database, declared)
    new = Items.from_frame(pl.DataFrame({"item": ["900"], "title": ["A new film"]}))
    assert add_items(database, new) == 1
    assert add_items(database, new) == 0
    with database.writing() as connection:
        own_ratings.put(connection, "u1", "900", 5.0, 1.0)
    before = spent(database)["pairs"]
    publish(database, declared)
    assert len(released(database).items) == 31
    assert spent(database)["pairs"] == before + 1


def test_of_two_publishers_one_wins(database: Database, small: Ratings) -> None:
    declared = filled(database, small)
    import discreet.operate.releases as module

    read, faster = module.read_snapshot, []

    def overtaken(*words: object) -> module.Snapshot:
        snapshot = read(*words)  # type: ignore[arg-type]
        if not faster:
            faster.append("somebody")
            assert publish(database, declared)[0].number == 1
        return snapshot

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "read_snapshot", overtaken)
        with pytest.raises(LedgerError, match="another publisher was first"):
            publish(database, declared)
    levels = PrivacySpec.column().levels(small)
    assert spent(database)["total"] == pytest.approx(levels.sum(), abs=1e-3)  # paid once


def test_chorus_is_published_where_a_delta_was_declared(database: Database, small: Ratings) -> None:
    declared = filled(database, small, delta=1e-6, levels=(1.0, 4.0))
    publish(database, declared)
    assert released(database).certificate.scheme == "Chorus"
    assert released(database).certificate.delta == 1e-6


def test_opendp_draws_what_is_pure_and_nothing_else(database: Database, small: Ratings) -> None:
    declared = filled(database, small)
    publish(database, declared, noise="opendp")
    assert "exact (OpenDP)" in released(database).certificate.sampler
    publish(database, declared)
    assert "exact (Discreet)" in released(database).certificate.sampler
    with pytest.raises(ParameterError, match="needs rounded Gaussian noise"):
        publish(database, replace(declared, delta=1e-6), noise="opendp")


def test_the_assessment_is_kept_for_the_operator(database: Database, small: Ratings) -> None:
    declared = filled(database, small)
    entry, snapshot = publish(database, declared)
    found = assess(database, declared, snapshot, entry.number)
    assert found is not None
    with database.reading() as connection:
        assert ledger.assessed(connection) == {1: found}
    assert all(0 < error < 4 for _, error in found["uniform"])


def test_the_server_is_told_to_be_durable(database: Database) -> None:
    with database.reading() as connection:
        if database.sqlite:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        else:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


def test_levels_that_are_not_offered_never_reach_a_publication(sqlite: Database) -> None:
    declared = establish(sqlite)
    add_items(sqlite, films())
    with sqlite.writing() as connection:
        people.new_person(connection, "ann")
        own_ratings.put(connection, "ann", "100", 5.0, 3.0)  # the service would have refused it
    with pytest.raises(SpecError):
        publish(sqlite, declared)
    with sqlite.reading() as connection:
        assert ledger.latest(connection) == 0
