"""Pages that explain and import: proofs to read, tables that are looked at before they count."""

import json
import os
import subprocess
import threading
import time
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import catalogue, publications
from discreet.database.connection import Database
from discreet.operate.imports import add_items
from discreet.privacy.theorems import THEOREMS
from discreet.service import uploads
from discreet.service.problems import Problem
from discreet.service.proofs import proof_page
from tests.service.clubs import OUR_PAGE, Club, open_club
from tests.service.test_access import signed_in


@pytest.mark.parametrize("name", ["tally", "incremental"])
def test_a_proof_can_be_read_and_leads_nowhere_else(name: str) -> None:
    text = proof_page(THEOREMS[name])
    assert "Theorem</h3>" in text
    assert "<em>Proof.</em>" in text
    assert "href=" not in text.replace('href="#', "")
    assert "<h1" not in text


def test_the_model_page_speaks_plainly_and_keeps_the_exact_words(small_club: Club) -> None:
    page = small_club.client.get("/model", headers=OUR_PAGE).text
    statement = small_club.app.state.service.model().release.certificate.statement
    assert "Levels add up" in page
    assert statement.split(".")[0] in page.replace("&#39;", "'")
    assert "Read its proof" in page


def table(folder: Path, name: str, text: str) -> Path:
    place = folder / name
    place.write_text(text)
    return place


def understood(sent: Path, what: str = "ratings", encoding: str = "") -> uploads.Understood:
    return uploads.understand(sent, uploads.fields_of(what, None), encoding)


def test_columns_are_guessed_by_their_usual_names(tmp_path: Path) -> None:
    sent = table(tmp_path, "a.csv", "Customer_ID;movie_id;Stars\nann;100;5\nbob;101;4\n")
    found = understood(sent)
    assert found.columns == ["Customer_ID", "movie_id", "Stars"]
    assert found.guessed == {
        "user": "Customer_ID", "item": "movie_id", "rating": "Stars", "epsilon": "",
        "timestamp": "",
    }  # fmt: skip
    assert found.rows[0] == ["ann", "100", "5"]
    assert (found.separator, found.encoding) == (";", "utf-8")
    needed = uploads.needed("ratings", None)
    reading = uploads.Reading("ratings", found.guessed, needed, found.separator)
    assert reading.options[:2] == ["--columns=user=Customer_ID", "--columns=item=movie_id"]
    with pytest.raises(Problem, match="choose the column"):
        _ = uploads.Reading("ratings", {"user": "u", "item": "i"}, needed).options
    with pytest.raises(Problem, match="no table"):
        understood(table(tmp_path, "b.parquet", "nothing"), "items")


def test_an_encoding_is_told_from_the_bytes_unless_it_is_said(tmp_path: Path) -> None:
    text = "user;item;rating\nRené;100;5\n"
    for encoding, told in (("utf-8", "utf-8"), ("utf-16", "utf-16"), ("latin-1", "windows-1252")):
        place = tmp_path / f"{encoding}.csv"
        place.write_bytes(text.encode(encoding))
        found = understood(place)
        assert (found.encoding, found.rows[0][0]) == (told, "René")
    assert understood(place, encoding="windows-1251").rows[0][0] == "Renй"


def looked_at(club: Club, what: str, text: bytes) -> str:
    """The page that shows how a table was understood."""
    sent = {"table": ("new.csv", text, "text/csv")}
    return club.client.post(f"/operator/{what}", files=sent, headers=OUR_PAGE).text


def on_the_page(club: Club, page: str, **changed: object) -> str:
    """What follows when the form of that page is sent, with changes."""
    form = {"sealed": page.split('name="sealed" value="')[1].split('"')[0], "separator": ","}
    sent = form | changed
    return club.client.post("/operator/import", data=sent, headers=OUR_PAGE).text


