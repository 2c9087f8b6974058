"""What is public, held in memory: the catalogue and the latest release, renewed by a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.engine import Connection

from discreet.data.items import Items
from discreet.database import catalogue, generation, ledger
from discreet.database.connection import Database
from discreet.database.declaration import Declaration, catalogue_version, current
from discreet.database.own_ratings import ForLists
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
    error: float | None = None


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
        self,
        own: Sequence[ForLists],
        n: int,
        ranking: Ranking = BEST,
        *,
        with_error: bool = False,
    ) -> list[Pick]:
        """The n best unrated items for a person, from that person's own ratings alone."""
        known = sorted((self.rows[one.item], *one[1:]) for one in own if one.item in self.rows)
        rows, ratings, times = zip(*known, strict=True) if known else ((), (), ())
        mine = Own(
            np.array([0, len(known)], dtype=np.int64),
            np.array(rows, dtype=np.int32),
            np.array(ratings, dtype=np.float64),
            np.array(times, dtype=np.int64),
        )
        if with_error:
            self.release.require_ratings()
        who, what, score, people = recommend(self.release, mine, n, ranking, threads=1)
        errors: list[float] = []
        if with_error and people is not None:
            errors = self.release.errors(mine, people, who, what, threads=1).tolist()
        return picks_of((self.ids[row] for row in what.tolist()), score.tolist(), errors)

    def prepare(self) -> None:
        """Load compiled code and compute what is public of all lists now, not when one is asked."""
        for by in RANKINGS:
            with suppress(ParameterError):  # of events nothing is ranked by liking
                self.recommend([], 1, Ranking(by=by))

    def popularity(self) -> NDArray[np.float64]:
        """Noisy counts, as released: anybody can see them."""
        tallies = self.release.tallies
        return np.zeros(len(self.ids)) if tallies is None else np.add(*tallies.votes())


def picks_of(
    items: Iterable[str], scores: Iterable[float], errors: Sequence[float] = ()
) -> list[Pick]:
    """A list as it is shown."""
    shown = (round(score, 4) for score in scores)
    if not errors:
        return list(map(Pick, items, shown))
    return list(map(Pick, items, shown, (round(error, 4) for error in errors)))


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


@dataclass(frozen=True, eq=False)
class Public:
    """All that is public at one moment: what belongs together is replaced together."""

    declared: Declaration
    restored: bool
    """Whether there may be ratings that entered and that the ledger does not know of."""
    catalogue: Catalogue
    model: Model | None
    index: SearchIndex


class PublicCache:
    """The newest catalogue and release that the database has.

    A thread looks every second and loads what is new; meanwhile everybody sees what was there.
    Who asks waits for the very first look alone.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.archives = Archives()
        self._public: Public | None = None
        self._looking = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def now(self) -> Public:
        """All of it, as of one moment."""
        if self._public is None:
            self.look_now()
        assert self._public is not None
        return self._public

    @property
    def catalogue(self) -> Catalogue:
        """All items."""
        return self.now.catalogue

    @property
    def model(self) -> Model | None:
        """The latest release; None before the first."""
        return self.now.model

    @property
    def declared(self) -> Declaration:
        """As it is declared now."""
        return self.now.declared

    @property
    def restored(self) -> bool:
        """Whether there may be ratings that entered and that the ledger does not know of."""
        return self.now.restored

    def search(self, query: str) -> list[Card]:
        """Items by title, genre and year."""
        return self.now.index.search(query)

    def begin(self) -> None:
        """Look now, and every second from now on."""
        self._ended.clear()
        self.look_now()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look no more, whoever asks."""
        with self._looking:
            self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def look_now(self) -> None:
        """What is new is there when this returns; not for the event loop, where all would wait."""
        with self._looking:  # whoever is looking may have begun before what is wanted
            if self._ended.is_set():
                return
            try:
                with self.database.reading() as connection:
                    self._public = _read(connection, self._public)
            except Exception:
                if self._public is None:
                    raise
                logs.failure("public cache not renewed")  # what is there is better than nothing

    def _keep(self) -> None:
        while not self._ended.wait(RENEW_SECONDS):
            self.look_now()


def _read(connection: Connection, before: Public | None) -> Public:
    """As the database has it; what has not changed is not read again."""
    version, number = catalogue_version(connection), ledger.latest(connection)
    declared, restored = current(connection), generation.was_restored(connection)
    known = None if before is None else before.catalogue
    model = None if before is None else before.model
    new_items = known is None or version != known.version
    new_model = number and (model is None or model.entry.number != number)
    if known is None or new_items:
        items, gone = catalogue.read(connection), catalogue.removed(connection)
        known = Catalogue.of(version, items, gone)
    if new_model:
        entry = ledger.entries(connection)[-1]
        model = Model(entry, Release.from_files(ledger.files(connection, number)))
        model.prepare()
    if before is not None and not new_items and not new_model:
        return replace(before, declared=declared, restored=restored)
    counts = {} if model is None else dict(zip(model.ids, model.popularity().tolist(), strict=True))
    index = SearchIndex(shown(known.cards.values(), counts))
    return Public(declared, restored, known, model, index)


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
