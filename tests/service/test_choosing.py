"""Where people choose and do not rate: the same pages, in other words and with one button."""

import re
from collections.abc import Iterator

import pytest

from discreet.data.ratings import Ratings
from discreet.database.connection import Database
from discreet.service.shelves import EACH
from tests.service.clubs import OUR_PAGE, Club, open_club
from tests.service.test_access import signed_in
from tests.service.test_pages import looked_at, on_the_page

LEVELS = (0.1, 1.0)


@pytest.fixture
def players(sqlite: Database, small: Ratings) -> Iterator[Club]:
    with open_with(sqlite, small, things="games", count=90) as opened:
        yield opened


def open_with(database: Database, small: Ratings, **rules: object):  # type: ignore[no-untyped-def]
    return open_club(database, small, events=True, levels=LEVELS, **rules)


def get(club: Club, path: str) -> str:
    answer = club.client.get(path, headers=OUR_PAGE)
    assert answer.status_code == 200, (path, answer.text)
    return answer.text


def tap(club: Club, item: str, **more: object) -> str:
    """What was said; where it leads back to is where it came from."""
    form = {"item": item, "place": "home", **more}
    answer = club.client.post("/rate", data=form, headers=OUR_PAGE)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].split("undo=")[1]


def new_item(club: Club, person: str = "u1") -> str:
    service = club.app.state.service
    mine = {own.item for own in service.own(person)}
    return next(item for item in service.public.catalogue.cards if item not in mine)


def test_a_members_home_has_all_shelves_and_no_stars(players: Club) -> None:
    signed_in(players, "u1")
    home = get(players, "/home")
    for words in ("For you", "Because you chose", "Chosen by many", "Hidden gems", "More of"):
        assert words in home
    assert 'class="stars' not in home
    assert home.count(">I chose this<") >= EACH
    assert 'class="guess"' not in home  # of events no rating is guessed
    service = players.app.state.service
    mine = [own.item for own in service.own("u1")]
    expected = service.model().release.recommend(mine, n=EACH)["item"].to_list()
    first = home.split('id="for-you"')[1].split("</section>")[0]
    assert re.findall(r'data-item="(\d+)"', first) == expected


def test_one_tap_says_that_one_chose_it_and_can_be_undone(players: Club) -> None:
    signed_in(players, "u1")
    service, item = players.app.state.service, new_item(players)
    undo = tap(players, item)
    [own] = [own for own in service.own("u1") if own.item == item]
    assert (own.rating, own.epsilon) == (1.0, 0.1)
    home = get(players, f"/home?undo={undo}")
    assert f"Saved: {service.title(item)}, very private." in home
    players.client.post("/undo", data={"sealed": undo}, headers=OUR_PAGE)
    assert item not in {own.item for own in service.own("u1")}
    # Another tap takes it back, and undoing that brings back its level as well.
    tap(players, item, epsilon=1.0)
    assert "Chosen<span" in get(players, "/mine")
    undo = tap(players, item, action="delete")
    assert item not in {own.item for own in service.own("u1")}
    players.client.post("/undo", data={"sealed": undo}, headers=OUR_PAGE)
    [own] = [own for own in service.own("u1") if own.item == item]
    assert (own.rating, own.epsilon) == (1.0, 1.0)


def test_another_level_is_no_further_event(sqlite: Database, small: Ratings) -> None:
    with open_with(sqlite, small, quantity="linear:10", repeats="sum") as club:
        signed_in(club, "u1")
        service, item = club.app.state.service, new_item(club)
        tap(club, item, weight=4)
        tap(club, item, action="level", epsilon=1.0)
        [own] = [own for own in service.own("u1") if own.item == item]
        assert (own.rating, own.epsilon) == (pytest.approx(0.4, abs=1e-5), 1.0)
        tap(club, item)  # once more: counted as one
        [own] = [own for own in service.own("u1") if own.item == item]
        assert own.rating == pytest.approx(0.5, abs=1e-5)
        form = {"item": new_item(club), "action": "level", "epsilon": 1.0}
        assert club.client.post("/rate", data=form, headers=OUR_PAGE).status_code == 404