def test_what_an_import_asks_for_can_be_said_on_the_page(small_club: Club) -> None:
    """Encoding, the latest of several, and columns that are public: no command line is needed."""
    signed_in(small_club, "operator")
    service = small_club.app.state.service
    text = "user,item,rating,timestamp\nRené,100,2,20\nRené,100,5,30\nRené,100,1,10\n"
    page = looked_at(small_club, "ratings", text.encode("latin-1"))
    assert '<option value="windows-1252" selected>' in page
    assert "Two ratings of one pair" in page
    form = {"what": "ratings", "column-user": "user", "column-item": "item",
            "column-rating": "rating", "column-timestamp": "timestamp", "keep": "last"}  # fmt: skip
    wrong = on_the_page(small_club, page, **form, encoding="windows-1251", action="look")
    assert "Renй" in wrong
    assert 'name="keep" value="last" checked' in wrong
    assert "no_encoding" not in wrong
    done = on_the_page(small_club, wrong, **form, encoding="windows-1252")
    assert "Ratings read: <b>1</b>" in done
    assert [own.rating for own in service.own("René")] == [5.0]

    page = looked_at(small_club, "items", b"item,title,score\n100,Film 0,7\n901,New,8\n")
    assert 'name="vouched" value="score"' in page
    form = {"what": "items", "column-item": "item", "column-title": "title", "vouched": "score"}
    again = on_the_page(small_club, page, **form, action="look")
    assert 'value="score" checked' in again
    assert "Left out" not in again
    assert "Left out" not in on_the_page(small_club, again, **form)
    with small_club.database.reading() as connection:
        assert "score" in catalogue.read(connection).frame.columns


def test_a_table_is_looked_at_before_it_is_imported(small_club: Club) -> None:
    signed_in(small_club, "operator")
    sent = {"table": ("new.csv", "sku;name\n777;A New One\n", "text/csv")}
    looked = small_club.client.post("/operator/items", files=sent, headers=OUR_PAGE)
    assert "As it would be imported" in looked.text
    assert "Items in the table: <b>1</b>, new: <b>1</b>" in looked.text
    service = small_club.app.state.service
    assert "777" not in service.public.catalogue.cards
    sealed = looked.text.split('name="sealed" value="')[1].split('"')[0]
    form = {"sealed": sealed, "what": "items", "separator": ";",
            "column-item": "sku", "column-title": "name"}  # fmt: skip
    done = small_club.client.post("/operator/import", data=form, headers=OUR_PAGE)
    assert "New in the catalogue: <b>1</b>" in done.text
    assert service.card("777").title == "A New One"
    again = small_club.client.post("/operator/import", data=form, headers=OUR_PAGE)
    assert again.status_code == 422  # it was removed
    shown = small_club.client.get("/operator", headers=OUR_PAGE).text
    assert "import items" in shown
    signed_in(small_club, "u1")
    foreign = small_club.client.post("/operator/import", data=form, headers=OUR_PAGE)
    assert foreign.status_code == 403


def test_what_cannot_be_imported_is_said_beside_its_columns(small_club: Club) -> None:
    signed_in(small_club, "operator")
    text = "who,what,stars\nann,100,5\nann,nowhere,4\n"
    sent = {"table": ("new.csv", text, "text/csv")}
    looked = small_club.client.post("/operator/ratings", files=sent, headers=OUR_PAGE)
    assert "Choose the column that holds: user" in looked.text
    assert "Which column is what" in looked.text
    sealed = looked.text.split('name="sealed" value="')[1].split('"')[0]
    form = {"sealed": sealed, "what": "ratings", "separator": ",", "action": "look",
            "column-user": "who", "column-item": "what", "column-rating": "stars"}  # fmt: skip
    again = small_club.client.post("/operator/import", data=form, headers=OUR_PAGE)
    assert "nowhere" in again.text.split('role="alert"')[1].split("</p>")[0]
    assert '<option value="who" selected>' in again.text
    assert small_club.app.state.service.own("ann") == []


