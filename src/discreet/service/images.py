"""Covers as they are served: a picture file of the operator's, or one that is drawn.

Everything comes from this server: nobody's browser asks elsewhere, and this service asks nobody.
Pictures from other hosts are fetched by `discreet operate images`, all of them, at once, so that
no host learns when somebody looks at an item.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from discreet.database.pictures import KINDS, place
from discreet.service.covers import draw_cover
from discreet.service.sealing import Seal
from discreet.service.search import Card

ANYBODY = ""
"""The owner of addresses on pages that everybody sees."""
_VERSION = "2"
"""Of how covers are drawn: another one gives all of them new addresses."""


class Cover(NamedTuple):
    """A picture, and what it is."""

    content: bytes
    kind: str
    etag: str


def cover_address(seal: Seal, card: Card, owner: str, folder: Path | None) -> str:
    """Where a card's cover is: an address that never changes its content."""
    picture = _picture(card, folder)
    changed = 0 if picture is None else picture.stat().st_mtime_ns
    looks = f"{_VERSION}|{card.title}|{card.year}|{card.genres}|{changed}"
    version = hashlib.sha256(looks.encode()).hexdigest()[:8]
    return f"/covers/{seal.close('cover', owner, f'{version}{card.id}')}"


def item_of(seal: Seal, name: str, owner: str) -> str | None:
    """The item that a cover is of; None if this owner was not given this address."""
    found = seal.open("cover", name, owner)
    return None if found is None else found[8:]


def cover_of(card: Card, folder: Path | None) -> Cover:
    """A card's cover."""
    picture = _picture(card, folder)
    if picture is None:
        return _drawn(card)
    return _cover(picture.read_bytes(), KINDS[picture.suffix.lower()])


def _picture(card: Card, folder: Path | None) -> Path | None:
    """The operator's picture of it, if there is one."""
    found = place(folder, card.image) if folder is not None and card.image else None
    return found if found is not None and found.is_file() else None


@lru_cache(maxsize=4096)
def _drawn(card: Card) -> Cover:
    return _cover(draw_cover(card.title, card.year, card.genres).encode(), "image/svg+xml")


def _cover(content: bytes, kind: str) -> Cover:
    return Cover(content, kind, hashlib.sha256(content).hexdigest()[:16])
