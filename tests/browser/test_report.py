"""The report in a real browser: no error, figures that show, switches that work."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.experiments.cells import CDF_AT
from discreet.experiments.report import Report
from tests.browser.looking import overflow

SERIES = ("PDP-PMF", "DP-PMF", "Tally, item table")


def made_up(data: str) -> list[dict[str, Any]]:
    share = [min(1.0, x / 3) for x in CDF_AT]
    numbers = {"mae": 0.8, "seconds": 1.0, "cdf": share}
    rows = [
        {"data": data, "figure": "2", "series": s, "x": x, "fold": f, "rmse": 1 + x + k / 10,
         "rmse_clipped": 1.0, **numbers}
        for k, s in enumerate(SERIES) for x in (0.1, 0.2, 0.3) for f in (1, 2)
    ]  # fmt: skip
    return rows + [
        {"data": data, "figure": "3", "series": s, "x": None, "fold": 1, "rmse": 1.0,
         "rmse_clipped": 1.0, **numbers} for s in ("PDP-PMF1", "DP-PMF")
    ]  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = made_up("one") + made_up("two </script><b>")
    table = pl.DataFrame(rows, infer_schema_length=None)
    return Report(table, "made up").write(tmp_path_factory.mktemp("report"))


def test_files_are_written(page: Path) -> None:
    folder = page.parent
    for name in ("results.parquet", "results.csv", "means.csv", "errors.parquet", "statements.csv"):
        assert (folder / name).stat().st_size > 0
    assert len(list((folder / "figures").glob("one-*.svg"))) == 2
    assert len(list((folder / "figures").glob("one-*.png"))) == 2
    text = page.read_text()
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


def opened(browser: Any, page: Path, width: int = 1100) -> Any:
    browser.set_window_size(width, 900)
    browser.get(page.as_uri())
    return browser


def test_it_opens_without_an_error_and_shows_its_figures(browser: Any, page: Path) -> None:
    opened(browser, page)
    severe = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert severe == []
    figures = browser.find_elements("css selector", "figure svg")
    assert len(figures) == 2
    assert all(figure.size["height"] > 200 for figure in figures)
    lines = browser.find_elements("css selector", "figure[data-figure='2'] path.series")
    assert len(lines) == 3
    assert "holds" in browser.find_element("id", "statements").text


def test_a_switch_changes_the_data_set(browser: Any, page: Path) -> None:
    opened(browser, page)
    tabs = browser.find_elements("css selector", "#tabs button")
    assert [tab.text for tab in tabs] == ["one", "two </script><b>"]
    tabs[1].click()
    chosen = browser.find_elements("css selector", "#tabs button[aria-selected='true']")
    assert [tab.text for tab in chosen] == ["two </script><b>"]
    assert len(browser.find_elements("css selector", "figure svg")) == 2


def test_a_series_can_be_hidden_and_values_shown(browser: Any, page: Path) -> None:
    opened(browser, page)
    browser.find_element("css selector", ".legend button").click()
    first = browser.find_element("css selector", ".legend button")
    assert first.get_attribute("aria-pressed") == "false"
    lines = browser.find_elements("css selector", "figure[data-figure='2'] path.series")
    assert len(lines) == 2
    browser.find_element("css selector", "summary").click()
    assert "1.1000" in browser.find_element("css selector", "details").text


def test_hovering_tells_the_values(browser: Any, page: Path) -> None:
    from selenium.webdriver import ActionChains

    opened(browser, page)
    figure = browser.find_element("css selector", "figure svg")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)
    ActionChains(browser).move_to_element(figure).perform()
    tip = browser.find_element("id", "tip")
    assert tip.is_displayed()
    assert "f_c = 0.2" in tip.text
    assert "PDP-PMF: 1.2000" in tip.text


def test_it_fits_a_phone_and_the_dark(browser: Any, page: Path) -> None:
    opened(browser, page, 400)
    assert overflow(browser) <= 0
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    dark = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert dark == "rgb(20, 23, 28)"