def test_ratings_are_shown_with_titles_and_levels_before_they_count(small_club: Club) -> None:
    signed_in(small_club, "operator")
    sent = {"table": ("new.csv", "user,item,rating\nann,100,5\n", "text/csv")}
    looked = small_club.client.post("/operator/ratings", files=sent, headers=OUR_PAGE).text
    assert "Ratings in the table: <b>1</b>, different films: <b>1</b>, people: <b>1</b>" in looked
    row = looked.split("As it would be imported")[-1]
    assert "Film 0" in row
    assert "epsilon 0.1" in row
    assert "everything in it gets the declared default" in looked


def test_a_running_publication_tells_how_far_it_is(small_club: Club) -> None:
    programs = small_club.app.state.service.programs
    publications.begin(small_club.database, programs.name, lambda _: True)
    errors: list[str] = []
    told = SimpleNamespace(stderr=StringIO("read: 1/2\nerror: no room\n"))
    programs._follow(told, threading.Event(), errors)
    assert errors == ["error: no room\n"]
    signed_in(small_club, "operator")
    shown = small_club.client.get("/operator/publication", headers=OUR_PAGE).text
    assert "reading the ratings" in shown
    assert 'max="2" value="1"' in shown


class Publisher:
    """As `operate publish` looks to who started it; what it says, the test writes."""

    returncode = 0

    def __init__(self) -> None:
        self.ends = [os.pipe(), os.pipe()]
        self.stdout, self.stderr = (os.fdopen(read) for read, _ in self.ends)
        self.says, self.tells = (os.fdopen(write, "w") for _, write in self.ends)
        self.ended = threading.Event()

    def poll(self) -> int | None:
        return 0 if self.ended.is_set() else None

    def wait(self, timeout: float | None = None) -> int:
        if not self.ended.wait(timeout):
            raise subprocess.TimeoutExpired("publish", timeout or 0)
        return 0

    def end(self) -> None:
        self.says.close()
        self.tells.close()
        self.ended.set()

    def __enter__(self) -> "Publisher":
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        self.stdout.close()
        self.stderr.close()


def test_what_still_assesses_is_not_taken_for_the_next_publication(
    small_club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = small_club.app.state.service.programs
    first, second = Publisher(), Publisher()
    started = iter([first, second])
    monkeypatch.setattr(programs, "_start", lambda *_: next(started))
    programs.publish()
    watching = programs._watching
    print(json.dumps({"number": 2}), file=first.says, flush=True)
    for _ in range(600):
        if programs.publication.state == "published":
            break
        time.sleep(0.05)
    programs.publish()
    print("assess: 1/2", file=first.tells, flush=True)
    first.end()
    for thread in watching:
        thread.join(30)
    assert programs.publication.state == "running"
    assert programs.publication.step != "assess"
    second.end()
    for thread in programs._watching:
        thread.join(30)
    assert programs.publication.state == "failed"


def test_an_item_that_has_just_come_is_found_while_another_look_is_under_way(
    small_club: Club,
) -> None:
    service, found = small_club.app.state.service, []
    assert "901" not in service.public.catalogue.cards
    add_items(small_club.database, Items.from_frame(pl.DataFrame({"item": ["901"]})))
    looking = threading.Thread(target=lambda: found.append(service.card("901").id))
    with service.public._looking:  # somebody looks who began before
        looking.start()
        looking.join(0.2)
    looking.join()
    assert found == ["901"]


def test_a_table_that_nobody_came_back_for_goes_by_itself(
    tmp_path: Path, sqlite: Database, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold all ratings; and what lies there by the same name is no hindrance."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    old, others = (tmp_path / f"discreet-upload-{name}" for name in ("old.csv", "others"))
    old.write_text("user,item,rating\n")
    others.mkdir()
    for place in (old, others):
        os.utime(place, (0, 0))
    with open_club(sqlite, small):
        for _ in range(1000):
            if not old.exists():
                break
            time.sleep(0.02)
        new = uploads.keep_place(".csv")
    assert not old.exists()
    assert new.exists()
