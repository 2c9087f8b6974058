"""The operator's page goes through the ledger once for every release, however often it is seen."""

from typing import Any

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.database import ledger
from discreet.database.connection import Database
from discreet.operate.copies import charge_in_full
from discreet.operate.releases import publish
from discreet.privacy import spend_pages
from tests.service.clubs import OUR_PAGE, Club, open_club
from tests.service.test_access import signed_in


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for every time that all pages are gone through."""
    found: list[int] = []
    pages = spend_pages.pages

    def counted(store: Any) -> Any:
        found.append(1)
        return pages(store)

    monkeypatch.setattr(spend_pages, "pages", counted)
    return found


def test_the_ledger_is_gone_through_once_for_every_release(club: Club, passes: list[int]) -> None:
    declared = club.app.state.service.declared
    signed_in(club, "operator")

    def look() -> int:
        before = len(passes)
        for _ in range(2):
            assert club.client.get("/operator", headers=OUR_PAGE).status_code == 200
            bearer = {"Authorization": f"Bearer {club.tokens['operator']}"}
            assert club.client.get("/api/operator/ledger", headers=bearer).status_code == 200
        return len(passes) - before

    assert look() == 1
    assert look() == 0
    publish(club.database, declared)
    assert look() == 1


def test_a_release_shows_the_figures_of_the_one_before_until_it_has_its_own(
    small_club: Club,
) -> None:
    figures = {
        "released": 0.987, "chosen": 1.0, "no_noise": 0.9, "mean": 1.1,
        "uniform": [[0.1, 1.0], [1.0, 0.95]],
    }  # fmt: skip
    signed_in(small_club, "operator")

    def look() -> str:
        return small_club.client.get("/operator", headers=OUR_PAGE).text

    assert "Drawn a moment after a release" in look()
    ledger.assess(small_club.database, 1, figures)
    assert "Release 1 itself has 0.987" in look()
    assert "not computed yet" not in look()
    publish(small_club.database, small_club.app.state.service.declared)
    assert "Release 1 itself has 0.987" in look()
    assert "the figures of release 2 are not computed yet" in look()


def test_a_restore_and_other_levels_are_seen_at_once(sqlite: Database, small: Ratings) -> None:
    with open_club(sqlite, small) as club:
        overview = club.app.state.service.ledger_overview

        def seen() -> ledger.Overview:
            with sqlite.reading() as connection:
                found: ledger.Overview = overview.get(connection)
                assert found == ledger.overview(connection, [r[1] for r in found.spread])
            return found

        before = seen()
        assert sum(pairs for _, _, pairs in before.spread) == before.totals["pairs"] == len(small)
        assert before.counted == {1: len(small)}
        assert club(
            "operator", "POST", "/api/operator/declaration", json={"levels": [0.2, 1.0]}
        ).is_success
        assert [row[1] for row in seen().spread] == [0.2, 1.0]
        charge_in_full(sqlite, club.app.state.service.declared)
        after = seen()
        assert after.counted == {0: len(small)}
        assert after.totals["largest"] == pytest.approx(1.0)
        assert np.isclose(after.totals["total"], len(small))
