"""What an operator can change later, on the pages, with what it means."""

import re

import pytest

from discreet.data.ratings import Ratings
from discreet.database.connection import Database
from discreet.database.declaration import current
from tests.service.clubs import OUR_PAGE, Club, open_club
from tests.service.test_access import signed_in


def post(club: Club, path: str, **form: object):  # type: ignore[no-untyped-def]
    return club.client.post(path, data=form, headers=OUR_PAGE)


def page(club: Club, path: str) -> str:
    answer = club.client.get(path, headers=OUR_PAGE)
    assert answer.status_code == 200
    return answer.text


def test_an_item_is_found_taken_down_and_put_back_on_the_page(small_club: Club) -> None:
    signed_in(small_club, "operator")
    service = small_club.app.state.service
    for words in ("film 7", "107"):  # by its title, or its id
        found = post(small_club, "/operator/catalogue", words=words).text
        assert 'name="item" value="107"' in found
    assert "Nothing found" in post(small_club, "/operator/catalogue", words="nowhere").text
    assert "cannot be recalled" in page(small_club, "/operator/catalogue")
    down = post(small_club, "/operator/takedown", item="107").text
    assert "Film 7 is down." in down
    assert "cannot be recalled" in down
    assert "107" not in service.public.catalogue.cards
    assert "<b>Film 7</b>" in page(small_club, "/operator/catalogue").split("Down now")[1]
    back = post(small_club, "/operator/takedown", item="107", back="true").text
    assert "Film 7 is back." in back
    assert "107" in service.public.catalogue.cards
    acts = page(small_club, "/operator")
    assert "take an item down" in acts
    assert "put an item back" in acts
    assert post(small_club, "/operator/takedown", item="nothing").status_code == 404
    signed_in(small_club, "u1")
    assert post(small_club, "/operator/takedown", item="107").status_code == 403


def test_who_rated_what_was_taken_down_sees_that_and_can_delete_it(small_club: Club) -> None:
    service = small_club.app.state.service
    mine = service.own("u1")[0].item
    small_club("operator", "POST", "/api/operator/takedown", json={"item": mine})
    service.public.look_now()
    signed_in(small_club, "u1")
    mine_page = page(small_club, "/privacy")
    assert "taken down by the operator" in mine_page
    assert f'name="item" value="{mine}"' in mine_page
    gone = post(small_club, "/rate", item=mine, action="delete")
    assert (gone.status_code, gone.headers["location"]) == (303, "/privacy")
    assert mine not in {own.item for own in service.own("u1")}
    assert post(small_club, "/rate", item=mine, rating=4).status_code == 404


def test_levels_and_schedule_are_declared_anew_with_a_word_that_they_do_not_depend(
    small_club: Club,
) -> None:
    signed_in(small_club, "operator")
    shown = page(small_club, "/operator/declaration")
    assert 'value="0.1, 0.3, 1"' in shown
    assert "conditional" in shown
    form = {"levels": "0.3, 0.1", "default_level": "0.1", "publish_every": "24"}
    refused = post(small_club, "/operator/declaration", **form)
    assert refused.status_code == 422
    assert "does not depend" in refused.text
    done = post(small_club, "/operator/declaration", **form, independent="true")
    assert (done.status_code, done.headers["location"]) == (303, "/operator/declaration")
    with small_club.database.reading() as connection:
        declared = current(connection)
    assert (declared.levels, declared.publish_every_hours) == ((0.1, 0.3), 24.0)
    assert [change.name for change in declared.changes] == ["levels", "publish_every_hours"]
    shown = page(small_club, "/operator/declaration")
    assert "levels on offer 0.1, 0.3 instead of 0.1, 0.3, 1" in shown
    assert "declare anew" in page(small_club, "/operator")


def test_a_form_that_is_sent_back_as_it_is_declares_nothing(
    sqlite: Database, small: Ratings
) -> None:
    """A third, say, has more digits than are shown elsewhere."""
    with open_club(sqlite, small, levels=(1 / 3, 1.0), publish_every_hours=1e6 / 7) as club:
        signed_in(club, "operator")
        shown = page(club, "/operator/declaration")
        form = shown.split('action="/operator/declaration"')[1]
        fields = dict(re.findall(r'<input name="(\w+)"[^>]* value="([^"]*)"', form))
        assert {"levels", "default_level", "publish_every"} <= set(fields)
        post(club, "/operator/declaration", **fields, independent="true")
        with club.database.reading() as connection:
            assert current(connection).changes == ()


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ("0.1, much", "numbers with commas"),
        ("0.1, 2", "No level above 1"),
        ("-1", "above 0"),
        (" , ", "Levels: "),
        ("nan", "finite number"),
    ],
)
def test_what_cannot_be_declared_is_said_on_the_page(
    small_club: Club, levels: str, said: str
) -> None:
    signed_in(small_club, "operator")
    form = {"levels": levels, "independent": "true"}
    refused = post(small_club, "/operator/declaration", **form)
    assert refused.status_code == 422
    assert said in refused.text.split('role="alert"')[1].split("</p>")[0]


def test_a_word_of_the_pages_needs_no_vow_and_no_certificate_names_it(small_club: Club) -> None:
    signed_in(small_club, "operator")
    assert post(small_club, "/operator/declaration", things="books").status_code == 303
    assert "Books" not in page(small_club, "/operator")
    assert "books in the catalogue" in page(small_club, "/operator")
    assert small_club.app.state.service.declared.changes == ()
