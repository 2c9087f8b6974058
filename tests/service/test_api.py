"""The API: ratings, recommendations, what leaves, export, erasure, publishing."""

import io
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from discreet.data.ratings import Ratings
from discreet.database.connection import Database
from discreet.release.ranking import MOST_DIVERSITY, RANKINGS
from discreet.release.release import Release
from discreet.service.search import folded
from tests.service.clubs import Club, open_club


def own_rows(ratings: Ratings, user: str) -> dict[str, float]:
    frame = ratings.to_frame()
    mine = frame.filter(frame["user"] == user)
    return {str(i): float(r) for i, r in zip(mine["item"], mine["rating"], strict=True)}


def own_level(ratings: Ratings, user: str, item: str) -> float | None:
    frame = ratings.to_frame()
    found = frame.filter((frame["user"] == user) & (frame["item"].cast(str) == item))
    return float(found["epsilon"][0]) if found.height else None


def test_ratings_are_put_changed_and_deleted(club: Club, small: Ratings) -> None:
    put = club("u1", "PUT", "/api/me/ratings", json={"item": "129", "rating": 4, "epsilon": 0.3})
    assert put.status_code == 200
    assert put.json()["disclosure"]["state"] == "waiting"
    assert put.json()["disclosure"]["next"] == {"epsilon": pytest.approx(0.3), "delta": 0}
    changed = club("u1", "PUT", "/api/me/ratings", json={"item": "129", "rating": 2})
    assert changed.json()["rating"]["epsilon"] == 0.3  # the level stays as it was chosen
    new = club("u1", "PUT", "/api/me/ratings", json={"item": "128", "rating": 2})
    assert new.json()["rating"]["epsilon"] in (0.1, own_level(small, "u1", "128"))
    read = club("u1", "POST", "/api/me/ratings/read", json={"item": "129"}).json()
    assert read["rating"]["rating"] == 2
    assert club("u1", "POST", "/api/me/ratings/delete", json={"item": "129"}).status_code == 204
    assert club("u1", "POST", "/api/me/ratings/delete", json={"item": "129"}).status_code == 404
    assert club("u1", "POST", "/api/me/ratings/read", json={"item": "129"}).status_code == 404


def test_recommendations_are_those_of_the_release_and_follow_at_once(
    club: Club, small: Ratings, tmp_path: Path
) -> None:
    archive = club(None, "GET", "/api/releases/1/model").content
    zipfile.ZipFile(io.BytesIO(archive)).extractall(tmp_path)
    release = Release.load(tmp_path / "release-1")
    mine = own_rows(small, "u1")
    for added in ({}, {"129": 1.0}):
        for item, rating in added.items():
            club("u1", "PUT", "/api/me/ratings", json={"item": item, "rating": rating})
            mine[item] = rating
        answer = club("u1", "GET", "/api/me/recommendations?n=5").json()
        expected = release.recommend(list(mine), list(mine.values()), n=5)
        assert [r["item"] for r in answer["recommendations"]] == expected["item"].to_list()
        scores = [r["score"] for r in answer["recommendations"]]
        assert scores == pytest.approx(expected["score"].to_list(), abs=1e-3)
        assert answer["release"] == 1
    for wishes in ({"rank_by": "liked"}, {"rank_by": "likely", "diversity": 2.0}):
        query = "&".join(f"{name}={value}" for name, value in wishes.items())
        answer = club("u1", "GET", f"/api/me/recommendations?n=8&{query}").json()
        expected = release.recommend(list(mine), list(mine.values()), n=8, **wishes)
        assert [r["item"] for r in answer["recommendations"]] == expected["item"].to_list()


def test_the_document_offers_the_rankings_there_are(small_club: Club) -> None:
    document = small_club.client.get("/openapi.json").json()
    asked = document["paths"]["/api/me/recommendations"]["get"]["parameters"]
    offered = {parameter["name"]: parameter["schema"] for parameter in asked}
    assert offered["rank_by"]["enum"] == list(RANKINGS)
    assert offered["rank_by"]["default"] == "best"
    assert offered["diversity"]["maximum"] == MOST_DIVERSITY
    # What one looks for, or holds, is in no URL: filters are not offered here.
    assert set(offered) == {"n", "rank_by", "diversity"}


