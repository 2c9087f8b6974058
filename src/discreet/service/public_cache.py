"""What is public, held in memory: the catalogue and the latest release, renewed when it is old."""

from __future__ import annotations

import threading
import time
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.data.items import Items
from discreet.database import catalogue, ledger
from discreet.database.connection import Database
from discreet.database.declaration import catalogue_version
from discreet.errors import ParameterError
from discreet.release.ranking import BEST, RANKINGS, Ranking
from discreet.release.recommending import recommend
from discreet.release.release import Release
from discreet.release.scoring import Own
from discreet.service import logs

RENEW_SECONDS = 1.0


class Card(NamedTuple):
    """What the page shows of an item; all of it public."""

    id: str
    title: str
    year: int | None
    genres: tuple[str, ...]
    words: str
    """The title as a search sees it."""


class Pick(NamedTuple):
    """One recommendation."""

    item: str
    score: float


@dataclass(frozen=True, eq=False)
class Model:
    """A release, ready to recommend from."""

    entry: ledger.ReleaseEntry
    release: Release
    ids: list[str] = field(init=False)
    rows: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", [str(id_) for id_ in self.release.item_ids.values])
        object.__setattr__(self, "rows", {id_: row for row, id_ in enumerate(self.ids)})

    @property
    def protects(self) -> bool:
        """False if this release was seeded, or one that it adds to: then it protects nobody."""
        return not self.release.certificate.seeded

    def recommend(
        self, own: Sequence[tuple[str, float]], n: int, ranking: Ranking = BEST
    ) -> list[Pick]:
        """The n best unrated items for a person, from that person's own ratings alone."""
        known = sorted((self.rows[item], rating) for item, rating in own if item in self.rows)
        rows, ratings = zip(*known, strict=True) if known else ((), ())
        mine = Own(
            np.array([0, len(known)], dtype=np.int64),
            np.array(rows, dtype=np.int32),
            np.array(ratings, dtype=np.float64),
        )
        listed = recommend(self.release, mine, n, ranking, threads=1)
        return [
            Pick(self.ids[row], round(value, 4))
            for row, value in zip(listed.what.tolist(), listed.score.tolist(), strict=True)
        ]

    def prepare(self) -> None:
        """Load compiled code and compute what is public of all lists now, not when one is asked."""
        for by in RANKINGS:
            with suppress(ParameterError):  # of events nothing is ranked by liking
                self.recommend([], 1, Ranking(by=by))

    def popularity(self) -> NDArray[np.float64]:
        """Noisy counts, as released: anybody can see them."""
        tallies = self.release.tallies
        return np.zeros(len(self.ids)) if tallies is None else np.add(*tallies.votes())


@dataclass(frozen=True, eq=False)
class Catalogue:
    """All items as cards, and in the order in which they are shown."""

    version: int
    cards: dict[str, Card]
    ids: Any
    """The ids as a series, for hashing."""

    @classmethod
    def of(cls, version: int, items: Items | None) -> Catalogue:
        """The cards of an item table."""
        if items is None:
            return cls(version, {}, None)
        cards = {record["item"]: _card(record) for record in items.frame.iter_rows(named=True)}
        return cls(version, cards, items.ids.values)

    def search(self, query: str, popularity: dict[str, float]) -> list[Card]:
        """Titles that hold all words of the query: those that begin with it first, then the more
        popular by the release's noisy counts."""
        words = folded(query).split()
        found = [card for card in self.cards.values() if all(w in card.words for w in words)]
        start = " ".join(words)
        return sorted(
            found,
            key=lambda c: (not c.words.startswith(start), -popularity.get(c.id, 0.0), c.words),
        )


class PublicCache:
    """The newest catalogue and release that the database has, at most a second late."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._lock = threading.Lock()
        self._looked = float("-inf")
        self._catalogue = Catalogue(-1, {}, None)
        self._model: Model | None = None
        self._popularity: dict[str, float] = {}

    @property
    def catalogue(self) -> Catalogue:
        """All items."""
        self._renew()
        return self._catalogue

    @property
    def model(self) -> Model | None:
        """The latest release; None before the first."""
        self._renew()
        return self._model

    def search(self, query: str) -> list[Card]:
        """Items by title."""
        return self.catalogue.search(query, self._popularity)

    def look_again(self) -> None:
        """Something has changed: do not wait for the second to end."""
        self._looked = float("-inf")

    def _renew(self) -> None:
        if time.monotonic() - self._looked < RENEW_SECONDS or not self._lock.acquire(
            blocking=False
        ):
            if self._catalogue.version >= 0:
                return
            self._lock.acquire()  # the very first look: wait for it
        try:
            with self.database.reading() as connection:
                self._renew_from(connection)
        except Exception:
            if self._catalogue.version < 0:
                raise
            logs.failure("public cache not renewed")  # what is there is better than nothing
        finally:
            self._looked = time.monotonic()
            self._lock.release()

    def _renew_from(self, connection: Any) -> None:
        version, number = catalogue_version(connection), ledger.latest(connection)
        if version != self._catalogue.version:
            self._catalogue = Catalogue.of(version, catalogue.read(connection))
        if number and (self._model is None or self._model.entry.number != number):
            entry = ledger.entries(connection)[-1]
            model = Model(entry, Release.from_files(ledger.files(connection, number)))
            model.prepare()
            counts = zip(model.ids, model.popularity().tolist(), strict=True)
            self._popularity, self._model = dict(counts), model


def folded(text: str) -> str:
    """Without case and accents, as people type."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _card(record: dict[str, Any]) -> Card:
    title = str(record.get("title") or record["item"])
    year, genres = record.get("year"), record.get("genres")
    return Card(
        record["item"],
        title,
        None if year is None else int(year),
        tuple(map(str, genres)) if isinstance(genres, list) else (),
        " ".join(folded(title).split()),
    )
