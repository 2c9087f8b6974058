"""A new release is loaded beside those who ask: they see the old one until the new one is whole."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl
import pytest
from fastapi.testclient import TestClient

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import people
from discreet.database.connection import Database
from discreet.database.people import Role
from discreet.operate.imports import add_items
from discreet.operate.releases import publish
from discreet.service.app import create_app
from discreet.service.public_cache import Model, PublicCache
from tests.databases import filled
from tests.service.clubs import GENEROUS, Club

LONG = 30.0
"""Seconds that nobody waits unless the test fails."""


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Whoever loads a release says so, and waits until the block ends."""
    loading, go_on = threading.Event(), threading.Event()
    prepare = Model.prepare

    def slow(model: Model) -> None:
        loading.set()
        go_on.wait(LONG)
        prepare(model)

    monkeypatch.setattr(Model, "prepare", slow)
    try:
        yield loading
    finally:
        go_on.set()


def release_of(club: Club) -> int:
    answer = club("u1", "GET", "/api/me/recommendations")
    assert answer.status_code == 200
    return int(answer.json()["release"])


def test_nobody_waits_while_a_new_release_is_loaded(
    small_club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(monkeypatch) as loading:
        publish(small_club.database, small_club.app.state.service.declared)
        assert loading.wait(LONG)  # nobody asked for it
        assert release_of(small_club) == 1
        assert small_club(None, "GET", "/").status_code == 200
        metrics = small_club("monitor", "GET", "/metrics").text
        assert "discreet_release 1.0" in metrics
    small_club.app.state.service.public.look_now()
    assert release_of(small_club) == 2


def test_what_belongs_together_is_replaced_together(
    small_club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = small_club.app.state.service.public
    before = cache.now
    with held(monkeypatch) as loading:
        new = pl.DataFrame({"item": ["new"], "title": ["Wombat"]})
        add_items(small_club.database, Items.from_frame(new))
        publish(small_club.database, small_club.app.state.service.declared)
        assert loading.wait(LONG)
        # The catalogue may have been seen before the release was there, but never half of a look.
        seen = cache.now
        found = [card.id for card in seen.index.search("wombat")]
        assert found == ["new"] * ("new" in seen.catalogue.cards)
        assert seen.model is before.model
    cache.look_now()
    assert [card.id for card in cache.search("wombat")] == ["new"]
    assert "new" in cache.model.rows


def test_the_first_release_is_waited_for_in_a_thread(
    sqlite: Database, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.service.public_cache.RENEW_SECONDS", LONG)
    declared = filled(sqlite, small)
    with sqlite.writing() as connection:
        token = people.issue(connection, Role.PERSON, "u1")
    bearer = {"Authorization": f"Bearer {token}"}
    with TestClient(create_app(sqlite, limits=GENEROUS)) as client:
        answer = client.get("/api/me/recommendations", headers=bearer)
        assert answer.json()["error"]["code"] == "no_release"
        publish(sqlite, declared)
        answer = client.get("/api/me/recommendations", headers=bearer)
        assert answer.json()["release"] == 1


def test_a_failed_look_leaves_what_is_there(
    small_club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise OSError("no such release")

    with monkeypatch.context() as patched:
        patched.setattr(Model, "prepare", broken)
        publish(small_club.database, small_club.app.state.service.declared)
        small_club.app.state.service.public.look_now()
        assert release_of(small_club) == 1
    small_club.app.state.service.public.look_now()
    assert release_of(small_club) == 2


def test_a_cache_that_has_ended_opens_nothing_again(sqlite: Database, small: Ratings) -> None:
    filled(sqlite, small)
    cache = PublicCache(sqlite)
    cache.begin()
    cache.end()
    sqlite.close()
    cache.look_now()
    assert sqlite._engine is None
    assert len(cache.catalogue.cards) == 30