def test_where_a_quantity_must_be_said_a_card_leads_to_its_field(
    sqlite: Database, small: Ratings
) -> None:
    with open_with(sqlite, small, quantity="linear:10") as club:
        signed_in(club, "u1")
        home = get(club, "/home")
        link = re.search(r'<a class="button plain chose" href="([^"#]+)#level"', home)
        assert link is not None
        page = get(club, link[1])
        assert 'name="weight" step="any" min="0" required' in page
        item = re.search(r'name="item" value="(\d+)"', page)
        assert item is not None
        form = {"item": item[1]}
        assert club.client.post("/rate", data=form, headers=OUR_PAGE).status_code == 422
        tap(club, item[1], weight=20)
        assert "It counts as 1 of a whole choice" in get(club, link[1])


def test_an_items_page_says_how_likely_one_chooses_it(players: Club) -> None:
    signed_in(players, "u1")
    service = players.app.state.service
    mine = [own.item for own in service.own("u1")]
    listed = service.model().release.recommend(mine, n=90)["item"].to_list()
    for place in (1, 3):
        sealed = service.seal.close("item", "u1", listed[place - 1])
        page = get(players, f"/item/{sealed}")
        assert f"<b>{place}</b> <span>of {len(listed)} in your list" in page
        assert "our guess" not in page
    assert "you choose next" in get(players, f"/item/{service.seal.close('item', 'u1', listed[0])}")
    assert "by your other choices" in get(
        players, f"/item/{service.seal.close('item', 'u1', mine[0])}"
    )


PAGES = ("/home", "/browse", "/mine", "/privacy", "/level", "/model", "/operator", "/")


def test_no_page_speaks_of_ratings(players: Club) -> None:
    """Nor of films: games are chosen here."""
    signed_in(players, "u1")
    pages = {path: get(players, path) for path in PAGES[:6]}
    link = re.search(r'class="to" href="([^"]+)"', pages["/home"])
    assert link is not None
    pages["an item"] = get(players, link[1])
    signed_in(players, "operator")
    pages["/operator"] = get(players, "/operator?preview=true")
    players.client.cookies.clear()
    pages["/"] = get(players, "/")
    joined = players.client.post("/join", headers=OUR_PAGE).text
    pages["joined"] = joined
    for path, page in pages.items():
        shown = re.sub(r"<script.*?</script>|<[^>]*>", " ", page)
        shown = shown.split("The exact words, and the theorem")[0]  # the certificate's own
        found = re.findall(r"[^.]*\b(?:[Rr]at(?:ed?|ings?)|films?|stars?)\b[^.]*", shown)
        assert found == [], path


def test_a_newcomer_chooses_a_level_and_marks_five_to_begin(players: Club) -> None:
    joined = players.client.post("/join", headers=OUR_PAGE)
    assert "How private shall your choices be?" in joined.text
    players.client.post("/level", data={"level": "1.0"}, headers=OUR_PAGE)
    assert "Mark 5 to begin" in get(players, "/home")
    tap(players, "100")
    assert 'value="1" aria-label="Choices so far' in get(players, "/home")
    person = re.search(r"You are <code>([^<]+)</code>", joined.text)
    assert person is not None
    [own] = players.app.state.service.own(person[1])
    assert own.epsilon == 1.0


def test_the_operator_imports_events_after_a_look(sqlite: Database, small: Ratings) -> None:
    with open_with(sqlite, small, quantity="linear:10") as club:
        signed_in(club, "operator")
        page = looked_at(club, "events", b"who,game,hours\nann,100,5\nann,101,20\n")
        assert "Choose the column that holds: user" in page
        form = {"what": "events", "column-user": "who", "column-item": "game",
                "column-weight": "hours"}  # fmt: skip
        page = on_the_page(club, page, **form, action="look")
        assert "Events in the table: <b>2</b>, different films: <b>2</b>, people: <b>1</b>" in page
        assert "min(1, w/10)" in page
        assert ">0.5<" in page
        assert club.app.state.service.own("ann") == []
        assert "Events read: <b>2</b>" in on_the_page(club, page, **form)
        own = {own.item: own.rating for own in club.app.state.service.own("ann")}
        assert own == {"100": pytest.approx(0.5, abs=1e-5), "101": 1.0}
        assert "import events" in get(club, "/operator")


def test_where_every_event_counts_one_no_quantity_is_asked_for(players: Club) -> None:
    signed_in(players, "operator")
    page = looked_at(players, "events", b"user,item,hours\nann,100,5\n")
    assert "column-weight" not in page
    assert "As it would be imported" in page
    ratings = looked_at(players, "ratings", b"user,item,rating\nann,100,5\n")
    assert "This database holds events" in ratings
