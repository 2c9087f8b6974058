"""Lists that are asked for in a body: filters, errors, what was rated, and what was chosen last."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from discreet.client import FrontEnd
from discreet.database import own_ratings, people
from discreet.database.people import Role
from discreet.release.ranking import MOST_DIVERSITY, RANKINGS, RECENCY
from discreet.release.release import Release
from tests.databases import films
from tests.service.clubs import Club

PATH = "/api/me/recommendations"


@pytest.fixture
def release(small_club: Club, tmp_path: Path) -> Release:
    archive = small_club(None, "GET", "/api/releases/1/model").content
    zipfile.ZipFile(io.BytesIO(archive)).extractall(tmp_path)
    return Release.load(tmp_path / "release-1")


def mine(club: Club, who: str = "u1") -> tuple[list[str], list[float], list[int]]:
    """Somebody's items, ratings and times, as the database has them."""
    with club.database.reading() as connection:
        found = own_ratings.of(connection, who)
    return (
        [one.item for one in found],
        [one.rating for one in found],
        [one.changed_at for one in found],
    )


def asked(club: Club, who: str = "u1", **wishes: object) -> list[dict[str, Any]]:
    answer = club(who, "POST", PATH, json=wishes)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["recommendations"])


WISHES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"n": 30, "include_rated": True}, {"n": 30, "exclude_rated": False}),
    ({"among": {"genres": "Drama"}}, {"among": {"genres": "Drama"}}),
    ({"without": {"genres": ["Drama", "War"]}}, {"without": {"genres": ["Drama", "War"]}}),
    ({"among": {"year": {"from": 1995, "to": 2005.5}}}, {"among": {"year": (1995, 2005.5)}}),
    ({"without": {"year": {"to": 2005}}}, {"without": {"year": (None, 2005)}}),
    ({"among": ["100", "104", "129"]}, {"among": ["100", "104", "129"]}),
    ({"rank_by": "likely", "diversity": 1.0, "recency": 0}, {"rank_by": "likely", "diversity": 1.0,
                                                             "recency": 0.0}),
    ({"rank_by": "liked", "with_error": True, "n": 4}, {"rank_by": "liked", "with_error": True,
                                                       "n": 4}),
]  # fmt: skip


@pytest.mark.parametrize(("wishes", "words"), WISHES)
def test_a_list_is_that_of_the_release_by_the_same_wishes(
    small_club: Club, release: Release, wishes: dict[str, Any], words: dict[str, Any]
) -> None:
    """For a person, for a front end, and of what the client sends."""
    items, ratings, times = mine(small_club)
    expected = release.recommend(items, ratings, times=times, **words)
    found = asked(small_club, **wishes)
    assert [one["item"] for one in found] == expected["item"].to_list()
    scores = [one["score"] for one in found]
    assert scores == pytest.approx(expected["score"].to_list(), abs=1e-4)
    errors = [one["error"] for one in found]
    wanted = expected["error"].to_list() if "error" in expected.columns else [None] * len(found)
    assert errors == pytest.approx(wanted, abs=1e-4)
    with small_club.database.writing() as connection:
        shop = people.issue(connection, Role.SERVICE, name="shop")
    body = {"people": ["u1"], **wishes}
    [many] = small_club(shop, "POST", "/api/service/recommendations", json=body).json()["lists"]
    assert many["recommendations"] == found


def test_what_is_hidden_or_taken_down_is_in_no_list_whatever_is_asked(small_club: Club) -> None:
    service = small_club.app.state.service
    first, second = (one["item"] for one in asked(small_club, n=2))
    service.hide("u1", first)
    everything = {"n": 100, "include_rated": True}
    for wishes in ({}, {"among": [first, second]}, {"without": {"year": {"to": 1900}}}):
        listed = [one["item"] for one in asked(small_club, **everything, **wishes)]
        assert first not in listed
        assert second in listed
    listed = [one["item"] for one in asked(small_club, **everything, without=[second])]
    assert {first, second}.isdisjoint(listed)
    assert len(listed) == len(films()) - 2


