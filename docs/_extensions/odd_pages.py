"""Odd files, and the message that each gets: from the tests' own list."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def write(what: str) -> str:
    """A table of all odd files of a kind, "ratings" or "items", as they are read or refused now."""
    sys.path.append(str(ROOT))
    try:
        from tests.readers import odd_files
    finally:
        sys.path.remove(str(ROOT))
    files = {"ratings": odd_files.ODD_FILES, "items": odd_files.ODD_ITEM_TABLES}[what]
    with tempfile.TemporaryDirectory() as folder:
        rows = odd_files.messages(Path(folder), files)
    told = f"{len(files)} files; beside one that is read stands how much of it."
    return f"{told}\n\n| what is odd | what it gets |\n|---|---|\n{rows}"
