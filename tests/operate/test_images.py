"""Pictures of items: from approved hosts alone, ahead of time, and served from here."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import polars as pl
import pytest

from discreet.data.items import Items
from discreet.database.connection import Database
from discreet.database.declaration import establish
from discreet.database.pictures import place
from discreet.errors import ParameterError
from discreet.operate.images import Fetched, fetch_images
from discreet.operate.imports import add_items
from discreet.service.images import cover_address, cover_of
from discreet.service.sealing import Seal
from discreet.service.search import Card
from tests.databases import sqlite as sqlite

PICTURE = b"\x89PNG and so on"


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        away = self.path.startswith("/away")
        self.send_response(302 if away else 200)
        if away:
            self.send_header("Location", "/ok.png")
        kind = {"/text.png": "text/html", "/svg.png": "image/svg+xml"}.get(self.path, "image/png")
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(PICTURE)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def host() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_pictures_come_from_approved_hosts_alone(
    sqlite: Database, tmp_path: Path, host: str
) -> None:
    establish(sqlite, {})
    names = [f"http://{host}/{name}.png" for name in ("ok", "text", "svg", "away")]
    names += ["http://127.0.0.1:1/other.png", "mine.jpg", None]
    frame = pl.DataFrame({"item": [str(k) for k in range(7)], "image": names})
    add_items(sqlite, Items.from_frame(frame))
    folder = tmp_path / "pictures"
    assert fetch_images(sqlite, folder, [host]) == Fetched(1, 0, 3, 1)
    assert fetch_images(sqlite, folder, [host]).present == 1
    kept = place(folder, names[0] or "")
    assert kept is not None
    assert kept.read_bytes() == PICTURE
    with pytest.raises(ParameterError, match="a host is a name"):
        fetch_images(sqlite, folder, [f"http://{host}/"])


def test_a_picture_is_shown_in_place_of_a_drawn_cover_and_nothing_else_is(tmp_path: Path) -> None:
    folder, seal = tmp_path / "pictures", Seal(b"secret")
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "notes.txt").write_text("secret")
    card = Card("1", "A Film", 1990, (), "a film", "one.png")
    before = cover_address(seal, card, "", folder)
    assert cover_of(card, folder).kind == "image/svg+xml"
    (folder / "one.png").write_bytes(PICTURE)
    assert cover_of(card, folder)[:2] == (PICTURE, "image/png")
    assert cover_address(seal, card, "", folder) != before  # nobody keeps the old one
    for image in ("../secret.png", str(tmp_path / "secret.png"), "notes.txt", ".", "one.png/.."):
        assert cover_of(card._replace(image=image), folder).kind == "image/svg+xml"
