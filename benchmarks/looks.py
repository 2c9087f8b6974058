"""Every page of the service in a real browser: pictures, and what axe-core and the network say.

    python -m benchmarks.looks /tmp/looks                     # all pages, three widths, two themes
    python -m benchmarks.looks /tmp/looks --kinds demo --only home --widths 390

One browser, and one service at a time: the demo, one of events, one with a scale of ten points, one
that was restored from a backup, with half stars and many levels, and one without a release whose
titles are as odd as titles get. Writes a PNG of the first screens of
every page into the folder, and prints a line for each: violations, layout shift, errors in the
console, requests and bytes without covers, covers. Bytes are before compression. Where a page
follows from what was done and is not loaded anew for a look, its shift is not measured.
"""

from __future__ import annotations

import argparse
import base64
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from tests.browser import looking
from tests.browser.conftest import start_browser
from tests.browser.looking import Weight, click, look, wait
from tests.processes import Served, serving

from discreet.data.events import read_table
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import people, tastes
from discreet.database.connection import Database
from discreet.database.declaration import establish
from discreet.database.people import Role
from discreet.operate.copies import charge_in_full
from discreet.operate.imports import add_items, add_ratings
from discreet.operate.releases import publish
from discreet.readers.club import cinema_club

MEMBER, MEMBERS, SCREENS = "member-0042", 300, 3
"""Who is signed in, of how many; of a page, so many screens are in its picture."""
ODD = [
    "Dr. Strangeways, or: How I Learned to Stop Reading Subtitles and Love the Very Long Title",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "千と二つの夜", "Ночь и утро", "O", "<b>& \"quotes\" 'n' %20</b>", "🌊 The Wave", "1984",
]  # fmt: skip
Page = tuple[str, str | None]
"""Its name, and its path; None where the browser is there already."""


class Seen(NamedTuple):
    """One page at one width in one theme."""

    page: str
    width: int
    theme: str
    violations: list[str]
    shift: float | None
    errors: list[str]
    weight: Weight

    @property
    def line(self) -> str:
        shift = "-" if self.shift is None else f"{self.shift:.3f}"
        bad = f"| {len(self.violations)} | {shift} | {len(self.errors)} "
        weight = f"| {self.weight.requests} | {self.weight.size:,} "
        covers = f"| {self.weight.covers}, {self.weight.covers_size:,} |"
        return f"| {self.page} | {self.width} | {self.theme} {bad}{weight}{covers}"


HEAD = """| page | width | theme | axe | shift | errors | requests | bytes | covers |
|---|---|---|---|---|---|---|---|---|"""


def link(browser: Any, address: str, page: str) -> str:
    """The first item there."""
    browser.get(address + page)
    found = browser.find_element("css selector", "main a.to").get_attribute("href")
    return str(found).removeprefix(address)


def sign_in(browser: Any, address: str, token: str) -> None:
    browser.get(address + "/model")
    browser.delete_all_cookies()
    browser.get(f"{address}/signin#{token}")
    click(browser, "form[action='/signin'] button", "location.pathname != '/signin'")


WELCOME: list[Page] = [("welcome", "/"), ("model", "/model")]


def visitor(browser: Any, address: str) -> Iterator[Page]:
    yield from (*WELCOME, ("sign in", "/signin"), ("proof", "/proof"), ("api", "/api"))
    yield "404", "/nowhere"
    browser.get(address)
    click(browser, "form[action='/join'] button", "document.getElementById('token')")
    yield "a token and the level", None
    yield "level first", "/level"
    click(browser, "form[action='/level'] button", "location.pathname == '/home'")
    yield "a newcomer's home", "/home"
    yield "nothing rated", "/mine"
    yield "nothing left", "/privacy"
    browser.get(address + "/privacy")
    browser.execute_script("document.querySelector('[name=confirm]').checked = true")
    click(browser, "form[action='/erase'] button", "document.title.startsWith('Erased')")
    yield "erased", None
    browser.get(address + "/signin")
    wrong = "const all = [...Array(60)].map(() => fetch('/signin', {method: 'POST', body: new "
    wrong += "URLSearchParams({token: 'x'})})); Promise.all(all).then(arguments[0])"
    browser.execute_async_script(wrong)
    browser.get_log("browser")  # they were refused, as they should be
    browser.find_element("id", "token").send_keys("x")
    click(browser, "form[action='/signin'] button", "document.title.startsWith('429')")
    yield "429", None


