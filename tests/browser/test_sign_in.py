"""Signing in at another site, in a real browser: its rules about cookies are what counts."""

from pathlib import Path
from typing import Any

from discreet.data.ratings import Ratings
from discreet.database.connection import Database
from tests.databases import filled
from tests.processes import serving
from tests.service.providers import CLIENT, SECRET, provider


def test_who_comes_back_from_another_site_is_signed_in(
    browser: Any, small: Ratings, tmp_path: Path
) -> None:
    """The session's cookie is strict: a redirect from there would not take it along."""
    from selenium.webdriver.support.expected_conditions import url_to_be
    from selenium.webdriver.support.ui import WebDriverWait

    database = Database(tmp_path / "club.db")
    filled(database, small)
    database.close()
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    with provider() as company:
        company.address = company.issuer = company.address.replace("127.0.0.1", "localhost")
        company.subject = "u1"
        words = ("--database", str(tmp_path / "club.db"), "--oidc-issuer", company.issuer)
        client = ("--oidc-client", CLIENT, "--oidc-secret-file", str(secret))
        with serving(tmp_path, *words, *client) as served:
            browser.get(f"{served.address}/signin")
            browser.find_element("css selector", "a[href='/signin/company']").click()
            # Who is new here is asked for a level first.
            WebDriverWait(browser, 30).until(url_to_be(f"{served.address}/level"))
            browser.find_element("css selector", "form[action='/level'] button").click()
            WebDriverWait(browser, 30).until(url_to_be(f"{served.address}/home"))
            assert "Sign out" in browser.page_source
    assert "code-0" not in served.log.read_text()
