"""Everything there is: sorted by one's own list to its end, by year, and what one hid."""

import re
from collections.abc import Iterator

import pytest

from discreet.data.ratings import Ratings
from discreet.database import tastes
from discreet.database.connection import Database
from discreet.database.redeclaring import declare_anew
from discreet.service.limits import MOST_RECOMMENDATIONS
from discreet.service.pages.browse import PAGE
from tests.service.clubs import OUR_PAGE, Club, open_club
from tests.service.test_access import signed_in

COUNT = 130


@pytest.fixture
def large_club(sqlite: Database, small: Ratings) -> Iterator[Club]:
    with open_club(sqlite, small, count=COUNT) as opened:
        yield opened


def shown(club: Club, path: str = "/browse", **form: object) -> list[str]:
    """The items of a page, in their order."""
    answer = club.client.request(
        "POST" if form else "GET", path, data=form or None, headers=OUR_PAGE
    )
    assert answer.status_code == 200, answer.text
    return re.findall(r'<li class="card[^"]*" data-item="([^"]+)"', answer.text)


def hide(club: Club, item: str, **more: str) -> str:
    form = {"item": item, "place": "hidden", **more}
    answer = club.client.post("/hide", data=form, headers=OUR_PAGE)
    assert answer.status_code == 303
    return answer.headers["location"]


def test_best_for_me_orders_all_that_there_are(large_club: Club) -> None:
    signed_in(large_club, "u1")
    service = large_club.app.state.service
    hidden = shown(large_club, sort="mine")[0]
    service.hide("u1", hidden)
    own = [one.for_lists for one in service.own("u1")]
    items, ratings, times = zip(*own, strict=True)
    ranked = service.model().release.recommend(
        items, ratings, n=COUNT, exclude_rated=False, without=[hidden], times=times
    )["item"]
    pages = range(1, COUNT // PAGE + 2)
    found = [item for page in pages for item in shown(large_club, sort="mine", page=page)]
    assert COUNT > MOST_RECOMMENDATIONS
    assert found == [*ranked, hidden]
    some = shown(large_club, sort="mine", genre="War")
    assert some == [item for item in ranked if int(item) % 3 == 0][:PAGE]


def test_years_are_chosen_one_by_one_or_by_ten(large_club: Club) -> None:
    signed_in(large_club, "u1")
    assert shown(large_club, years="1993") == ["103"]
    assert sorted(shown(large_club, years="1990s")) == [str(k) for k in range(100, 110)]
    page = large_club.client.get("/browse", headers=OUR_PAGE).text
    assert '<optgroup label="1990s"><option value="1990s">' in page
    for wrong in ("nineties", "19931", "1993x"):
        answer = large_club.client.post("/browse", data={"years": wrong}, headers=OUR_PAGE)
        assert answer.status_code == 422


def test_what_one_hid_has_a_page_where_it_is_shown_again(large_club: Club) -> None:
    signed_in(large_club, "u1")
    assert "You have hidden nothing" in large_club.client.get("/mine/hidden", headers=OUR_PAGE).text
    for item in ("100", "101"):
        hide(large_club, item)
    assert "Not interested: 2" in large_club.client.get("/mine", headers=OUR_PAGE).text
    assert sorted(shown(large_club, "/mine/hidden")) == ["100", "101"]
    back = hide(large_club, "100", hidden="false")
    assert back.startswith("/mine/hidden?undo=")
    page = large_club.client.get(back, headers=OUR_PAGE).text
    assert "Film 0 is in your lists again." in page
    assert shown(large_club, "/mine/hidden") == ["101"]
    undo = {"sealed": back.split("undo=")[1], "place": "hidden"}
    large_club.client.post("/undo", data=undo, headers=OUR_PAGE)
    assert sorted(shown(large_club, "/mine/hidden")) == ["100", "101"]
    assert shown(large_club, q="film 1", among="hidden") == ["101"]


def test_whoever_has_chosen_no_level_is_asked_before_their_first_page(small_club: Club) -> None:
    """Imported people, too, and whoever got a token from the operator."""
    token = small_club.tokens["u1"]
    small_club.client.post("/signin", data={"token": token}, headers=OUR_PAGE)
    service = small_club.app.state.service
    item = service.seal.close("item", "u1", "100")
    for path in ("/home", "/browse", "/mine", "/mine/hidden", f"/item/{item}"):
        answer = small_club.client.get(path, headers=OUR_PAGE)
        assert (answer.status_code, answer.headers["location"]) == (303, "/level"), path
    page = small_club.client.get("/level", headers=OUR_PAGE).text
    assert "How private shall your ratings be?" in page
    assert "Levels add up" in page
    chosen = small_club.client.post("/level", data={"level": "0.3"}, headers=OUR_PAGE)
    assert chosen.headers["location"] == "/home"
    assert small_club.client.get("/home", headers=OUR_PAGE).status_code == 200


def test_a_card_names_the_level_that_a_rating_will_get(small_club: Club) -> None:
    """Also once the one that was chosen is no longer on offer."""
    signed_in(small_club, "u1")
    service = small_club.app.state.service
    service.choose_level("u1", 1.0)
    declare_anew(small_club.database, {"levels": (0.1, 0.3)}, "ann")
    service.public.look_now()
    home = small_club.client.get("/home", headers=OUR_PAGE).text
    first = home.split('id="for-you"')[1].split("</section>")[0]
    assert set(re.findall(r'title="([A-Z][a-z ]+)" aria-label="[^"]+would be"', first)) == {
        "Private"
    }
    found = re.search(r'data-item="(\d+)"', first)
    assert found is not None
    form = {"item": found[1], "rating": "4"}
    small_club.client.post("/rate", data=form, headers=OUR_PAGE)
    [own] = [one for one in service.own("u1") if one.item == found[1]]
    assert own.epsilon == 0.3
    with small_club.database.reading() as connection:
        assert tastes.usual_level(connection, "u1") == 1.0  # what was chosen stays known


def test_where_one_chooses_a_level_for_one_rating_it_is_said_that_levels_add_up(
    small_club: Club,
) -> None:
    signed_in(small_club, "u1")
    item = small_club.app.state.service.seal.close("item", "u1", "100")
    for path in (f"/item/{item}", f"/item/{item}/level"):
        assert "Levels add up" in small_club.client.get(path, headers=OUR_PAGE).text
