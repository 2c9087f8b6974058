"""Words of the pages: people rate here, or choose; said in one place for all pages."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.database.declaration import Declaration


@dataclass(frozen=True)
class Words:
    """What people do here, and what it leaves behind."""

    one: str
    """A rating."""
    many: str
    do: str
    """You may rate this."""
    did: str
    """You rated this."""
    done: str
    """It was rated."""
    tap: str
    """What one does on a card."""
    values: str
    """Between which somebody may waver who knows the rest; empty where all are alike."""


_RATING = Words("rating", "ratings", "rate", "rated", "rated", "tap a star", "two ratings")
_CHOICE = Words("choice", "choices", "choose", "chose", "chosen", "tap what you chose", "")
_MEASURED = Words(
    "choice", "choices", "choose", "chose", "chosen", "say what you chose", "two quantities"
)


def words_of(declared: Declaration) -> Words:
    """Of what was declared.

    >>> words_of(Declaration()).many, words_of(Declaration(events=True)).many
    ('ratings', 'choices')
    """
    if not declared.events:
        return _RATING
    return _CHOICE if declared.quantity is None else _MEASURED