def test_an_export_shows_exactly_ones_own_rows(club: Club, small: Ratings) -> None:
    for person in ("u1", "u2"):
        export = club(person, "GET", "/api/me/export").json()
        assert export["person"] == person
        assert {r["item"]: r["rating"] for r in export["ratings"]} == own_rows(small, person)
        assert {d["item"] for d in export["disclosures"]["ratings"]} == set(own_rows(small, person))


def test_what_leaves_is_told_through_a_ratings_life(club: Club) -> None:
    item = club("u1", "GET", "/api/me/ratings").json()[0]["item"]

    def state() -> dict[str, Any]:
        found = club("u1", "GET", "/api/me/disclosures").json()["ratings"]
        return next(d for d in found if d["item"] == item)  # type: ignore[no-any-return]

    assert state()["state"] == "counted"
    assert state()["release"] == 1
    assert state()["changed_since"] is False
    level = state()["epsilon"]
    club("u1", "PUT", "/api/me/ratings", json={"item": item, "rating": 2.5, "epsilon": level})
    assert (state()["state"], state()["changed_since"]) == ("counted", True)
    assert state()["next"]["epsilon"] == 0
    club("u1", "PUT", "/api/me/ratings", json={"item": item, "rating": 1, "epsilon": 1.0})
    assert state()["state"] == "raised"
    assert state()["next"]["epsilon"] == pytest.approx(1 - level, abs=1e-5)
    club("u1", "POST", "/api/me/ratings/delete", json={"item": item})
    assert (state()["state"], state()["epsilon"]) == ("deleted", None)


def test_erasing_oneself_ends_everything(club: Club, small: Ratings) -> None:
    assert club("u1", "DELETE", "/api/me").status_code == 204
    assert club("u1", "GET", "/api/me").status_code == 401
    assert club("u2", "GET", "/api/me").json()["ratings"] == len(own_rows(small, "u2"))
    totals = club("operator", "GET", "/api/operator/ledger").json()
    assert totals["pairs"] == len(small)  # what was spent stays spent


def test_a_new_token_ends_the_old_one(small_club: Club) -> None:
    new = small_club("u1", "POST", "/api/me/token").json()["token"]
    assert small_club("u1", "GET", "/api/me").status_code == 401
    assert small_club(new, "GET", "/api/me").json()["person"] == "u1"


def test_an_erased_persons_id_is_nobodys_afterwards(small_club: Club) -> None:
    small_club("u1", "DELETE", "/api/me")
    again = small_club("operator", "POST", "/api/operator/people", json={"person": "u1"})
    assert again.status_code == 422
    assert "was erased" in again.json()["error"]["message"]


def test_what_was_erased_is_overwritten_on_disk(sqlite: Database, small: Ratings) -> None:
    with open_club(sqlite, small) as club:
        person = club(None, "POST", "/api/people").json()
        club(person["token"], "PUT", "/api/me/ratings", json={"item": "100", "rating": 4})
        place = Path(sqlite.url.database or "")
        files = [place, place.with_name(place.name + "-wal")]
        assert any(person["person"].encode() in f.read_bytes() for f in files)
        club(person["token"], "DELETE", "/api/me")
        assert not any(person["person"].encode() in f.read_bytes() for f in files)


def test_joining_shows_a_token_once(club: Club) -> None:
    joined = club(None, "POST", "/api/people")
    assert joined.status_code == 201
    me = club(joined.json()["token"], "GET", "/api/me").json()
    assert me["person"] == joined.json()["person"]
    assert me["ratings"] == 0
    picks = club(joined.json()["token"], "GET", "/api/me/recommendations").json()
    assert len(picks["recommendations"]) == 10  # everybody's, as long as nothing was rated


