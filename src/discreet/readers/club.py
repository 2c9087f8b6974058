"""The cinema club: made-up members, films and ratings, generated in a second; all synthetic.

Its shape follows MovieLens 100K: long-tailed popularity and activity, member and film effects,
tastes that follow genres in part and hidden factors in part, whole stars from 1 to 5. Because the
truth is known, it can also say how well a perfect predictor would do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.items import Items
from discreet.data.ratings import Ratings

LABEL = "cinema club (synthetic: made-up members, films and ratings)"
MEMBERS, FILMS, RATINGS = 2000, 1200, 150_000

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

# What a rating is made of, as standard deviations in stars; chosen to resemble MovieLens 100K.
_MEAN, _MEMBER, _FILM, _POPULAR = 2.93, 0.46, 0.52, 0.36
_TASTE, _HIDDEN, _FACTORS, _NOISE = 0.36, 0.42, 5, 0.52
_CUTS = (1.46, 2.24, 3.27, 4.46)
"""An opinion above the k-th cut earns more than k stars: people are fond of threes and fours."""


@dataclass(frozen=True, eq=False)
class Club:
    """The synthetic data set and its truth."""

    ratings: Ratings
    items: Items
    _inner: Array
    """What every member thinks of every film, before chance and rounding."""

    def expected(self, users: Any, items: Any) -> NDArray[np.float64]:
        """The mean rating of each pair under the truth: no predictor can have a smaller RMSE."""
        inner = self._inner[self.ratings.users.rows(users), self.items.ids.rows(items)]
        # With logistic chance, P(more stars than k) = 1 / (1 + exp((cut_k - inner) / noise)).
        above = [1 / (1 + np.exp((cut - inner) / _NOISE)) for cut in _CUTS]
        return np.asarray(1 + sum(above))


def cinema_club(seed: int = 0) -> Club:
    """Generate the club; the same seed gives the same club.

    >>> club = cinema_club()
    >>> len(club.ratings), len(club.items)
    (150000, 1200)
    """
    rng = np.random.default_rng(seed)
    series = _series(rng)
    genres = _film_genres(rng, series)
    popularity = rng.standard_normal(FILMS)
    inner = _inner_opinions(rng, genres, series, popularity)
    member, film = _who_rates_what(rng, popularity, inner)
    chance = rng.logistic(0, _NOISE, len(member))
    stars = 1.0 + np.searchsorted(_CUTS, inner[member, film] + chance)
    items = _catalogue(rng, genres, series)
    member_ids = np.array([f"member-{k:04}" for k in range(1, MEMBERS + 1)])
    frame = pl.DataFrame(
        {
            "user": member_ids[member],
            "item": items["item"].gather(film),
            "rating": stars,
            "timestamp": _when(rng, member),
        }
    )
    return Club(Ratings.from_frame(frame), Items.from_frame(items), inner)


def _series(rng: np.random.Generator) -> Array:
    """Film j continues film series[j]; most films begin a story of their own."""
    first = np.arange(FILMS)
    sequels = rng.choice(np.arange(1, FILMS), FILMS // 10, replace=False)
    for film in np.sort(sequels):
        first[film] = first[rng.integers(film)]
    return first


def _film_genres(rng: np.random.Generator, series: Array) -> Array:
    """One to a few genres per film; a sequel has its predecessor's."""
    flags = rng.random((FILMS, len(GENRES))) < np.array(_GENRE_SHARE)
    none = ~flags.any(axis=1)
    flags[none, GENRES.index("Drama")] = True
    return flags[series]


def _inner_opinions(
    rng: np.random.Generator, genres: Array, series: Array, popularity: Array
) -> Array:
    """mean + member + film + taste for the film's genres + hidden taste, for every pair."""
    member = _MEMBER * rng.standard_normal(MEMBERS)
    film = _FILM * rng.standard_normal(FILMS) + _POPULAR * popularity
    taste = rng.standard_normal((MEMBERS, len(GENRES)))
    shares = genres / np.sqrt(genres.sum(axis=1, keepdims=True))
    strength = 0.7 ** np.arange(_FACTORS)
    strength /= np.sqrt((strength**2).sum())
    hidden_films = rng.standard_normal((FILMS, _FACTORS))
    hidden_films = 0.5 * hidden_films + np.sqrt(0.75) * hidden_films[series]
    own = series == np.arange(FILMS)
    hidden_films[own] /= 0.5 + np.sqrt(0.75)
    hidden = (rng.standard_normal((MEMBERS, _FACTORS)) * strength) @ hidden_films.T
    return np.asarray(_MEAN + member[:, None] + film + _TASTE * taste @ shares.T + _HIDDEN * hidden)


def _who_rates_what(
    rng: np.random.Generator, popularity: Array, inner: Array
) -> tuple[Array, Array]:
    """Every member picks films without repetition: popular ones, and those to their taste."""
    activity = np.exp(rng.normal(0, 0.95, MEMBERS))
    counts = np.maximum(20, np.rint(activity / activity.mean() * RATINGS / MEMBERS)).astype(int)
    most = FILMS * 9 // 20
    counts = np.minimum(counts, most)
    for k in rng.permutation(MEMBERS):  # the clips moved the total; mend it one member at a time
        missing = RATINGS - counts.sum()
        counts[k] = np.clip(counts[k] + missing, 20, most)
    attraction = 1.75 * popularity - 0.13 * popularity**2 + 0.35 * (inner - inner.mean())
    # The largest keys of a Gumbel race are draws without replacement in proportion to exp().
    keys = attraction + rng.gumbel(size=(MEMBERS, FILMS))
    ranks = np.argsort(np.argsort(-keys, axis=1), axis=1)
    member, film = np.nonzero(ranks < counts[:, None])
    return member, film


def _when(rng: np.random.Generator, member: Array) -> Array:
    """Seconds: everybody joins at some time in three years and rates in the months after."""
    joined = rng.integers(0, 3 * 365, MEMBERS)
    days = joined[member] + rng.exponential(60, len(member))
    return (1_600_000_000 + 86_400 * days).astype(np.int64)


def _catalogue(rng: np.random.Generator, genres: Array, series: Array) -> pl.DataFrame:
    titles = _titles(rng, series)
    year = 2025 - np.minimum(75, rng.exponential(12, FILMS)).astype(int)
    later = np.array([titles[j].number for j in range(FILMS)])
    year = np.minimum(2025, year[series] + 2 * (later - 1))
    return pl.DataFrame(
        {
            "item": [f"film-{k:04}" for k in range(1, FILMS + 1)],
            "title": [title.text for title in titles],
            "year": year.astype(np.int16),
            "genres": [[g for g, on in zip(GENRES, row, strict=True) if on] for row in genres],
        }
    )


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
