"""The service's page in a real browser: two people, ratings that follow, phone, dark, no script."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.data.ratings import Ratings
from discreet.database import people
from discreet.database.connection import Database
from discreet.database.people import Role
from discreet.operate.assess import assess
from discreet.operate.releases import publish
from tests.browser.conftest import start_browser
from tests.databases import filled
from tests.processes import Served, serving


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
        tokens["operator"] = people.issue(connection, Role.OPERATOR)
    database.close()
    with serving(folder, "--database", str(folder / "club.db")) as served:
        yield served, tokens


def sign_in(browser: Any, club: tuple[Served, dict[str, str]], who: str) -> str:
    served, tokens = club
    browser.get(served.address + "/model")
    browser.delete_all_cookies()
    browser.get(f"{served.address}/signin#{tokens[who]}")
    browser.find_element("css selector", "form[action='/signin'] button").click()
    wait(browser, "return location.pathname != '/signin'")
    return served.address


def until(browser: Any, condition: Callable[[], bool]) -> None:
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    # A part of the page may be replaced while it is looked at.
    replaced = [StaleElementReferenceException]
    WebDriverWait(browser, 20, ignored_exceptions=replaced).until(lambda _: condition())


def wait(browser: Any, script: str) -> None:
    until(browser, lambda: browser.execute_script(script))


def card(browser: Any, title: str) -> Any:
    return browser.find_element("xpath", f"//li[contains(@class,'card')][.//h3[.='{title}']]")


def choose(browser: Any, title: str, rating: int, level: int) -> None:
    found = card(browser, title)
    found.find_element("css selector", f"input[name=rating][value='{rating}']").click()
    found.find_element("css selector", f"input.k{level}").click()
    found.find_element("css selector", "button[value=save]").click()


def look_for(browser: Any, address: str, words: str) -> None:
    """Search on the page."""
    browser.get(address + "/rate")
    field = browser.find_element("id", "q")
    field.clear()
    field.send_keys(words)
    browser.find_element("css selector", "form.search button").click()
    until(browser, lambda: f"with “{words}”" in browser.find_element("id", "found").text)


def picks(browser: Any) -> str:
    return str(browser.find_element("id", "picks").text)


def exported(browser: Any) -> Any:
    """What the button downloads."""
    fetched = """
        const done = arguments[0];
        fetch("/api/me/export").then(a => a.text()).then(done);
    """
    return json.loads(browser.execute_async_script(fetched))


def no_errors(browser: Any) -> None:
    severe = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert severe == []


def test_a_rating_is_saved_and_recommendations_follow_without_a_new_page(
    browser: Any, club: Any
) -> None:
    address = sign_in(browser, club, "u1")
    look_for(browser, address, "film 2")
    before = picks(browser)
    browser.execute_script("window.sameDocument = true")
    assert "Very private" in card(browser, "Film 29").text
    choose(browser, "Film 29", 1, 1)
    wait(browser, "return document.getElementById('said').textContent.startsWith('Saved')")
    assert browser.execute_script("return window.sameDocument") is True
    assert picks(browser) != before
    assert "Film 29" not in picks(browser)
    saved = card(browser, "Film 29")
    assert "Waiting" in saved.text
    assert "57.5%" in saved.text
    assert browser.switch_to.active_element.text.startswith("Change")  # the focus has not got lost
    saved.find_element("css selector", "button[value=delete]").click()
    wait(browser, "return document.getElementById('said').textContent.includes('deleted')")
    assert picks(browser) == before
    no_errors(browser)


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
        choose(browser, "Film 29", 5, 2)
        wait(browser, "return document.getElementById('said').textContent.startsWith('Saved')")
        again = exported(other)
        assert again["ratings"] == own["u3"]["ratings"]
        assert again["disclosures"] == own["u3"]["disclosures"]
        for path in ("/rate/mine", "/privacy", "/rate"):
            other.get(served.address + path)
            assert "u2" not in other.page_source
        other.get(served.address + "/operator")
        assert "operator's" in other.find_element("css selector", "[role=alert]").text


def test_what_leaves_is_told_rating_by_rating(browser: Any, club: Any) -> None:
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
    browser.find_element("link text", "I have kept it: go on").click()
    wait(browser, "return location.pathname == '/rate'")
    assert token not in browser.page_source
    browser.get(served.address + "/privacy")
    assert "You have not rated anything yet" in browser.find_element("tag name", "main").text


def test_the_operator_previews_and_publishes(browser: Any, club: Any) -> None:
    address = sign_in(browser, club, "operator")
    browser.get(address + "/operator?preview=true")
    assert "would count" in browser.find_element("tag name", "main").text
    assert len(browser.find_elements("css selector", "svg.chart")) == 3
    browser.find_element("css selector", "form[action='/operator/publish'] button").click()
    wait(browser, "return document.body.textContent.includes('Release 2 is out')")
    rows = browser.find_elements("css selector", "section table tbody tr")
    assert [row.text.split()[0] for row in rows] == ["2", "1"]
    no_errors(browser)


@pytest.mark.parametrize(
    "path", ["/", "/rate", "/rate/mine", "/privacy", "/model", "/signin", "/api"]
)
def test_every_page_fits_a_phone_has_names_and_asks_nobody_else(
    browser: Any, club: Any, path: str
) -> None:
    address = sign_in(browser, club, "u1")
    if path == "/":
        browser.delete_all_cookies()
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True},
    )
    try:
        browser.get(address + path)
        wide = "return document.documentElement.scrollWidth - innerWidth"
        assert browser.execute_script(wide) <= 0
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    nameless = """
        const named = e => (e.labels && e.labels.length) || e.getAttribute("aria-label")
            || e.textContent.trim() || e.type == "hidden";
        return [...document.querySelectorAll("input, button, a, select")].filter(e => !named(e))
            .map(e => e.outerHTML);
    """
    assert browser.execute_script(nameless) == []
    asked = "return performance.getEntriesByType('resource').map(e => new URL(e.name).origin)"
    assert set(browser.execute_script(asked)) <= {address}
    assert len(browser.find_elements("tag name", "h1")) == 1
    assert browser.find_element("tag name", "html").get_attribute("lang") == "en"
    no_errors(browser)


def test_it_can_be_used_by_keyboard_alone(browser: Any, club: Any) -> None:
    from selenium.webdriver import ActionChains, Keys

    address = sign_in(browser, club, "u1")
    look_for(browser, address, "film 28")
    first = "document.querySelector('li.card input[name=rating]')"
    browser.execute_script(f"{first}.focus()")
    keys = ActionChains(browser)
    keys.send_keys(Keys.SPACE, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)  # 1, 2, 3
    keys.send_keys(Keys.TAB, Keys.ARROW_RIGHT, Keys.TAB, Keys.ENTER).perform()
    wait(browser, "return document.getElementById('said').textContent.startsWith('Saved')")
    chosen = "return document.querySelector('li.card input[name=%s]:checked').value"
    assert browser.execute_script(chosen % "rating") == "3"
    assert browser.execute_script(chosen % "epsilon") == "0.3"


def test_without_a_script_forms_do_the_same(club: Any) -> None:
    with start_browser(script=False) as browser:
        served, tokens = club
        browser.get(served.address + "/signin")
        browser.find_element("id", "token").send_keys(tokens["u3"])
        browser.find_element("css selector", "form[action='/signin'] button").click()
        until(browser, lambda: browser.current_url.endswith("/rate"))
        look_for(browser, served.address, "film 27")
        assert browser.current_url == served.address + "/rate/search"
        choose(browser, "Film 27", 2, 0)
        until(browser, lambda: browser.current_url == served.address + "/rate/mine")
        assert "Waiting" in card(browser, "Film 27").text
        first = browser.find_element("css selector", "li.card h3").text
        assert first == "Film 27"
        browser.get(served.address + "/rate")
        browser.find_element("css selector", ".pages button[value='2']").click()
        until(browser, lambda: "page 2" in browser.find_element("id", "found").text)
        browser.find_element("css selector", "#picks button").click()
        until(browser, lambda: "with “Film" in browser.find_element("id", "found").text)


def test_what_is_looked_for_is_remembered_and_never_in_an_address(browser: Any, club: Any) -> None:
    address = sign_in(browser, club, "u2")
    look_for(browser, address, "film 29")
    browser.find_element("css selector", "#picks button").click()
    until(browser, lambda: "film 29" not in browser.find_element("id", "found").text)
    looked = browser.find_element("id", "q").get_attribute("value")
    assert looked.startswith("Film")
    asked = "return performance.getEntriesByType('resource').map(e => e.name)"
    assert address + "/rate/search" in browser.execute_script(asked)
    assert not any("film" in url.lower() for url in browser.execute_script(asked))
    assert browser.current_url == address + "/rate"
    shown = "return document.getElementById('found').textContent"
    browser.back()
    until(browser, lambda: "with “film 29”" in browser.execute_script(shown))
    browser.refresh()
    until(browser, lambda: "with “film 29”" in browser.execute_script(shown))
    browser.get(address + "/privacy")
    browser.back()
    until(browser, lambda: "with “film 29”" in browser.execute_script(shown))
    no_errors(browser)


def test_dark_is_dark(browser: Any, club: Any, tmp_path: Path) -> None:
    served, _ = club
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": dark})
    browser.get(served.address + "/model")
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert colour == "rgb(20, 24, 26)"
    assert browser.save_screenshot(str(tmp_path / "dark.png"))
