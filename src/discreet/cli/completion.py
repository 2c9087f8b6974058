"""What a shell completes besides commands and options: the values that an option may have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def completing(values: Callable[[], Iterable[str]]) -> dict[str, Any]:
    """What Typer must be told of an option or argument for which these are the values.

    They are looked up when a shell asks, not before.

    >>> completing(lambda: ["likely", "liked"])["autocompletion"]("lik")
    ['likely', 'liked']
    """

    def complete(incomplete: str) -> list[str]:
        return [value for value in values() if value.startswith(incomplete)]

    return {"autocompletion": complete}


def one_of(words: str) -> dict[str, Any]:
    """The same for an option whose values are shown as best|likely|liked; a sample is none of them.

    >>> list(one_of("tally|module:Class"))
    ['metavar', 'autocompletion']
    >>> one_of("tally|module:Class")["autocompletion"]("")
    ['tally']
    """
    values = [word for word in words.split("|") if ":" not in word]
    return {"metavar": words, **completing(lambda: values)}


def data_sets() -> Iterable[str]:
    """The names of data sets; where none fits, a shell completes files by itself."""
    from discreet.readers.datasets import DATA_SETS

    return DATA_SETS
