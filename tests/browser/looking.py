"""A page as a designer and a screen reader see it: widths, themes, axe-core, shifts, weight."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.processes import Served

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
ALL_LOOKS = [(width, theme) for width in (390, 768, 1280) for theme in ("light", "dark")]
LOOKS = ALL_LOOKS if os.environ.get("DISCREET_THOROUGH") else [(390, "light"), (1280, "dark")]
SHIFT = 0.02
"""Of the page; below 0.1 counts as good, and ours has nothing that moves."""


STYLED = """
    !document.querySelector("main :is(table, pre, blockquote, summary, dl.facts, .columns, .badge,"
      + " .numbers, .chart, .items, .links, .upload, .fields, .operation)")
    || [...document.styleSheets].some((sheet) => sheet.href.endsWith("/reading.css"))
""".strip()
"""What is styled by a sheet of its own comes with that sheet."""


def sign_in(browser: Any, club: tuple[Served, dict[str, str]], who: str) -> str:
    served, tokens = club
    browser.get(served.address + "/model")
    browser.delete_all_cookies()
    browser.get(f"{served.address}/signin#{tokens[who]}")
    browser.find_element("css selector", "form[action='/signin'] button").click()
    wait(browser, "return location.pathname != '/signin'")
    return served.address


def until(browser: Any, condition: Callable[[], bool]) -> None:
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.support.ui import WebDriverWait

    # A page, or a part of it, may be replaced while it is looked at, which the driver says in
    # several ways: as a stale element, or as a node that its own inspector lost.
    replaced = [WebDriverException]
    WebDriverWait(browser, 20, ignored_exceptions=replaced).until(lambda _: condition())


def wait(browser: Any, script: str) -> None:
    until(browser, lambda: browser.execute_script(script))


def card(browser: Any, title: str, inside: str = "main") -> Any:
    place = browser.find_element("css selector", inside)
    return place.find_element("xpath", f".//li[.//span[@class='name' and .='{title}']]")


def star(browser: Any, title: str, rating: int, inside: str = "main") -> Any:
    found = card(browser, title, inside)
    return found.find_element("css selector", f".stars button[value='{rating}']")


def said(browser: Any, words: str) -> None:
    until(browser, lambda: words in browser.find_element("id", "said").text)


def no_errors(browser: Any) -> None:
    severe = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert severe == []


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


class Weight(NamedTuple):
    """What a page had to be given; covers, which come as one scrolls, beside it."""

    requests: int
    size: int
    covers: int
    covers_size: int


def weighed(browser: Any) -> Weight:
    """Before compression, whether it came from the browser's own cache or not."""
    wait(browser, "return document.readyState == 'complete'")
    script = """
        const all = ["resource", "navigation"].flatMap(k => performance.getEntriesByType(k));
        const cover = (e) => e.name.includes("/covers/");
        return [all.filter(e => !cover(e)), all.filter(cover)].flatMap(some =>
          [some.length, some.reduce((sum, e) => sum + e.decodedBodySize, 0)]);
    """
    return Weight(*browser.execute_script(script))


def overflow(browser: Any) -> int:
    """Pixels by which a page is wider than its screen: a phone's window grows with it."""
    page = "document.documentElement"
    return int(browser.execute_script(f"return {page}.scrollWidth - {page}.clientWidth"))


def sound(browser: Any, address: str, what: tuple[str, int, str]) -> None:
    """What holds for every page, however one came to it."""
    assert overflow(browser) <= 0, what
    found = violations(browser)
    assert not found, (what, found)
    assert browser.execute_script(f"return {STYLED}"), what
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
