"""Words of promises: what is said of ratings, said of events."""

from __future__ import annotations

import re

_OF_EVENTS = {
    "rating scale": "rules of events",
    "a rating": "an event",
    "rated items": "chosen items",
    "rated what": "chose what",
    "Ratings": "Events",
    "ratings": "events",
    "rating": "event",
    "rates": "chooses",
    "rated": "chosen",
}
_WORDS = re.compile(rf"\b({'|'.join(_OF_EVENTS)})\b")


def of_events(text: str) -> str:
    """A text about ratings, for a release of events.

    >>> of_events("The epsilons of all ratings of one person add up: who rated what is secret.")
    'The epsilons of all events of one person add up: who chose what is secret.'
    """
    return _WORDS.sub(lambda found: _OF_EVENTS[found.group()], text)
