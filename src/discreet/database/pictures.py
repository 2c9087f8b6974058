"""Pictures of items: which files they are, beside the database; what they show is public."""

from __future__ import annotations

import hashlib
from pathlib import Path

KINDS = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png",
         ".webp": "image/webp", ".avif": "image/avif"}  # fmt: skip
"""By the end of a file's name. SVG is not among them: it may hold scripts."""


def elsewhere(image: str) -> bool:
    """Whether an item table names an address, not a file."""
    return image.startswith(("https://", "http://"))


def file_name(image: str) -> str:
    """The file that holds a picture: its own name, or one made from the address it came from.

    >>> file_name("covers/12.jpg")
    'covers/12.jpg'
    """
    if not elsewhere(image):
        return image
    suffix = Path(image.split("?")[0]).suffix.lower()
    digest = hashlib.sha256(image.encode()).hexdigest()[:32]
    return digest + (suffix if suffix in KINDS else ".jpg")


def place(folder: Path, image: str) -> Path | None:
    """Where a picture is, or would be; None for what is no picture, or outside of the folder."""
    found = (folder / file_name(image)).resolve()
    inside = found.is_relative_to(folder.resolve()) and found.suffix.lower() in KINDS
    return found if inside else None