def member(browser: Any, address: str) -> Iterator[Page]:
    browser.get(address + "/home")
    if "/level" in browser.current_url:
        yield "level first of a member", None
        click(browser, "form[action='/level'] button", "location.pathname == '/home'")
    yield "home", "/home"
    yield "browse", "/browse"
    browser.get(address + "/browse")
    choose = "const s = document.querySelector('select[name=genre]'); s.value = 'War';"
    browser.execute_script(choose + "s.dispatchEvent(new Event('change', { bubbles: true }))")
    wait(browser, "return document.getElementById('found').textContent.includes(', War')")
    yield "browse with a filter", None
    yield "item", link(browser, address, "/home")
    browser.get(address + "/home")
    click(browser, "#for-you a.lock", "document.getElementById('dialog').open")
    yield "a level", None
    if browser.find_elements("css selector", "#for-you button.no"):
        browser.get(address + "/home")
        click(browser, "#for-you button.no", "document.querySelector('#said button')")
        yield "undo", None
    yield "hidden", "/mine/hidden"
    yield "mine", "/mine"
    yield "rated item", link(browser, address, "/mine")
    yield "my privacy", "/privacy"


def operator(browser: Any, address: str, folder: Path) -> Iterator[Page]:
    yield "operator", "/operator"
    yield "operator's preview", "/operator?preview=true"
    for what, rows in {
        "items": "item,title,year,genres,score\n900,Another,1990,Drama|War,7\n901,One more,,,6\n",
        "ratings": "who,item,stars,date\nann,tt0001,4,1\n",
    }.items():
        table = folder / f"{what}.csv"
        table.write_text(rows)
        browser.get(address + "/operator")
        field = browser.find_elements("css selector", f"form[action$={what}] [type=file]")
        if field:
            field[0].send_keys(str(table))
            click(browser, f"form[action$={what}] button", "document.querySelector('.mapping')")
            yield f"import of {what}", None
    browser.get(address + "/operator/catalogue")
    browser.find_element("id", "words").send_keys("the")
    click(browser, "form[role=search] button", "document.querySelector('ul.items')")
    yield "catalogue", None
    click(browser, "ul.items button", "document.querySelector('.state.counted')")
    yield "taken down", None
    yield "declaration", "/operator/declaration"
    browser.get(address + "/operator")
    rows = "document.querySelectorAll('.stacked:not(.acts) tbody tr')"
    click(browser, "form[action$=publish] button", f"{rows}.length > 1")
    yield "operator with acts and releases", "/operator"


FOR_VISITORS: dict[str, list[Page]] = {
    "new": [*WELCOME, ("sign in with a company", "/signin"), ("503", "/signin/company")],
    "events": WELCOME,
    "restored": WELCOME,
    "ten": [],
}
"""What differs from the demo for those who are not signed in."""


@contextmanager
def demo(folder: Path) -> Iterator[tuple[Served, dict[str, str]]]:
    with serving(folder, "--demo") as served:
        yield served, {"person": served.token("person"), "operator": served.token("operator")}


@contextmanager
def filled(
    folder: Path,
    ratings: Callable[[Any], Ratings] | None,
    *words: str,
    restored: bool = False,
    **declared: Any,
) -> Iterator[tuple[Served, dict[str, str]]]:
    """With a part of the cinema club, or with odd titles and without a release."""
    database, club = Database(folder / "looks.db"), cinema_club()
    found = establish(database, declared)
    if ratings is None:
        ids = [f"odd {k}" for k in range(len(ODD))]
        add_items(database, Items.from_frame(pl.DataFrame({"item": ids, "title": ODD})))
        own = pl.DataFrame({"user": [MEMBER] * 2, "item": ids[:2], "rating": [4.0, 2.0]})
        add_ratings(database, found, Ratings.from_frame(own))
    else:
        add_items(database, club.items)
        few = pl.col("user").is_in(club.ratings.users.values[:MEMBERS].to_list())
        add_ratings(database, found, ratings((found, club.ratings.to_frame().filter(few))))
        publish(database, found)
    if restored:
        charge_in_full(database, found)
    with database.writing() as connection:
        tokens = {"person": people.issue(connection, Role.PERSON, MEMBER)}
        tastes.choose_level(connection, MEMBER, found.usual_level)
        tokens["operator"] = people.issue(connection, Role.OPERATOR)
    database.close()
    with serving(folder, "--database", str(folder / "looks.db"), *words) as served:
        yield served, tokens


def events(given: Any) -> Ratings:
    declared, frame = given
    return read_table(frame.select("user", "item", weight=pl.col("rating")), rules=declared.rules)


