"""Fetch pictures of items from hosts that the operator approves, all of them, ahead of time.

A host that was asked when somebody looks at an item would learn that they do; so no page and no
service ever asks one. Nothing is fetched from a host that was not named, nor from where one of
them sends us on.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from discreet.database import catalogue
from discreet.database.connection import Database
from discreet.database.pictures import elsewhere, place
from discreet.errors import ParameterError
from discreet.progress import Progress, silent

MOST_BYTES = 5_000_000
SECONDS = 20


class Fetched(NamedTuple):
    """What became of the pictures."""

    new: int
    present: int
    refused: int
    """Of hosts that were not named, or no picture."""
    failed: int


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Nowhere: what the operator approved is this host."""


_OPENER = urllib.request.build_opener(_Stay)


def fetch_images(
    database: Database, folder: Path, allowed: Collection[str], *, progress: Progress = silent
) -> Fetched:
    """Fetch what the item table's column `image` names and the folder does not have yet."""
    for host in allowed:
        if "/" in host or not host:
            raise ParameterError(f"a host is a name such as images.example.org: got {host!r}")
    with database.reading() as connection:
        items = catalogue.read(connection)
    known = items is not None and "image" in items.frame.columns
    named = items.frame["image"].drop_nulls().to_list() if items is not None and known else []
    addresses = [str(image) for image in named if elsewhere(str(image))]
    folder.mkdir(parents=True, exist_ok=True)
    counts = dict.fromkeys(Fetched._fields, 0)
    for done, address in enumerate(addresses):
        progress("fetch", done, len(addresses))
        counts[_fetch(address, folder, allowed)] += 1
    progress("fetch", len(addresses), len(addresses))
    return Fetched(**counts)


def _fetch(address: str, folder: Path, allowed: Collection[str]) -> str:
    to = place(folder, address)
    if urlsplit(address).netloc not in allowed or to is None:
        return "refused"
    if to.exists():
        return "present"
    try:
        with _OPENER.open(address, timeout=SECONDS) as answer:
            kind = answer.headers.get_content_type()
            content = answer.read(MOST_BYTES + 1)
    except (urllib.error.URLError, OSError, ValueError):
        return "failed"
    if not kind.startswith("image/") or kind.startswith("image/svg") or len(content) > MOST_BYTES:
        return "refused"
    part = to.with_name(f"{to.name}.part")
    part.write_bytes(content)
    part.replace(to)
    return "new"
