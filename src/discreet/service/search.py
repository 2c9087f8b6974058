"""Search in the catalogue by an index: parts of titles and genres, beginnings of words, years."""

from __future__ import annotations

import sqlite3
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from weakref import finalize

SHORTEST_PART = 3
"""Letters by which the index finds parts of words; shorter ones are looked for as beginnings."""
YEAR_DIGITS = 4


class Card(NamedTuple):
    """What the page shows of an item; all of it public."""

    id: str
    title: str
    year: int | None
    genres: tuple[str, ...]
    words: str
    """The title as a search sees it."""
    image: str = ""
    """A picture of the operator's: a file's name, or the address that it was fetched from."""


class SearchIndex:
    """Cards in the order in which they are shown, and where each word is found.

    SQLite's full-text index in this process's memory, whichever database there is: what is
    searched is public, and what people look for gets into no database's log.
    """

    def __init__(self, cards: Sequence[Card]) -> None:
        self.cards = list(cards)
        self._lock = threading.Lock()
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        finalize(self, self._index.close)  # every publication has an index of its own
        texts = [(n, " ".join((c.words, *map(folded, c.genres)))) for n, c in enumerate(cards)]
        for table, how in (
            ("parts", "tokenize='trigram'"),
            ("beginnings", "tokenize='unicode61', prefix='1 2'"),
        ):
            self._index.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(text, content='', {how})")
            self._index.executemany(f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", texts)
        self._years: dict[str, set[int]] = {}
        for number, card in enumerate(cards):
            self._years.setdefault(str(card.year), set()).add(number)

    def search(self, query: str) -> list[Card]:
        """Cards that hold all words of the query: those whose title begins with it first, then as
        they are shown."""
        words = folded(query).split()
        if not words:
            return self.cards
        places = set.intersection(*(self._places(word) for word in set(words)))
        start = " ".join(words)
        found = [self.cards[place] for place in sorted(places)]
        return sorted(found, key=lambda card: not card.words.startswith(start))

    def _places(self, word: str) -> set[int]:
        quoted = '"' + word.replace('"', '""').replace("\x00", "") + '"'
        table, wanted = "parts", quoted
        if len(word) < SHORTEST_PART:
            table, wanted = "beginnings", f"{quoted} *"
        query = f"SELECT rowid FROM {table} WHERE text MATCH ?"
        with self._lock:
            places = {row[0] for row in self._index.execute(query, (wanted,))}
        if len(word) == YEAR_DIGITS and word.isdecimal():
            places |= self._years.get(word, set())
        return places


def shown(cards: Iterable[Card], popularity: dict[str, float]) -> list[Card]:
    """The more popular first, by the release's noisy counts."""
    return sorted(cards, key=lambda card: (-popularity.get(card.id, 0.0), card.words))


def folded(text: str) -> str:
    """Without case and accents, as people type."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))
