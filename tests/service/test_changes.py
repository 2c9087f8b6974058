"""What an operator can change later, and what that means for the promise."""

import json
from pathlib import Path

import pytest

from discreet.cli import app
from discreet.data.ratings import Ratings
from discreet.database import acts, catalogue, ledger
from discreet.database.connection import Database
from discreet.database.declaration import Declaration, current, establish
from discreet.database.redeclaring import declare_anew
from discreet.errors import DatabaseError, ParameterError, SpecError
from discreet.operate.imports import add_ratings
from discreet.operate.releases import publish
from discreet.privacy.theorems import Status
from discreet.release.release import Release
from tests.cli.running import refused
from tests.databases import filled
from tests.service.clubs import OUR_PAGE, Club, open_club
from tests.service.test_access import signed_in


def latest(database: Database) -> Release:
    with database.reading() as connection:
        return Release.from_files(ledger.files(connection, ledger.latest(connection)))


def rated(club: Club, who: str) -> list[str]:
    return [one["item"] for one in club(who, "GET", "/api/me/ratings").json()]


def taken_down(club: Club, item: str, *, back: bool = False) -> dict[str, object]:
    sent = {"item": item, "back": back}
    answer = club("operator", "POST", "/api/operator/takedown", json=sent)
    assert answer.status_code == 200
    return dict(answer.json())


def test_what_is_taken_down_is_nowhere_any_more(club: Club) -> None:
    mine = rated(club, "u1")[0]
    first = club("u2", "GET", "/api/me/recommendations?n=30").json()["recommendations"][0]["item"]
    for item in (mine, first):
        said = taken_down(club, item)
        assert said["changed"]
        assert "cannot be recalled" in str(said["means"])
    assert not taken_down(club, mine)["changed"]
    listed = club("u2", "GET", "/api/me/recommendations?n=30").json()["recommendations"]
    assert first not in [pick["item"] for pick in listed]
    found = club(None, "POST", "/api/catalogue/search", json={"limit": 100}).json()
    assert found["total"] == 28
    refused = club("u2", "PUT", "/api/me/ratings", json={"item": mine, "rating": 5})
    assert refused.status_code == 404
    signed_in(club, "u1")
    for page in ("/home", "/browse", "/mine", "/privacy", "/"):
        shown = club.client.get(page, headers=OUR_PAGE)
        assert f"Film {int(mine) - 100}<" not in shown.text
    unknown = club("operator", "POST", "/api/operator/takedown", json={"item": "nothing"})
    assert unknown.status_code == 404
    assert [act["act"] for act in club("operator", "GET", "/api/operator/acts").json()] == [
        "take an item down", "take an item down",
    ]  # fmt: skip
    assert taken_down(club, mine, back=True)["changed"]
    assert club("u2", "PUT", "/api/me/ratings", json={"item": mine, "rating": 5}).is_success


def test_its_ratings_stay_with_their_owners_who_can_delete_them(small_club: Club) -> None:
    mine = rated(small_club, "u1")[0]
    taken_down(small_club, mine)
    export = small_club("u1", "GET", "/api/me/export").json()
    assert mine in [one["item"] for one in export["ratings"]]
    [found] = [one for one in export["disclosures"]["ratings"] if one["item"] == mine]
    assert (found["state"], found["entered"]) == ("taken_down", "yes")
    assert found["next"]["epsilon"] == 0
    assert found["most"] == found["spent"]
    deleted = small_club("u1", "POST", "/api/me/ratings/delete", json={"item": mine})
    assert deleted.status_code == 204


def test_no_later_release_counts_or_names_what_was_taken_down(
    database: Database, small: Ratings
) -> None:
    declared = filled(database, small)
    item = "107"
    with database.writing() as connection:
        catalogue.take_down(connection, item)
    publish(database, declared)
    release = latest(database)
    with database.reading() as connection:
        assert catalogue.removed(connection) == {item}
        counted = ledger.summary(connection)["pairs"]
    table = small.to_frame()
    assert counted == table.filter(table["item"].cast(str) != item).height
    row = release.items.frame.filter(release.items.frame["item"] == item)
    assert row["title"].to_list() == [None]
    certificate = release.certificate
    assert "1 items of the catalogue were taken down" in " ".join(certificate.assumptions)
    assert certificate.status == Status.PROVEN
    # An import of what was taken down is passed over.
    assert add_ratings(database, declared, small, replace=True).skipped == len(small) - counted
    with database.writing() as connection:
        catalogue.take_down(connection, item, back=True)
    publish(database, declared)
    with database.reading() as connection:
        assert ledger.summary(connection)["pairs"] == len(small)
    # That it was down, and came back, still is a change that nobody's rating may have decided.
    assert "and so was every change to it" in " ".join(latest(database).certificate.assumptions)