def test_what_makes_no_sense_is_refused_and_shows_nothing_of_anybody(small_club: Club) -> None:
    for wishes, code in (
        ({"n": 0}, "invalid"), ({"n": 101}, "invalid"), ({"diversity": -1}, "invalid"),
        ({"recency": 1.5}, "invalid"), ({"rank_by": "stars"}, "invalid"),
        ({"among": "Comedy"}, "invalid"), ({"among": {"year": {"since": 1990}}}, "invalid"),
        ({"among": {"year": {"from": [1990]}}}, "invalid"), ({"colour": "red"}, "invalid"),
        ({"among": {"colour": "red"}}, "cannot_rank"), ({"without": {"year": "x"}}, "cannot_rank"),
        ({"among": {"genres": {"from": 1}}}, "cannot_rank"),
    ):  # fmt: skip
        answer = small_club("u1", "POST", PATH, json=wishes)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, code), wishes
    assert small_club(None, "POST", PATH, json={}).status_code == 401


def test_what_was_rated_last_counts_for_more(small_club: Club, release: Release) -> None:
    """An import is of one moment; what is rated after it is later, and changes the whole list."""
    items, ratings, times = mine(small_club)
    assert len(set(times)) == 1
    plain = [one["item"] for one in asked(small_club, n=20)]
    assert plain == [one["item"] for one in asked(small_club, n=20, recency=0)]
    small_club("u1", "PUT", "/api/me/ratings", json={"item": "129", "rating": 5})
    items, ratings, times = mine(small_club)
    assert (items[0], len(set(times))) == ("129", 2)
    for recency in (0.0, RECENCY, 1.0):
        expected = release.recommend(items, ratings, n=20, times=times, recency=recency)
        found = asked(small_club, n=20, recency=recency)
        assert [one["item"] for one in found] == expected["item"].to_list()
    by_get = small_club("u1", "GET", f"{PATH}?n=20").json()["recommendations"]
    assert by_get == asked(small_club, n=20)


def test_the_document_says_what_may_be_asked_and_what_a_score_is(small_club: Club) -> None:
    document = small_club.client.get("/openapi.json").json()
    shapes = document["components"]["schemas"]
    one = shapes["ListIn"]["properties"]
    sent = document["paths"]["/api/service/recommendations"]["post"]["requestBody"]
    many = sent["content"]["application/json"]["schema"]["properties"]
    for offered in (one, many):
        assert offered["rank_by"]["enum"] == list(RANKINGS)
        assert offered["diversity"]["maximum"] == MOST_DIVERSITY
        assert set(offered) - {"people"} == {
            "n", "rank_by", "diversity", "recency", "among", "without", "include_rated",
            "with_error",
        }  # fmt: skip
        assert "$ref" not in json.dumps(offered)  # which nobody could follow
    assert "of events" in shapes["RecommendationOut"]["properties"]["score"]["description"]


def test_the_client_writes_a_pair_as_a_range(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []
    answer = {"release": 1, "lists": [{"person": "ann", "recommendations": [
        {"rank": 1, "item": "7", "title": "Go", "score": 4.1, "error": 0.9}]}]}  # fmt: skip

    def ask(_: FrontEnd, path: str, body: dict[str, Any]) -> object:
        assert path == "/api/service/recommendations"
        sent.append(body)
        return answer

    monkeypatch.setattr(FrontEnd, "_ask", ask)
    shop = FrontEnd("http://127.0.0.1:9", "token")
    wanted = {"genres": ["Comedy", "Drama"], "year": (1990, None)}
    [pick] = shop.recommend(
        ["ann"], among=wanted, without=("8", "9"), recency=1, include_rated=True, with_error=True
    )["ann"]
    assert (pick.score, pick.error) == (4.1, 0.9)
    [body] = sent
    assert body["among"] == {"genres": ["Comedy", "Drama"], "year": {"from": 1990, "to": None}}
    assert body["without"] == ["8", "9"]
    assert (body["recency"], body["include_rated"], body["with_error"]) == (1.0, True, True)
    shop.recommend(["ann"])
    assert sent[1]["among"] is None
    assert "recency" not in sent[1]
