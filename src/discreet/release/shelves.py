"""Shelves: one person's lists side by side, each for another reason, which share no item.

They are made from the release and that person's own ratings alone. Words are the caller's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.release.own import read_own
from discreet.release.ranking import Ranking

if TYPE_CHECKING:
    from discreet.release.release import Release

EACH = 10
"""Items on a shelf."""
BEGIN = 5
"""Ratings from which on lists are one's own."""
LEAST = 4
"""A shelf with fewer items is not worth its place."""
_LIKED = 0.7
"""Of the scale: from 4 of 5 on a rating says that one liked it."""
_SIMILAR = 40
_GEMS = (0.25, 0.6)
"""Hidden gems are chosen more often than a quarter of all items, and less than four tenths."""
_GENRES = 2
GENRE = "genre-"
"""How the name of a shelf of one genre begins; the genre follows."""


class Shelves:
    """Shelves in the making: what stands on one is on no other."""

    def __init__(
        self,
        release: Release,
        my_items: Any,
        my_ratings: Any,
        without: Iterable[Any],
        times: Any,
    ) -> None:
        self.release, self.items, self.ratings = release, list(my_items), list(my_ratings)
        self.times = times
        self.own = read_own(release, self.items, self.ratings, times)
        self.nobody = read_own(release)
        self.taken = list(without)
        """Not interesting, or shown already."""
        self.made: dict[str, pl.DataFrame] = {}

    @property
    def liked(self) -> list[Any]:
        """What the person liked, or chose, and the release knows, in the order that it was told."""
        rows = self.release.item_ids.rows(self.items).tolist()
        ratings = self.ratings or [1.0] * len(rows)
        told = zip(self.items, ratings, rows, strict=True)
        return [i for i, rating, row in told if row >= 0 and is_liked(self.release, rating)]

    def add(
        self, name: str, *, least: int | None = None, newcomer: bool = False, **wanted: Any
    ) -> pl.DataFrame:
        """Make the shelf of what ranks first for this person, or for a newcomer; with too little
        on it, it is not shown."""
        without = [*self.taken, *self.items] if newcomer else self.taken
        own, ranking = self.nobody if newcomer else self.own, Ranking(without=without, **wanted)
        rows = self.release.recommend_rows(own, EACH, ranking, threads=1)
        found = pl.DataFrame(rows.get_columns()[1:])  # without the only person
        if len(found) >= (LEAST if least is None else least):
            self.made[name] = found
            self.taken += found["item"].to_list()
        return found


def shelves(
    release: Release,
    my_items: Any,
    my_ratings: Any,
    without: Iterable[Any],
    times: Any = None,
) -> dict[str, pl.DataFrame]:
    """All shelves by name, the most personal first: frames item, rank, score."""
    making = Shelves(release, my_items, my_ratings, without, times)
    if len(making.items) < BEGIN:  # what is well known, of many kinds: one has an opinion of it
        making.add("begin", least=1, newcomer=True, by="likely", diversity=2.0)
    making.add("for-you", least=1)
    source = _most_telling(making)
    if source is not None:
        near = release.similar_items(source, _SIMILAR)["item"].to_list()
        making.add("because", among=near)
        if "because" in making.made:
            told = pl.lit(source).alias("because")
            making.made["because"] = making.made["because"].with_columns(told)
    making.add("many", newcomer=True)
    making.add("gems", by="best" if release.events else "liked", among=_gems(release))
    for genre in favourite_genres(release, making.liked):
        making.add(f"{GENRE}{genre}", among=pl.col("genres").list.contains(genre))
    return making.made


def is_liked(release: Release, rating: float) -> bool:
    """Whether a rating says that one liked it; whoever chose something is taken to."""
    return release.events or rating >= release.scale.lo + _LIKED * release.scale.span


def _most_telling(making: Shelves) -> Any:
    """Of what one liked, and may be shown, what speaks most for the first of one's list; else the
    first told."""
    mine = making.made.get("for-you")
    liked = [item for item in making.liked if item not in set(making.taken)]
    if not liked or mine is None:
        return None
    first = mine["item"][0]
    told = making.release.explain(making.items, making.ratings, first, times=making.times)
    because = told.because["item"].to_list()
    return next((item for item in because if item in set(liked)), liked[0])


def favourite_genres(release: Release, liked: Sequence[Any]) -> list[str]:
    """Of which one liked more than the catalogue has; a newcomer's: the commonest."""
    listed, everywhere = _genres(release)
    mine = Counter(
        genre for row in release.item_ids.rows(list(liked)).tolist() for genre in listed[row]
    )
    if not mine:
        return [genre for genre, _ in everywhere.most_common(_GENRES)]
    total = len(listed)
    lift = {genre: n / len(liked) - everywhere[genre] / total for genre, n in mine.items()}
    return sorted(lift, key=lambda genre: (-lift[genre], genre))[:_GENRES]


@lru_cache(maxsize=2)
def _genres(release: Release) -> tuple[list[tuple[str, ...]], Counter[str]]:
    """Of every item, and how many items have each."""
    frame = release.items.frame
    if frame.schema.get("genres") != pl.List(pl.String):
        return [()] * len(frame), Counter()
    listed = [tuple(genres or ()) for genres in frame["genres"].to_list()]
    return listed, Counter(genre for genres in listed for genre in genres)


@lru_cache(maxsize=2)
def _gems(release: Release) -> tuple[Any, ...]:
    """Neither the best known nor those of which hardly anything is known."""
    counts = np.zeros(len(release.items))
    if release.tallies is not None:
        counts = np.add(*release.tallies.votes())
    low, high = np.quantile(counts, _GEMS)
    return tuple(release.item_ids.take(np.flatnonzero((counts >= low) & (counts <= high))))
