"""Every page as a designer and a screen reader see it: axe-core, phone, desk, light, dark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import people, tastes
from discreet.database.connection import Database
from discreet.database.people import Role
from discreet.operate.imports import add_items
from discreet.service.shelves import EACH
from tests.browser.looking import check, check_here, click, look, sign_in, weighed
from tests.browser.test_service import club as club
from tests.databases import filled
from tests.processes import serving

PEOPLE = ["/home", "/browse", "/mine", "/mine/hidden", "ITEM", "RATED", "/privacy", "/level"]
VISITORS = ["/", "/signin", "/model", "/proof", "/api"]
OPERATORS = ["/operator", "/operator/catalogue", "/operator/declaration"]
FIRST_VIEW = 150_000
"""Bytes of the first view without covers."""
SHELVES, LONG_TITLE = 7, 60
"""Begin, for you, because, many, gems, and two of genres; letters of a title that is cut off."""
ODD = [
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "Dr. Strangeways, or: How I Learned to Stop Reading Subtitles and Love a Long Title",
]
"""Titles that do not fit."""


@pytest.mark.parametrize("who", ["u1", "operator", None])
def test_every_page_is_sound_for_everybody(browser: Any, club: Any, who: str | None) -> None:
    served, _ = club
    address: str = served.address
    if who is None:
        browser.get(address + "/model")
        browser.delete_all_cookies()
    else:
        sign_in(browser, club, who)
    for page in {"u1": PEOPLE, "operator": OPERATORS, None: VISITORS}[who]:
        path = page
        if page in ("ITEM", "RATED"):
            browser.get(address + ("/home" if page == "ITEM" else "/mine"))
            link = browser.find_element("css selector", "main a.to").get_attribute("href")
            path = link.removeprefix(address)
        check(browser, address, path)


def test_pages_that_follow_from_what_one_does_are_sound(browser: Any, club: Any) -> None:
    address = sign_in(browser, club, "u1")
    browser.get(address + "/home")
    click(browser, "#for-you a.lock", "document.getElementById('dialog').open")
    check_here(browser, address, "a rating's level")
    browser.get(address + "/home")
    click(browser, ".shelf:not(#for-you) .stars button", "document.querySelector('#said button')")
    check_here(browser, address, "saved")
    click(browser, "#said button", "document.getElementById('said').textContent == 'Undone.'")
    browser.delete_all_cookies()
    browser.get(address)
    click(browser, "form[action='/join'] button", "document.getElementById('token')")
    check_here(browser, address, "a token")
    assert browser.find_elements("css selector", "header nav") == []  # a level is chosen first
    check(browser, address, "/level")
    click(browser, "form[action='/level'] button", "location.pathname == '/home'")
    check_here(browser, address, "a newcomer's home")
    browser.get(address + "/mine")
    check_here(browser, address, "nothing rated")
    assert browser.find_elements("css selector", "form.search") == []  # there is nothing to find
    browser.get(address + "/privacy")
    check_here(browser, address, "nothing has left")
    browser.execute_script("document.querySelector('[name=confirm]').checked = true")
    click(browser, "form[action='/erase'] button", "document.title.startsWith('Erased')")
    check_here(browser, address, "erased")
    browser.get(address + "/signin")
    browser.find_element("id", "token").send_keys("nobody's")
    click(browser, "form[action='/signin'] button", "document.querySelector('[role=alert]')")
    browser.get_log("browser")  # the browser notes that it was refused: so it was
    check_here(browser, address, "a wrong token")


def test_what_an_operator_comes_to_is_sound(browser: Any, club: Any, tmp_path: Path) -> None:
    address = sign_in(browser, club, "operator")
    browser.get(address + "/operator?preview=true")
    check_here(browser, address, "a preview")
    table = tmp_path / "new.csv"
    table.write_text("item,title,year,genres,score\n900,Another,1990,Drama|War,7\n")
    browser.find_element("css selector", "form[action$=items] [type=file]").send_keys(str(table))
    click(browser, "form[action$=items] button", "document.querySelector('.mapping')")
    assert "As it would be imported" in browser.find_element("tag name", "main").text
    check_here(browser, address, "what was understood")
    table.write_text("who,item,stars\nann,900,4\n")
    browser.get(address + "/operator")
    browser.find_element("css selector", "form[action$=ratings] [type=file]").send_keys(str(table))
    click(browser, "form[action$=ratings] button", "document.querySelector('.mapping .filters')")
    assert "Choose the column that holds: user" in browser.find_element("tag name", "main").text
    check_here(browser, address, "what was not understood")
    browser.get(address + "/operator/catalogue")
    browser.find_element("id", "words").send_keys("film 2")
    click(browser, "form[role=search] button", "document.querySelector('ul.items')")
    check_here(browser, address, "items that were found")
    click(browser, "ul.items button", "document.querySelector('.state.counted')")
    check_here(browser, address, "an item that is down")
    click(browser, "[name=back] ~ button", "document.body.textContent.includes('is back')")
    browser.get(address + "/nowhere")
    browser.get_log("browser")
    check_here(browser, address, "nothing")


@pytest.fixture(scope="module")
def young(tmp_path_factory: pytest.TempPathFactory, small: Ratings) -> Iterator[Any]:
    """Before its first release, with a provider for signing in that is away."""
    folder = tmp_path_factory.mktemp("young")
    database = Database(folder / "young.db")
    filled(database, small)
    add_items(database, Items.from_frame(pl.DataFrame({"item": ["odd", "wide"], "title": ODD})))
    with database.writing() as connection:
        tokens = {"u1": people.issue(connection, Role.PERSON, "u1")}
        tastes.choose_level(connection, "u1", 0.1)
        tokens["operator"] = people.issue(connection, Role.OPERATOR)
    database.close()
    away = ("--oidc-issuer", "http://127.0.0.1:9", "--oidc-client", "discreet")
    with serving(folder, "--database", str(folder / "young.db"), *away) as served:
        yield served, tokens


def test_pages_before_the_first_release_are_sound(browser: Any, young: Any) -> None:
    served, _ = young
    browser.get(served.address + "/model")
    browser.delete_all_cookies()
    for path in ("/", "/signin", "/model"):
        check(browser, served.address, path)
    for path, title in (("/signin/company", "503"), ("/proof", "404")):
        browser.get(served.address + path)
        assert browser.title.startswith(title)
        browser.get_log("browser")  # the browser notes that it was refused: so it was
        check_here(browser, served.address, title)
    address = sign_in(browser, young, "u1")
    for path in ("/home", "/browse", "/mine/hidden"):
        check(browser, address, path)
    browser.get(address + "/browse")
    links = [
        browser.find_element("xpath", f"//a[.='{title}']").get_attribute("href") for title in ODD
    ]
    for link in links:
        check(browser, address, link.removeprefix(address))
    check(browser, sign_in(browser, young, "operator"), "/operator")


def test_who_asks_too_often_is_told_so_on_a_page(browser: Any, young: Any) -> None:
    served, _ = young
    browser.get(served.address + "/model")
    browser.delete_all_cookies()
    browser.get(served.address + "/signin")
    wrong = """
        const body = new URLSearchParams("token=x");
        const ask = () => fetch("/signin", { method: "POST", body });
        Promise.all([...Array(60)].map(ask)).then(arguments[0]);
    """
    browser.execute_async_script(wrong)
    browser.find_element("id", "token").send_keys("x")
    click(browser, "form[action='/signin'] button", "document.title.startsWith('429')")
    browser.get_log("browser")
    check_here(browser, served.address, "429")


def test_recommendations_are_on_a_phones_first_screen_and_the_view_is_light(
    browser: Any, club: Any
) -> None:
    address = sign_in(browser, club, "u1")
    with look(browser, 390, "light"):
        browser.get(address + "/home")
        top = "return document.querySelector('#for-you .fact').getBoundingClientRect().bottom"
        bar = "return document.querySelector('header nav').getBoundingClientRect().top"
        assert browser.execute_script(top) < browser.execute_script(bar)
        weight = weighed(browser)
        cards = "return [...document.querySelectorAll('.card')].map(e => e.outerHTML.length)"
        sizes = browser.execute_script(cards)
        assert weight.requests <= 5  # the page, its style, its script, its icon, that in the tab
        # As many shelves as there can be, of items with titles that fill two lines.
        full = SHELVES * EACH * (max(sizes) + 2 * LONG_TITLE)
        assert weight.size - len(sizes) * max(sizes) + full < FIRST_VIEW


def test_dark_is_dark(browser: Any, club: Any) -> None:
    served, _ = club
    with look(browser, 1280, "dark"):
        browser.get(served.address + "/model")
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(20, 24, 26)"