def test_levels_and_schedule_are_declared_anew_and_certificates_say_so(
    database: Database, small: Ratings
) -> None:
    with open_club(database, small, publish_every_hours=24) as club:
        before = latest(database).certificate
        assert before.status == Status.PROVEN
        sent = {"levels": [0.2, 0.5], "publish_every_hours": 12, "things": "books"}
        answer = club("operator", "POST", "/api/operator/declaration", json=sent).json()
        assert [level["epsilon"] for level in answer["levels"]] == [0.2, 0.5]
        assert (answer["default_epsilon"], answer["max_epsilon"]) == (0.2, 0.5)
        assert len(answer["changes"]) == 3
        assert "books" in club(None, "GET", "/", headers=OUR_PAGE).text
        over = club("u1", "PUT", "/api/me/ratings", json={"item": "100", "rating": 4, "epsilon": 1})
        assert over.json()["error"]["code"] == "level_not_offered"
        new = {"item": "100", "rating": 4, "epsilon": 0.5}
        assert club("u1", "PUT", "/api/me/ratings", json=new).is_success
        for wrong in ({"levels": [2.0]}, {"levels": [0.0]}, {"default_epsilon": 0.9}):
            refused = club("operator", "POST", "/api/operator/declaration", json=wrong)
            assert refused.status_code == 422
        with database.reading() as connection:
            declared = current(connection)
        assert declared.max_level == 1.0  # t is what it was
        publish(database, declared)
        certificate = latest(database).certificate
        assert certificate.threshold == 1.0
        assert certificate.status == Status.CONDITIONAL
        said = " ".join(certificate.assumptions)
        assert "levels on offer 0.2, 0.5 instead of 0.1, 0.3, 1" in said
        assert "hours between releases 12 instead of 24" in said
        assert "books" not in said  # a word of the page promises nothing
        noted = [act["act"] for act in club("operator", "GET", "/api/operator/acts").json()]
        assert noted == ["declare anew"] * 4


def test_the_new_schedule_counts_from_its_declaration(sqlite: Database) -> None:
    hour = 3600_000
    establish(sqlite, {"publish_every_hours": 24.0})
    after = declare_anew(sqlite, {"publish_every_hours": 2.0}, "ann")
    changed = after.changes[0].at
    assert after.due_after(changed - 10 * hour) == changed + 2 * hour
    assert after.due_after(changed + hour) == changed + 3 * hour
    assert after.schedules == [(0, 24.0), (changed, 2.0)]
    assert declare_anew(sqlite, {"publish_every_hours": 2.0}, "ann") == after  # no change


def test_a_certificate_names_another_number_of_publications(
    sqlite: Database, small: Ratings
) -> None:
    """How often ratings are heard may not depend on them: whoever changes it gives their word."""
    declared = filled(sqlite, small, delta=1e-3, publications=4)
    publish(sqlite, declared)
    assert latest(sqlite).certificate.status == Status.PROVEN
    with pytest.raises(DatabaseError, match="discreet operate declare"):
        establish(sqlite, {"publications": 2})
    words = ["operate", "declare", "--publications", "2", "--database", str(sqlite.url.database)]
    app(words, standalone_mode=False)
    declared = establish(sqlite)
    assert declared.publications == 2
    publish(sqlite, declared)
    certificate = latest(sqlite).certificate
    assert certificate.status == Status.CONDITIONAL
    assert "releases that a rating takes part in 2 instead of 4" in " ".join(
        certificate.assumptions
    )


def test_what_cannot_be_changed_is_refused(sqlite: Database) -> None:
    establish(sqlite)
    for wanted in ({"scale": (1.0, 10.0)}, {"delta": 1e-6}, {"events": True}, {"threshold": 2.0}):
        with pytest.raises(ParameterError):
            declare_anew(sqlite, wanted, "ann")
        with pytest.raises(DatabaseError, match="cannot be changed"):
            establish(sqlite, wanted)
    with pytest.raises(SpecError, match="another database"):
        declare_anew(sqlite, {"levels": (0.1, 2.0)}, "ann")
    with pytest.raises(DatabaseError, match="discreet operate declare"):
        establish(sqlite, {"levels": (0.1, 0.2)})
    assert establish(sqlite) == establish(sqlite, {"levels": (1.0, 0.3, 0.1)})


def test_both_are_commands_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = str(tmp_path / "x.db")
    database = Database(url)
    filled(database, _one_rating())
    for words in (
        ["declare", "--levels", "0.1,0.5", "--things", "books"],
        ["takedown", "107"],
        ["takedown", "107", "--back"],
    ):
        app(["operate", *words, "--database", url], standalone_mode=False)
    said = capsys.readouterr().out
    assert "ratings from 1 to 5 of books; levels 0.1, 0.5, 0.1 where none is said" in said
    assert "cannot be recalled" in said
    assert "is not down" in refused("operate", "takedown", "107", "--back", "--database", url)
    with database.reading() as connection:
        noted = [(act.operator, act.act) for act in acts.latest(connection, 10)]
    assert noted[:2] == [
        ("command line", "put an item back"), ("command line", "take an item down"),
    ]  # fmt: skip
    words = ["operate", "token", "service", "--name", "shop", "--json", "--database", url]
    app(words, standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["token"].startswith("discreet-service-")
    assert "--name" in refused("operate", "token", "service", "--database", url)
    database.close()


def _one_rating() -> Ratings:
    import polars as pl

    frame = pl.DataFrame({"user": ["u1"], "item": ["107"], "rating": [4.0], "epsilon": [0.3]})
    return Ratings.from_frame(frame, scale=Declaration().rating_scale)
