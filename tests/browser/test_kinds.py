"""One tap on every scale, and where people choose and do not rate: each on a service of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.data.ratings import Ratings
from discreet.database import people, tastes
from discreet.database.connection import Database
from discreet.database.people import Role
from discreet.operate.releases import publish
from tests.browser.conftest import start_browser
from tests.browser.looking import (
    card,
    check,
    check_here,
    click,
    look,
    no_errors,
    said,
    sign_in,
    until,
)
from tests.databases import filled
from tests.processes import serving


@contextmanager
def club_of(folder: Path, ratings: Ratings, **declared: Any) -> Iterator[Any]:
    database = Database(folder / "club.db")
    publish(database, filled(database, ratings, **declared))
    with database.writing() as connection:
        tokens = {p: people.issue(connection, Role.PERSON, p) for p in ("u1", "u2")}
        tokens["operator"] = people.issue(connection, Role.OPERATOR)
        tastes.choose_level(connection, "u1", 0.1)
    database.close()
    with serving(folder, "--database", str(folder / "club.db")) as served:
        yield served, tokens


def on_scale(ratings: Ratings, low: float, high: float) -> Ratings:
    """Some of them with halves, or on the odd numbers."""
    step = (high - low) / 9
    frame = ratings.to_frame().with_columns(
        rating=(low + step * (2 * pl.col("rating") - 1 - pl.int_range(pl.len()) % 2)).round(2)
    )
    return Ratings.from_frame(frame, scale=(low, high))


@pytest.fixture(scope="module")
def players(tmp_path_factory: pytest.TempPathFactory, small: Ratings) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("players")
    with club_of(folder, small, events=True, things="games") as club:
        yield club


def paths(browser: Any, address: str) -> list[str]:
    """Of pages that everybody has, those of an item that is new and of one that is known."""
    found = ["/home", "/browse", "/mine", "/privacy"]
    for page in ("/home", "/mine"):
        browser.get(address + page)
        link = browser.find_element("css selector", "main a.to").get_attribute("href")
        found.append(link.removeprefix(address))
    return found


@pytest.mark.parametrize(("scale", "value"), [((1, 10), "7"), ((0, 10), "7"), ((0.5, 5), "3.5")])
def test_one_tap_saves_on_every_scale_of_points(
    browser: Any, tmp_path: Path, small: Ratings, scale: tuple[float, float], value: str
) -> None:
    with club_of(tmp_path, on_scale(small, *scale), scale=scale) as club:
        address = sign_in(browser, club, "u1")
        browser.get(address + "/home")
        title = browser.find_element("css selector", "#for-you .name").text
        buttons = card(browser, title, "#for-you").find_elements("css selector", ".stars button")
        count = 11 if scale == (0, 10) else 10
        assert len(buttons) == count
        [button] = [b for b in buttons if b.get_attribute("value") == value]
        button.click()
        said(browser, f"Saved: {title}, {value}, very private")
        click(browser, "#for-you a.lock", "document.getElementById('dialog').open")
        dialog = browser.find_element("id", "dialog")
        assert len(dialog.find_elements("css selector", ".stars button")) == count
        assert dialog.find_elements("css selector", "input[type=number]") == []
        dialog.find_element("css selector", ".stars button[value='2']").click()
        said(browser, ", 2, very private")
        for path in paths(browser, address):
            check(browser, address, path)


def test_on_a_continuous_scale_a_card_leads_to_a_field(
    browser: Any, tmp_path: Path, small: Ratings
) -> None:
    frame = small.to_frame().with_columns(pl.col("rating") * 20)
    with club_of(tmp_path, Ratings.from_frame(frame, scale=(0, 100)), scale=(0, 100)) as club:
        address = sign_in(browser, club, "u1")
        browser.get(address + "/home")
        click(browser, "#for-you a.chose", "document.getElementById('dialog').open")
        field = browser.find_element("css selector", "#dialog input[name=rating]")
        field.send_keys("87.5")
        field.submit()
        said(browser, "87.5, very private")
        check(browser, address, "/home")


def test_one_button_says_that_one_chose_it(browser: Any, players: Any) -> None:
    address = sign_in(browser, players, "u1")
    browser.get(address + "/browse")
    browser.execute_script("window.sameDocument = true")
    button = "#found .card:not(.rated) .chose"
    item = browser.find_element("css selector", "#found .card:not(.rated)")
    title = item.find_element("css selector", ".name").text
    browser.find_element("css selector", button).click()
    said(browser, f"Saved: {title}, very private")
    assert browser.execute_script("return window.sameDocument") is True
    assert "Chosen" in card(browser, title).text
    browser.find_element("css selector", "#said button").click()
    said(browser, "Undone")
    assert "I chose this" in card(browser, title).text
    for path in paths(browser, address):
        check(browser, address, path)


def test_choosing_can_be_done_by_keyboard_alone(browser: Any, players: Any) -> None:
    from selenium.webdriver import ActionChains, Keys

    address = sign_in(browser, players, "u1")
    browser.get(address + "/home")
    title = browser.find_element("css selector", "#for-you .name").text
    browser.execute_script("document.querySelector('#for-you a.to').focus()")
    ActionChains(browser).send_keys(Keys.TAB, Keys.ENTER).perform()
    said(browser, f"Saved: {title}")
    ActionChains(browser).send_keys(Keys.ENTER).perform()  # the focus has stayed on the button
    said(browser, f"Your choice of {title} is deleted")
    no_errors(browser)


def test_choosing_works_without_a_script_from_the_first_question_on(players: Any) -> None:
    served, tokens = players
    with start_browser(script=False) as browser:
        browser.get(served.address + "/signin")
        browser.find_element("id", "token").send_keys(tokens["u2"])
        browser.find_element("css selector", "form[action='/signin'] button").click()
        until(browser, lambda: browser.current_url.endswith("/level"))  # imported, and new here
        assert "How private shall your choices be?" in browser.find_element("id", "main").text
        browser.find_element("css selector", "input[name=level][value='0.3']").click()
        browser.find_element("css selector", "form[action='/level'] button").click()
        until(browser, lambda: browser.current_url.endswith("/home"))
        title = browser.find_element("css selector", "#for-you .name").text
        card(browser, title, "#for-you").find_element("css selector", ".chose").click()
        said(browser, f"Saved: {title}, private")
        browser.find_element("css selector", "#said button").click()
        until(browser, lambda: browser.current_url.endswith("/home"))
        assert title in browser.find_element("id", "for-you").text


def test_pages_of_events_for_others_are_sound(browser: Any, players: Any, tmp_path: Path) -> None:
    served, _ = players
    browser.get(served.address + "/model")
    browser.delete_all_cookies()
    for path in ("/", "/model", "/api"):
        check(browser, served.address, path)
    browser.get(served.address)
    click(browser, "form[action='/join'] button", "document.getElementById('token')")
    check_here(browser, served.address, "a token")
    check(browser, served.address, "/level")
    address = sign_in(browser, players, "operator")
    check(browser, address, "/operator?preview=true")
    table = tmp_path / "new.csv"
    table.write_text("user,item\nann,100\nann,101\n")
    browser.find_element("css selector", "form[action$=events] [type=file]").send_keys(str(table))
    click(browser, "form[action$=events] button", "document.querySelector('.mapping')")
    assert "As it would be imported" in browser.find_element("tag name", "main").text
    check_here(browser, address, "events as understood")


def test_a_recommendation_is_on_a_phones_first_screen(browser: Any, players: Any) -> None:
    address = sign_in(browser, players, "u1")
    with look(browser, 390, "light"):
        browser.get(address + "/home")
        top = "return document.querySelector('#for-you .fact').getBoundingClientRect().bottom"
        bar = "return document.querySelector('header nav').getBoundingClientRect().top"
        assert browser.execute_script(top) < browser.execute_script(bar)
