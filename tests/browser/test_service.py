"""The service's page in a real browser: two people, ratings that follow, phone, dark, no script."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from discreet.data.ratings import Ratings
from discreet.database import people, tastes
from discreet.database.connection import Database
from discreet.database.people import Role
from discreet.operate.assess import assess
from discreet.operate.releases import publish
from tests.browser.conftest import start_browser
from tests.browser.looking import card, no_errors, said, sign_in, star, until, wait
from tests.databases import filled
from tests.processes import serving


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory, small: Ratings) -> Iterator[Any]:
    """A running service and tokens."""
    folder = tmp_path_factory.mktemp("club")
    database = Database(folder / "club.db")
    declared = filled(database, small)
    entry, snapshot = publish(database, declared)
    assess(database, declared, snapshot, entry.number)
    with database.writing() as connection:
        tokens = {p: people.issue(connection, Role.PERSON, p) for p in ("u1", "u2", "u3")}
        for person in ("u1", "u2", "u3"):
            tastes.choose_level(connection, person, declared.usual_level)
        tokens["operator"] = people.issue(connection, Role.OPERATOR)
    database.close()
    with serving(folder, "--database", str(folder / "club.db")) as served:
        yield served, tokens


def look_for(browser: Any, address: str, words: str) -> None:
    """Search on the page."""
    browser.get(address + "/browse")
    field = browser.find_element("id", "q")
    field.clear()
    field.send_keys(words)
    field.submit()
    until(browser, lambda: f"with “{words}”" in browser.find_element("id", "found").text)


def for_you(browser: Any) -> str:
    return str(browser.find_element("id", "for-you").text)


def exported(browser: Any) -> Any:
    """What the button downloads."""
    fetched = """
        const done = arguments[0];
        fetch("/api/me/export").then(a => a.text()).then(done);
    """
    return json.loads(browser.execute_async_script(fetched))


def test_one_tap_saves_and_the_list_follows_without_a_new_page(browser: Any, club: Any) -> None:
    address = sign_in(browser, club, "u1")
    browser.get(address + "/home")
    browser.execute_script("window.sameDocument = true")
    before = for_you(browser)
    shelf = browser.find_element("css selector", ".shelf:not(#for-you)")
    below = f"#{shelf.get_attribute('id')}"
    other = browser.find_element("css selector", f"{below} .name").text
    star(browser, other, 1, below).click()
    said(browser, f"Saved: {other}, 1, very private")
    assert browser.execute_script("return window.sameDocument") is True
    assert other not in for_you(browser).split("\n")
    assert len(card(browser, other, below).find_elements("css selector", ".on")) == 1
    assert browser.switch_to.active_element.get_attribute("value") == "1"  # where it was
    browser.find_element("css selector", "#said button").click()
    said(browser, "Undone")
    assert card(browser, other, below).find_elements("css selector", ".on") == []
    assert for_you(browser) == before
    no_errors(browser)


def test_what_does_not_interest_goes_and_comes_back(browser: Any, club: Any) -> None:
    address = sign_in(browser, club, "u1")
    browser.get(address + "/home")
    title = browser.find_element("css selector", "#for-you .name").text
    card(browser, title, "#for-you").find_element("css selector", "button.no").click()
    said(browser, "out of your lists")
    assert title not in for_you(browser).split("\n")  # at once
    browser.find_element("css selector", "#said button").click()
    said(browser, "Undone")
    assert title in for_you(browser).split("\n")
    card(browser, title, "#for-you").find_element("css selector", "button.no").click()
    said(browser, "out of your lists")
    browser.get(address + "/home")
    assert title not in browser.find_element("tag name", "main").text.split("\n")
    browser.get(address + "/mine/hidden")
    card(browser, title).find_element("xpath", ".//button[.='Show again']").click()
    said(browser, "in your lists again")
    browser.find_element("css selector", "#said button").click()
    said(browser, "Undone")
    assert "Show again" in card(browser, title).text
    look_for(browser, address, title.lower())
    card(browser, title).find_element("css selector", "a.to").click()
    until(browser, lambda: "/item/" in browser.current_url)
    browser.find_element("xpath", "//button[.='Show it in my lists again']").click()
    said(browser, "in your lists again")
    browser.get(address + "/home")
    assert title in for_you(browser)
    no_errors(browser)


def test_the_small_control_explains_and_changes_the_level(browser: Any, club: Any) -> None:
    address = sign_in(browser, club, "u1")
    look_for(browser, address, "film 29")
    card(browser, "Film 29").find_element("css selector", "a.lock").click()
    until(browser, lambda: browser.find_element("id", "dialog").is_displayed())
    dialog = browser.find_element("id", "dialog")
    assert "52.5% sure" in dialog.text
    dialog.find_element("css selector", "input.k1").click()
    assert "57.5% sure" in dialog.text
    dialog.find_element("css selector", ".stars button[value='4']").click()
    said(browser, "Saved: Film 29, 4, private")
    assert not dialog.is_displayed()
    assert "Private" in card(browser, "Film 29").text
    card(browser, "Film 29").find_element("css selector", "a.to").click()
    until(browser, lambda: "/item/" in browser.current_url)
    panel = browser.find_element("id", "level")
    assert "Waiting" in panel.text
    panel.find_element("css selector", "input.k2").click()
    said(browser, "Saved: Film 29, 4, open")
    browser.find_element("xpath", "//button[.='Take my rating back']").click()
    said(browser, "deleted")
    assert "Film" not in browser.current_url + browser.title
    no_errors(browser)


def test_a_shelf_goes_on_by_a_button_and_a_focus_is_never_behind_the_bar(
    browser: Any, club: Any
) -> None:
    address = sign_in(browser, club, "u1")
    browser.get(address + "/home")
    back, on = browser.find_elements("css selector", "#for-you .arrows button")
    assert not back.is_enabled()
    on.click()
    moved = "return document.querySelector('#for-you .row').scrollLeft > 0"
    wait(browser, moved)
    until(browser, back.is_enabled)
    screen = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        behind = """
            const top = document.querySelector("header nav").getBoundingClientRect().top;
            return [...document.querySelectorAll("main a, main button")].filter((e) => {
              if (!e.checkVisibility()) return false;
              e.focus();
              return e.getBoundingClientRect().bottom > top;
            }).length;
        """
        assert browser.execute_script(behind) == 0
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_two_people_in_two_browsers_see_their_own_alone(browser: Any, club: Any) -> None:
    served, _ = club
    with start_browser() as other:
        for window, who in ((browser, "u2"), (other, "u3")):
            sign_in(window, club, who)
        own = {}
        for window, who in ((browser, "u2"), (other, "u3")):
            own[who] = exported(window)
            assert own[who]["person"] == who
        look_for(browser, served.address, "film 29")
        star(browser, "Film 29", 5).click()
        said(browser, "Saved")
        again = exported(other)
        assert again["ratings"] == own["u3"]["ratings"]
        assert again["disclosures"] == own["u3"]["disclosures"]
        for path in ("/mine", "/privacy", "/home"):
            other.get(served.address + path)
            assert "u2" not in other.page_source
        other.get(served.address + "/operator")
        assert "operator's" in other.find_element("css selector", "[role=alert]").text


def test_my_privacy_is_told_rating_by_rating(browser: Any, club: Any) -> None:
    address = sign_in(browser, club, "u1")
    browser.get(address + "/privacy")
    text = browser.find_element("tag name", "main").text
    assert "cannot be recalled" in text
    assert "counted in release 1" in text
    assert "epsilons add up" in text
    assert len(browser.find_elements("css selector", "tbody tr")) > 3
    no_errors(browser)


def test_joining_shows_the_token_once(browser: Any, club: Any) -> None:
    served, _ = club
    browser.get(served.address + "/model")
    browser.delete_all_cookies()
    browser.get(served.address)
    browser.find_element("css selector", "form[action='/join'] button").click()
    wait(browser, "return document.getElementById('token') !== null")
    token = browser.find_element("id", "token").get_attribute("value")
    assert "You are person-" in browser.find_element("tag name", "main").text
    assert token.startswith("discreet-person-")
    assert "Levels add up" in browser.find_element("tag name", "main").text
    browser.find_element("css selector", "input[name=level][value='0.3']").click()
    browser.find_element("css selector", "form[action='/level'] button").click()
    wait(browser, "return location.pathname == '/home'")
    assert token not in browser.page_source
    assert "Rate 5 to begin" in browser.find_element("tag name", "main").text
    first = browser.find_element("css selector", "#begin .name").text
    star(browser, first, 4, "#begin").click()
    said(browser, f"Saved: {first}, 4, private")  # at the level that was chosen once
    assert browser.find_element("tag name", "progress").get_attribute("value") == "1"
    browser.find_element("css selector", "#said button").click()
    said(browser, "Undone")
    browser.get(served.address + "/privacy")
    assert "You have not rated anything yet" in browser.find_element("tag name", "main").text


def test_the_operator_previews_and_publishes(browser: Any, club: Any) -> None:
    address = sign_in(browser, club, "operator")
    browser.get(address + "/operator?preview=true")
    assert "Would count" in browser.find_element("tag name", "main").text
    assert len(browser.find_elements("css selector", "svg.chart")) == 4
    browser.find_element("css selector", "form[action='/operator/publish'] button").click()
    wait(browser, "return document.body.textContent.includes('Release 2 came out')")
    rows = browser.find_elements("css selector", "[aria-label=Releases] tbody tr")
    assert [row.text.split()[0] for row in rows] == ["2", "1"]
    done = browser.find_element("css selector", "[aria-label='What operators did']").text
    assert "publish" in done
    no_errors(browser)


def test_it_can_be_used_by_keyboard_alone(browser: Any, club: Any) -> None:
    from selenium.webdriver import ActionChains, Keys

    address = sign_in(browser, club, "u1")
    look_for(browser, address, "film 28")
    browser.execute_script("document.querySelector('li.card a.to').focus()")
    keys = ActionChains(browser)
    keys.send_keys(Keys.TAB, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER).perform()  # 1, 2, 3
    said(browser, "Saved: Film 28, 3")
    ActionChains(browser).send_keys(Keys.TAB, Keys.ENTER).perform()  # the level's control
    until(browser, lambda: browser.find_element("id", "dialog").is_displayed())
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    until(browser, lambda: not browser.find_element("id", "dialog").is_displayed())


def test_without_a_script_forms_do_the_same(club: Any) -> None:
    with start_browser(script=False) as browser:
        served, tokens = club
        browser.get(served.address + "/signin")
        browser.find_element("id", "token").send_keys(tokens["u3"])
        browser.find_element("css selector", "form[action='/signin'] button").click()
        until(browser, lambda: browser.current_url.endswith("/home"))
        title = browser.find_element("css selector", "#for-you .name").text
        star(browser, title, 2, "#for-you").click()
        said(browser, f"Saved: {title}, 2")
        assert "/home?undo=" in browser.current_url
        assert title not in browser.find_element("tag name", "main").text
        browser.find_element("css selector", "#said button").click()
        until(browser, lambda: browser.current_url.endswith("/home"))
        assert title in for_you(browser)
        look_for(browser, served.address, "film 27")
        assert browser.current_url == served.address + "/browse"
        card(browser, "Film 27").find_element("css selector", "a.lock").click()
        until(browser, lambda: browser.current_url.endswith("#level"))
        browser.find_element("css selector", "#level .stars button[value='2']").click()
        said(browser, "Saved: Film 27, 2")
        browser.find_element("css selector", "#level input.k1").click()
        browser.find_element("css selector", "#level button[value=level]").click()
        said(browser, "Saved: Film 27, 2, private")
        browser.get(served.address + "/mine")
        assert browser.find_element("css selector", "li.card .name").text == "Film 27"
        browser.get(served.address + "/browse")
        browser.find_element("css selector", ".pages button[value='2']").click()
        until(browser, lambda: "page 2" in browser.find_element("id", "found").text)


def test_what_is_looked_for_is_remembered_and_never_in_an_address(browser: Any, club: Any) -> None:
    from selenium.webdriver.support.ui import Select

    address = sign_in(browser, club, "u2")
    look_for(browser, address, "film 2")
    Select(browser.find_element("name", "genre")).select_by_value("War")
    until(browser, lambda: ", War" in browser.find_element("id", "found").text)
    Select(browser.find_element("name", "sort")).select_by_value("old")
    wait(browser, "return String(history.state).includes('sort=old')")
    names = [f"Film {k}" for k in (2, 20, 23, 26, 29)]
    shown = "return [...document.querySelectorAll('#found .name')].map(e => e.textContent)"
    until(browser, lambda: browser.execute_script(shown) == names)
    asked = "return performance.getEntriesByType('resource').map(e => e.name)"
    assert address + "/browse" in browser.execute_script(asked)
    assert not any("film" in url.lower() for url in browser.execute_script(asked))
    assert browser.current_url == address + "/browse"
    browser.find_element("css selector", "#found a.to").click()
    until(browser, lambda: "/item/" in browser.current_url)
    browser.back()
    until(browser, lambda: browser.execute_script(shown) == names)
    browser.execute_script("window.before = true")
    browser.refresh()
    wait(browser, "return !window.before")
    until(browser, lambda: browser.execute_script(shown) == names)
    # By popularity, which is noisy, the same films may come in the same order: the field tells.
    browser.back()
    wait(browser, "return document.querySelector('[name=sort]').value === 'popular'")
    browser.back()
    until(browser, lambda: ", War" not in browser.find_element("id", "found").text)
    assert "with “film 2”" in browser.find_element("id", "found").text
    no_errors(browser)
