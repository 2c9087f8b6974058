"""A real headless Chromium, from the system's packages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def start_browser(*, script: bool = True) -> Iterator[Any]:
    """A browser of its own, with or without JavaScript; skips where there is none."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("no chromium and chromium-driver here: install these packages")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1100,900",
        "--no-first-run", "--disable-background-networking",
    ):  # fmt: skip
        options.add_argument(word)
    if not script:
        blocked = {"profile.managed_default_content_settings.javascript": 2}
        options.add_experimental_option("prefs", blocked)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    started = webdriver.Chrome(options=options, service=service)
    try:
        yield started
    finally:
        started.quit()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with start_browser() as started:
        yield started
