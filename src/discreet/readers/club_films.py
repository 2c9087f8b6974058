"""The cinema club's films: made-up titles, genres, years and series, none of which exists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.arrays import Array

FILMS = 1200
GENRES = (
    "Action", "Adventure", "Animation", "Comedy", "Crime", "Documentary", "Drama",
    "Family", "Fantasy", "Horror", "Musical", "Mystery", "Romance", "Thriller", "War",
)  # fmt: skip
_GENRE_SHARE = (
    0.15, 0.10, 0.05, 0.30, 0.07, 0.04, 0.42, 0.07, 0.03, 0.06, 0.03, 0.04, 0.15, 0.15, 0.05,
)  # fmt: skip
_ADJECTIVES = (
    "Amber", "Borrowed", "Broken", "Crimson", "Distant", "Electric", "Forgotten", "Gentle",
    "Golden", "Hidden", "Hollow", "Humble", "Iron", "Last", "Little", "Lonely", "Midnight",
    "Narrow", "Paper", "Patient", "Quiet", "Restless", "Salt", "Second", "Secret", "Silver",
    "Sleeping", "Stolen", "Velvet", "Wandering", "Wild", "Winter",
)  # fmt: skip
_NOUNS = (
    "Alibi", "Archive", "Balcony", "Bridge", "Carousel", "Clockmaker", "Compass", "Courier",
    "Embers", "Ferry", "Garden", "Harbour", "Island", "Kitchen", "Lantern", "Letter",
    "Lighthouse", "Meridian", "Orchard", "Orchestra", "Passenger", "Piano", "Postcard",
    "Promise", "River", "Sparrow", "Staircase", "Station", "Tailor", "Telegram", "Umbrella",
    "Voyage",
)  # fmt: skip
_PLACES = (
    "Aldermoor", "Brindle Bay", "Castor Street", "Dunholm", "Elverton", "Fennel Row",
    "Greywater", "Hallow Pass", "Ivory Point", "Juniper Hill",
)  # fmt: skip


class Films(NamedTuple):
    """What is publicly known of every film, and as numbers."""

    table: pl.DataFrame
    """item, title, year, genres."""
    genres: Array
    """genres[j, g]: whether film j is of genre g."""
    series: Array
    """Film j continues film series[j]; most films begin a story of their own."""
    age: Array
    """Where a film stands among all by its year, from 0 for the oldest to 1."""


def make_films(rng: np.random.Generator) -> Films:
    """As many films as the club has seen."""
    series = _series(rng)
    genres = _genres(rng, series)
    titles = _titles(rng, series)
    year = 2025 - np.minimum(75, rng.exponential(12, FILMS)).astype(int)
    year = np.minimum(2025, year[series] + 2 * (np.array([t.number for t in titles]) - 1))
    table = pl.DataFrame(
        {
            "item": [f"film-{k:04}" for k in range(1, FILMS + 1)],
            "title": [title.text for title in titles],
            "year": year.astype(np.int16),
            "genres": [[g for g, on in zip(GENRES, row, strict=True) if on] for row in genres],
        }
    )
    older = np.searchsorted(np.sort(year), year, side="left")
    as_old = np.searchsorted(np.sort(year), year, side="right")
    return Films(table, genres, series, (older + as_old) / (2 * FILMS))


def _series(rng: np.random.Generator) -> Array:
    first = np.arange(FILMS)
    sequels = rng.choice(np.arange(1, FILMS), FILMS // 10, replace=False)
    for film in np.sort(sequels):
        first[film] = first[rng.integers(film)]
    return first


def _genres(rng: np.random.Generator, series: Array) -> Array:
    """One to a few genres per film; a sequel has its predecessor's."""
    flags = rng.random((FILMS, len(GENRES))) < np.array(_GENRE_SHARE)
    none = ~flags.any(axis=1)
    flags[none, GENRES.index("Drama")] = True
    return flags[series]


@dataclass(frozen=True)
class _Title:
    text: str
    number: int


def _titles(rng: np.random.Generator, series: Array) -> list[_Title]:
    """Distinct titles; the second film of a series is called "... 2"."""
    pool = [f"The {a} {n}" for a in _ADJECTIVES for n in _NOUNS]
    pool += [f"{n} of {p}" for n in _NOUNS for p in _PLACES]
    names = rng.permutation(pool)
    seen: dict[int, int] = {}
    titles = []
    for film in range(FILMS):
        number = seen[int(series[film])] = seen.get(int(series[film]), 0) + 1
        name = str(names[series[film]])
        titles.append(_Title(name if number == 1 else f"{name} {number}", number))
    return titles