def wait_for(club: Club, state: str) -> dict[str, object]:
    for _ in range(6000):
        found = club("operator", "GET", "/api/operator/publication").json()
        if found["state"] == state:
            return dict(found)
        assert found["state"] == "running", found
        time.sleep(0.05)
    raise AssertionError("it did not end")


def test_publishing_runs_beside_serving(club: Club) -> None:
    club("u1", "PUT", "/api/me/ratings", json={"item": "129", "rating": 4, "epsilon": 0.3})
    preview = club("operator", "GET", "/api/operator/preview").json()
    assert preview["spending"] == 1
    assert preview["total"] == pytest.approx(0.3)
    assert club("operator", "POST", "/api/operator/releases").status_code == 202
    assert club("operator", "POST", "/api/operator/releases").status_code == 409
    assert club("u1", "GET", "/api/me/recommendations").status_code == 200
    assert wait_for(club, "published")["number"] == 2
    assert club("u1", "GET", "/api/me/recommendations").json()["release"] == 2
    assert (
        club("u1", "POST", "/api/me/ratings/read", json={"item": "129"}).json()["disclosure"][
            "state"
        ]
        == "counted"
    )
    listed = club(None, "GET", "/api/releases").json()
    assert [release["number"] for release in listed] == [1, 2]
    certificate = club(None, "GET", "/api/releases/2/certificate").json()
    assert certificate["provenance"]["variant"] == "incremental"
    assert certificate["promise"]["status"] == "proven"
    assert certificate["digest"] == listed[1]["digest"]


def test_the_proof_that_the_certificate_names_can_be_read_here(small_club: Club) -> None:
    page = small_club(None, "GET", "/model", headers={"accept": "text/html"}).text
    assert 'href="/proof"' in page
    proof = small_club(None, "GET", "/proof").text
    assert ">Releases over time</h2>" in proof


def test_tables_are_imported(small_club: Club) -> None:
    club = small_club
    csv = {"content-type": "text/csv"}
    added = club("operator", "POST", "/api/operator/items", headers=csv,
                 content=b"item,title,genres\n900,Nine Hundred,Drama|War\n")  # fmt: skip
    assert added.json() == {"new": 1, "left_out": []}
    assert search(club, words="nine")["items"][0]["item"] == "900"
    table = b"user,item,rating,epsilon\nu1,900,5,0.3\nnewcomer,900,1,0.1\n"
    read = club("operator", "POST", "/api/operator/ratings", headers=csv, content=table)
    assert read.json() == {"rows": 2, "skipped": 0}
    assert (
        club("u1", "POST", "/api/me/ratings/read", json={"item": "900"}).json()["rating"]["epsilon"]
        == 0.3
    )
    token = club("operator", "POST", "/api/operator/people", json={"person": "newcomer"})
    mine = club(token.json()["token"], "GET", "/api/me/ratings").json()
    assert [(r["item"], r["rating"]) for r in mine] == [("900", 1.0)]
    bad = club("operator", "POST", "/api/operator/ratings", headers=csv,
               content=b"user,item,rating\nu1,900,99\n")  # fmt: skip
    assert bad.status_code == 422
    assert "within the scale" in bad.json()["error"]["message"]
    other = {"content-type": "image/png"}
    refused = club("operator", "POST", "/api/operator/items", headers=other, content=b"x")
    assert refused.status_code == 415


def search(club: Club, who: str | None = None, **wanted: object) -> Any:
    return club(who, "POST", "/api/catalogue/search", json=wanted).json()


def test_a_column_that_looks_derived_from_ratings_must_be_vouched_for(small_club: Club) -> None:
    path, csv = "/api/operator/items", {"content-type": "text/csv"}
    table = b"item,votes,critics_score\n900,5,7\n"
    added = small_club("operator", "POST", path, headers=csv, content=table)
    assert added.json() == {"new": 1, "left_out": ["votes", "critics_score"]}
    words = "?public_column=critics_score&public_column=votes"
    added = small_club("operator", "POST", path + words, headers=csv, content=table)
    assert added.json() == {"new": 0, "left_out": []}
    unknown = small_club("operator", "POST", f"{path}?public_column=x", headers=csv, content=table)
    assert unknown.status_code == 422
    assert "no column 'x' to vouch for" in unknown.json()["error"]["message"]