def tens(given: Any) -> Ratings:
    _, frame = given
    return Ratings.from_frame(frame.with_columns(rating=pl.col("rating") * 2), scale=(1, 10))


def halves(given: Any) -> Ratings:
    _, frame = given
    half = 0.5 * (pl.int_range(pl.len()) % 2)
    return Ratings.from_frame(frame.with_columns(rating=pl.col("rating") - half), scale=(0.5, 5))


MANY = {"scale": (0.5, 5), "levels": (0.05, 0.1, 0.3, 1.0, 3.0), "delta": 1e-6}
AWAY = ("--oidc-issuer", "http://127.0.0.1:9", "--oidc-client", "discreet")
KINDS: dict[str, Callable[[Path], Any]] = {
    "demo": demo,
    "events": lambda folder: filled(folder, events, events=True),
    "ten": lambda folder: filled(folder, tens, scale=(1, 10)),
    "restored": lambda folder: filled(folder, halves, restored=True, **MANY),
    "new": lambda folder: filled(folder, None, *AWAY),
}


def pages(browser: Any, kind: str, address: str, tokens: Any, folder: Path) -> Iterator[Page]:
    yield from visitor(browser, address) if kind == "demo" else FOR_VISITORS[kind]
    sign_in(browser, address, tokens["person"])
    if kind == "new":
        yield from (("home", "/home"), ("browse", "/browse"), ("hidden", "/mine/hidden"))
        yield "item", link(browser, address, "/browse")
        yield "item with a long title", link(browser, address, "/mine")
    else:
        yield from member(browser, address)
    sign_in(browser, address, tokens["operator"])
    if kind in ("demo", "events"):
        yield from operator(browser, address, folder)
    elif kind == "new":
        yield "operator", "/operator"


def picture(browser: Any, path: Path, width: int) -> None:
    tall = browser.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": min(tall, SCREENS * 844), "scale": 1}
    words = {"clip": clip, "captureBeyondViewport": True}
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", words)
    path.write_bytes(base64.b64decode(taken["data"]))


def see(browser: Any, address: str, page: Page, width: int, theme: str, out: Path) -> Seen:
    name, path = page
    with look(browser, width, theme):
        if path is not None:
            browser.get(address + path)
        wait(browser, "return document.readyState == 'complete'")
        wide = looking.overflow(browser)
        found = [*looking.violations(browser), *([f"too wide: {wide} px"] if wide > 0 else [])]
        shift = None if path is None else looking.shifted(browser)
        picture(browser, out / f"{re.sub(r'[^a-z0-9]+', '-', name)}-{width}-{theme}.png", width)
        weight, own = looking.weighed(browser), browser.current_url
    # That a page was refused is noted as an error of its own address: it was meant to be.
    log = [e["message"] for e in browser.get_log("browser") if e["level"] == "SEVERE"]
    errors = [message for message in log if not message.startswith(f"{own} ")]
    return Seen(name, width, theme, found, shift, errors, weight)


def walked(browser: Any, kind: str, words: argparse.Namespace) -> Iterator[Seen]:
    """Every page of one kind of service, as it is seen."""
    (out := words.out / kind).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, KINDS[kind](Path(name)) as (served, tokens):
        for page in pages(browser, kind, served.address, tokens, Path(name)):
            if words.only and not any(part in page[0] for part in words.only):
                continue
            for width, theme in product(words.widths, ("light", "dark")):
                one = see(browser, served.address, page, width, theme, out)
                one = one._replace(page=f"{kind}: {one.page}")
                print("\n".join([one.line, *one.violations, *one.errors]), flush=True)
                yield one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path, help="a folder for the pictures")
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--only", nargs="*", default=[], help="names of pages, or parts of them")
    parser.add_argument("--widths", nargs="*", type=int, default=[390, 768, 1280])
    words = parser.parse_args()
    print(HEAD, flush=True)
    with start_browser() as browser:
        seen = [one for kind in words.kinds for one in walked(browser, kind, words)]
    largest, most = max(seen, key=lambda s: s.weight.size), max(s.weight.requests for s in seen)
    print(
        f"\n{len(seen)} views of {len({s.page for s in seen})} pages: "
        f"{sum(len(s.violations) for s in seen)} violations, {sum(len(s.errors) for s in seen)} "
        f"errors, shift at most {max(s.shift or 0 for s in seen):.3f}, {most} requests at most, "
        f"{largest.weight.size:,} bytes at most ({largest.page})"
    )


if __name__ == "__main__":
    main()
