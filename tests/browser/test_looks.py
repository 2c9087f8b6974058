"""Every page as a designer and a screen reader see it: axe-core, phone, desk, light, dark."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from discreet.service.shelves import EACH
from tests.browser.test_service import club as club
from tests.browser.test_service import no_errors, sign_in, until, wait

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
PEOPLE = ["/home", "/browse", "/mine", "ITEM", "RATED", "/privacy"]
VISITORS, OPERATORS = ["/", "/signin", "/model", "/proof", "/api"], ["/operator"]
LOOKS = [(390, "light"), (1280, "dark")]
if os.environ.get("DISCREET_THOROUGH"):
    LOOKS = [(width, theme) for width in (390, 768, 1280) for theme in ("light", "dark")]
FIRST_VIEW = 150_000
"""Bytes of the first view without covers."""
SHELVES, LONG_TITLE = 7, 60
"""Begin, for you, because, many, gems, and two of genres; letters of a title that is cut off."""
SHIFT = 0.02
"""Of the page; below 0.1 counts as good, and ours has nothing that moves."""


@contextmanager
def look(browser: Any, width: int, theme: str) -> Iterator[None]:
    screen = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def violations(browser: Any) -> list[str]:
    """What axe-core finds, tap targets and best practices included."""
    if not AXE.exists():
        pytest.skip("no axe-core here: npm install --prefix tests/browser")
    browser.execute_script(AXE.read_text())
    found = browser.execute_async_script(
        """
        const done = arguments[0];
        axe.run({ rules: { "target-size": { enabled: true } } }).then((r) => done(r.violations));
        """
    )
    return [f"{v['id']}: {v['nodes'][0]['html'][:150]} {v['nodes'][0]['any'][:1]}" for v in found]


def shifted(browser: Any) -> float:
    script = """
        const done = arguments[0];
        let sum = 0;
        new PerformanceObserver((list) => {
          for (const e of list.getEntries()) if (!e.hadRecentInput) sum += e.value;
        }).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => done(sum), 100);
    """
    return float(browser.execute_async_script(script))


def sound(browser: Any, address: str, what: tuple[str, int, str]) -> None:
    """What holds for every page, however one came to it."""
    wide = "return document.documentElement.scrollWidth - innerWidth"
    assert browser.execute_script(wide) <= 0, what
    assert violations(browser) == [], what
    asked = "return performance.getEntriesByType('resource').map(e => new URL(e.name).origin)"
    assert set(browser.execute_script(asked)) <= {address}
    assert len(browser.find_elements("tag name", "h1")) == 1
    assert browser.find_element("tag name", "html").get_attribute("lang") == "en"


def check(browser: Any, address: str, path: str) -> None:
    """A page that has an address."""
    for width, theme in LOOKS:
        with look(browser, width, theme):
            browser.get(address + path)
            sound(browser, address, (path, width, theme))
            assert shifted(browser) <= SHIFT, (path, width)
    no_errors(browser)


def check_here(browser: Any, address: str, name: str) -> None:
    """A page that follows from what was done, and cannot be asked for again."""
    for width, theme in LOOKS:
        with look(browser, width, theme):
            sound(browser, address, (name, width, theme))
    no_errors(browser)


def click(browser: Any, selector: str, then: str) -> None:
    """On a button, wherever it is on the page; then wait."""
    browser.execute_script("document.querySelector(arguments[0]).click()", selector)
    wait(browser, f"return Boolean({then})")


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
    click(browser, "form[action='/level'] button", "location.pathname == '/home'")
    check_here(browser, address, "a newcomer's home")
    browser.get(address + "/mine")
    check_here(browser, address, "nothing rated")
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
    table.write_text("item,title,year,genres\n900,Another,1990,Drama|War\n")
    browser.find_element("css selector", "form[action$=items] [type=file]").send_keys(str(table))
    click(browser, "form[action$=items] button", "document.querySelector('.mapping')")
    assert "As it would be imported" in browser.find_element("tag name", "main").text
    check_here(browser, address, "what was understood")
    browser.get(address + "/nowhere")
    browser.get_log("browser")
    check_here(browser, address, "nothing")


def test_recommendations_are_on_a_phones_first_screen_and_the_view_is_light(
    browser: Any, club: Any
) -> None:
    address = sign_in(browser, club, "u1")
    with look(browser, 390, "light"):
        browser.get(address + "/home")
        top = "return document.querySelector('#for-you .fact').getBoundingClientRect().bottom"
        bar = "return document.querySelector('header nav').getBoundingClientRect().top"
        assert browser.execute_script(top) < browser.execute_script(bar)
        until(browser, lambda: browser.execute_script("return document.readyState") == "complete")
        script = """
            const all = ["resource", "navigation"].flatMap(k => performance.getEntriesByType(k));
            const counted = all.filter(e => !e.name.includes("/covers/"));
            const cards = [...document.querySelectorAll(".card")].map(e => e.outerHTML.length);
            return [counted.length, counted.reduce((sum, e) => sum + e.decodedBodySize, 0),
                    cards.length, Math.max(...cards)];
        """
        requests, weight, cards, heaviest = browser.execute_script(script)
        assert requests <= 5  # the page, its style, its script, its icon, and that in the tab
        # As many shelves as there can be, of items with titles that fill two lines.
        full = SHELVES * EACH * (heaviest + 2 * LONG_TITLE)
        assert weight - cards * heaviest + full < FIRST_VIEW


def test_dark_is_dark(browser: Any, club: Any) -> None:
    served, _ = club
    with look(browser, 1280, "dark"):
        browser.get(served.address + "/model")
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(20, 24, 26)"