def test_search_finds_titles_in_any_case_and_is_the_same_for_all(small_club: Club) -> None:
    found = search(small_club, words="fILM  1", limit=3)
    assert found["total"] == 11  # with a word that begins with 1
    assert found["items"][0]["title"].startswith("Film 1")
    assert search(small_club, words="%")["total"] == 0
    assert folded("Amélie  ÉTÉ") == "amelie  ete"
    assert search(small_club, "u1", limit=100) == search(small_club, limit=100)


def test_health_and_metrics_tell_nothing_of_ratings(small_club: Club) -> None:
    club = small_club
    assert club(None, "GET", "/healthz").json() == {"status": "ok", "release": 1}
    before = club("monitor", "GET", "/metrics").text
    club("u1", "PUT", "/api/me/ratings", json={"item": "129", "rating": 4})
    after = club("monitor", "GET", "/metrics").text
    assert "discreet_release 1.0" in after
    names = {line.split("{")[0].split(" ")[0] for line in after.splitlines()}
    assert names == {line.split("{")[0].split(" ")[0] for line in before.splitlines()}
    assert "rating" not in after
    assert "129" not in {word for line in after.splitlines() for word in line.split("{")[0].split()}


def test_without_a_release_ratings_are_kept_and_recommendations_wait(
    sqlite: Database, small: Ratings
) -> None:
    from fastapi.testclient import TestClient

    from discreet.database import people
    from discreet.service.app import create_app
    from discreet.service.front_doors import FrontDoors
    from tests.databases import filled

    filled(sqlite, small)
    with sqlite.writing() as connection:
        token = people.issue(connection, people.Role.PERSON, "u1")
    bearer = {"Authorization": f"Bearer {token}"}
    with TestClient(create_app(sqlite, doors=FrontDoors(open_to_all=False))) as client:
        answer = client.get("/api/me/recommendations", headers=bearer)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_release")
        assert client.put(
            "/api/me/ratings", json={"item": "100", "rating": 3}, headers=bearer
        ).is_success
        assert client.post("/api/people").status_code == 403  # by invitation only


def test_the_declared_schedule_is_kept(sqlite: Database, small: Ratings) -> None:
    with open_club(sqlite, small, publish_every_hours=0.0001) as club:
        for _ in range(4000):
            if len(club(None, "GET", "/api/releases").json()) > 1:
                return
            time.sleep(0.05)
        raise AssertionError("nothing was published")


def test_a_level_chosen_once_holds_for_ratings_without_one(club: Club) -> None:
    service = club.app.state.service
    service.choose_level("u1", 1.0)
    assert (
        club("u1", "PUT", "/api/me/ratings", json={"item": "129", "rating": 4}).json()["rating"][
            "epsilon"
        ]
        == 1.0
    )
    service.choose_level("u1", 0.3)
    again = club("u1", "PUT", "/api/me/ratings", json={"item": "129", "rating": 5}).json()
    assert again["rating"]["epsilon"] == 1.0  # what was given keeps its level
    assert club("u1", "GET", "/api/me/export").json()["usual_level"] == 0.3
    assert club("u2", "GET", "/api/me/export").json()["usual_level"] is None


def test_what_does_not_interest_somebody_leaves_their_lists_alone(club: Club) -> None:
    service = club.app.state.service
    path = "/api/me/recommendations?n=30"

    def listed(who: str) -> list[str]:
        found = club(who, "GET", path).json()["recommendations"]
        return [one["item"] for one in found]

    mine, others = listed("u1"), listed("u2")
    service.hide("u1", mine[0])
    assert listed("u1") == mine[1:]
    assert listed("u2") == others
    assert club("u1", "GET", "/api/me/export").json()["not_interested"] == [mine[0]]
    service.hide("u1", mine[0], hidden=False)
    assert listed("u1") == mine
