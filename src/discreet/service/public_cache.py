"""What is public, held in memory: the catalogue and the latest release, renewed when it is old."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.data.items import Items
from discreet.database import catalogue, generation, ledger
from discreet.database.connection import Database
from discreet.database.declaration import Declaration, catalogue_version, current
from discreet.errors import ParameterError
from discreet.release.ranking import BEST, RANKINGS, Ranking
from discreet.release.recommending import recommend
from discreet.release.release import Release
from discreet.release.scoring import Own
from discreet.service import logs
from discreet.service.immutable import Archives
from discreet.service.search import Card, SearchIndex, folded, shown

RENEW_SECONDS = 1.0


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
    removed: frozenset[str] = frozenset()
    """What was taken down: no card, in no list."""

    @classmethod
    def of(
        cls, version: int, items: Items | None, removed: frozenset[str] = frozenset()
    ) -> Catalogue:
        """The cards of an item table."""
        if items is None:
            return cls(version, {}, None)
        rows = items.frame.iter_rows(named=True)
        cards = {row["item"]: _card(row) for row in rows if row["item"] not in removed}
        return cls(version, cards, items.ids.values, removed)


class PublicCache:
    """The newest catalogue and release that the database has, at most a second late."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._lock = threading.Lock()
        self._looked = float("-inf")
        self._asked = self._answered = 0
        self._catalogue = Catalogue(-1, {}, None)
        self._model: Model | None = None
        self._index = SearchIndex([])
        self._restored = False
        self._declared: Declaration | None = None
        self.archives = Archives()

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

    @property
    def declared(self) -> Declaration:
        """As it is declared now."""
        self._renew()
        assert self._declared is not None
        return self._declared

    @property
    def restored(self) -> bool:
        """Whether there may be ratings that entered and that the ledger does not know of."""
        self._renew()
        return self._restored

    def search(self, query: str) -> list[Card]:
        """Items by title, genre and year."""
        self._renew()
        return self._index.search(query)

    def look_again(self) -> None:
        """Something has changed: do not wait for the second to end."""
        self._asked += 1

    def look_now(self) -> None:
        """Look at once, after whoever is looking: they may have begun before what is wanted."""
        with self._lock:
            self._look()

    def _renew(self) -> None:
        old = time.monotonic() - self._looked >= RENEW_SECONDS or self._answered != self._asked
        if not old or not self._lock.acquire(blocking=False):
            if self._catalogue.version >= 0:
                return
            self._lock.acquire()  # the very first look: wait for it
        try:
            self._look()
        finally:
            self._lock.release()

    def _look(self) -> None:
        asked = self._asked  # who asks from now on is not answered by this look
        try:
            with self.database.reading() as connection:
                self._renew_from(connection)
        except Exception:
            if self._catalogue.version < 0:
                raise
            logs.failure("public cache not renewed")  # what is there is better than nothing
        finally:
            self._looked, self._answered = time.monotonic(), asked

    def _renew_from(self, connection: Any) -> None:
        version, number = catalogue_version(connection), ledger.latest(connection)
        self._restored = generation.was_restored(connection)
        self._declared = current(connection)
        new_items = version != self._catalogue.version
        new_model = number and (self._model is None or self._model.entry.number != number)
        if new_items:
            items, gone = catalogue.read(connection), catalogue.removed(connection)
            self._catalogue = Catalogue.of(version, items, gone)
        if new_model:
            entry = ledger.entries(connection)[-1]
            model = Model(entry, Release.from_files(ledger.files(connection, number)))
            model.prepare()
            self._model = model
        if new_items or new_model:
            popularity: dict[str, float] = {}
            if self._model is not None:
                counts = self._model.popularity().tolist()
                popularity = dict(zip(self._model.ids, counts, strict=True))
            self._index = SearchIndex(shown(self._catalogue.cards.values(), popularity))


def _card(record: dict[str, Any]) -> Card:
    title = str(record.get("title") or record["item"])
    year, genres = record.get("year"), record.get("genres")
    return Card(
        record["item"],
        title,
        None if year is None else int(year),
        tuple(map(str, genres)) if isinstance(genres, list) else (),
        " ".join(folded(title).split()),
        str(record.get("image") or ""),
    )
