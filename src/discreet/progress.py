"""Progress: long work reports (what, done, total); a face decides how to show it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many steps are done, and how many there are."""


def silent(what: str, done: int, total: int) -> None:
    """Report to nobody."""
    del what, done, total
