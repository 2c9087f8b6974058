"""The cinema club: made-up members, films and ratings, generated in a second; all synthetic.

Its shape follows MovieLens 100K: long-tailed popularity and activity, member and film effects,
tastes that follow genres and years in part and hidden factors in part, whole stars from 1 to 5. Who
sees what follows taste as well. Because the truth is known, it can also say how well a perfect
predictor and a perfect list would do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import require_count
from discreet.kernels.lists import best_items
from discreet.readers.club_films import FILMS, Films, make_films

LABEL = "cinema club (synthetic: made-up members, films and ratings)"
MEMBERS, RATINGS = 2000, 150_000

# What a rating is made of, as standard deviations in stars; chosen to resemble MovieLens 100K.
_MEAN, _MEMBER, _FILM, _POPULAR = 2.5, 0.46, 0.58, 0.44
_TASTE, _HIDDEN, _AGE, _NOISE = 0.53, 0.42, 0.2, 0.5
_CUTS = (1.46, 2.24, 3.27, 4.46)
"""An opinion above the k-th cut earns more than k stars: people are fond of threes and fours."""
# What a choice is made of, as standard deviations of its log odds; likewise.
_FAME, _LESS_FAME, _FOLLOWS = 2.15, 0.19, 0.4
"""How much popularity draws, how much less it adds at the top, and how members differ in that."""
_GENRE, _FACTOR, _ERA, _SERIES = 1.15, 1.15, 1.2, 1.0
_LIKES = 0.35
"""How much more a film is chosen for every star that it will be given."""
_AGREE = 0.6
"""How far what a member chooses goes with what the member likes: a correlation."""
_FACTORS, _WAVES = 5, 3


@dataclass(frozen=True, eq=False)
class Club:
    """The synthetic data set and its truth."""

    ratings: Ratings
    items: Items
    _inner: Array
    """What every member thinks of every film, before chance and rounding."""
    _drawn: Array
    """How strongly every film draws every member: the next that is seen is film j with odds
    exp(drawn_j), among those not seen yet."""

    def expected(self, users: Any, items: Any) -> NDArray[np.float64]:
        """The mean rating of each pair under the truth: no predictor can have a smaller RMSE."""
        inner = self._inner[self.ratings.users.rows(users), self.items.ids.rows(items)]
        return np.asarray(1 + sum(_above(inner, stars) for stars in range(1, 5)))

    def perfect_lists(self, train: Ratings, target: str = "liked") -> PerfectLists:
        """What recommends by the truth: the odds that a film is seen next, and then liked.

        Its scores are log odds(seen next) + log P(4 stars or more); what was "consumed" is all the
        same, so there the first alone. No list of one film has better odds to be what comes next.
        """
        scores = self._drawn
        if target == "liked":
            scores = scores + np.log(_above(self._inner, 3))
        return PerfectLists(train.with_items(self.items.ids), scores)


@dataclass(frozen=True, eq=False)
class PerfectLists:
    """Recommends what members do not have yet, by the truth."""

    train: Ratings
    scores: Array

    def recommend(self, users: Any, n: int = 10) -> pl.DataFrame:
        """The best n films for each member: frame user, item, rank, score."""
        ids = pl.Series("user", list(users))
        who = self.train.users.rows(ids, strict=True)
        own = self.train.by_user.take(who)
        best = np.full((len(who), min(require_count("n", n), FILMS)), -1, dtype=np.int32)
        score = np.empty(best.shape)
        best_items(FILMS, self.scores[who], own.ptr, own.cols, best, score)
        person, place = np.nonzero(best >= 0)
        return pl.DataFrame(
            {
                "user": ids.gather(person),
                "item": self.train.items.take(best[person, place]),
                "rank": place + 1,
                "score": score[person, place],
            }
        )


def _above(inner: Array, stars: int) -> Array:
    """P(more than so many stars) = 1 / (1 + exp((cut - inner) / noise)): chance is logistic."""
    return np.asarray(1 / (1 + np.exp((_CUTS[stars - 1] - inner) / _NOISE)))


def cinema_club(seed: int = 0) -> Club:
    """Generate the club; the same seed gives the same club.

    >>> club = cinema_club()
    >>> len(club.ratings), len(club.items)
    (150000, 1200)
    """
    rng = np.random.default_rng(seed)
    films = make_films(rng)
    fame = rng.standard_normal(FILMS)
    inner, drawn = _opinions(rng, films, fame)
    member, film, order = _who_sees_what(rng, drawn)
    chance = rng.logistic(0, _NOISE, len(member))
    stars = 1.0 + np.searchsorted(_CUTS, inner[member, film] + chance)
    member_ids = np.array([f"member-{k:04}" for k in range(1, MEMBERS + 1)])
    frame = pl.DataFrame(
        {
            "user": member_ids[member],
            "item": films.table["item"].gather(film),
            "rating": stars,
            "timestamp": _when(rng, member, order),
        }
    )
    return Club(Ratings.from_frame(frame), Items.from_frame(films.table), inner, drawn)


class _Traits(NamedTuple):
    """Traits of films, and how much members differ in their taste for them."""

    films: Array
    """films[j, k]: how much film j has of trait k."""
    sizes: Array
    """How much the taste for trait k varies beside that for others."""
    liking: float
    choice: float

    def tastes(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """What they add to opinions and to choices, which go together in part."""
        liked, others = rng.standard_normal((2, MEMBERS, len(self.sizes)))
        chosen = _AGREE * liked + np.sqrt(1 - _AGREE**2) * others
        films = self.films * self.sizes
        return self.liking * liked @ films.T, self.choice * chosen @ films.T


def _opinions(rng: np.random.Generator, films: Films, fame: Array) -> tuple[Array, Array]:
    """What every member thinks of every film, and how strongly the film draws the member."""
    inner = _MEAN + _MEMBER * rng.standard_normal((MEMBERS, 1))
    inner = inner + _FILM * rng.standard_normal(FILMS) + _POPULAR * fame
    follows = _FAME + _FOLLOWS * rng.standard_normal((MEMBERS, 1))
    drawn = follows * fame - _LESS_FAME * fame**2
    genres = films.genres / np.sqrt(films.genres.sum(axis=1, keepdims=True))
    hidden = _hidden_traits(rng, films.series)
    wave = np.arange(1, _WAVES + 1)
    years = np.sqrt(2) * np.cos(np.pi * wave * films.age[:, None])
    for traits in (
        _Traits(genres - genres.mean(axis=0), np.ones(genres.shape[1]), _TASTE, _GENRE),
        _Traits(hidden, _unit(0.7 ** np.arange(_FACTORS)), _HIDDEN, _FACTOR),
        _Traits(years, _unit(1 / wave), _AGE, _ERA),
    ):
        liked, chosen = traits.tastes(rng)
        inner, drawn = inner + liked, drawn + chosen
    continued = np.bincount(films.series, minlength=FILMS)[films.series] > 1
    fond = rng.standard_normal((MEMBERS, FILMS))[:, films.series]
    drawn = drawn + _SERIES * np.where(continued, fond, 0.0)
    return inner, drawn + _LIKES * (inner - inner.mean(axis=1, keepdims=True))


def _unit(sizes: Array) -> Array:
    """The same proportions, with squares that add up to one."""
    return np.asarray(sizes / np.sqrt((sizes**2).sum()))


def _hidden_traits(rng: np.random.Generator, series: Array) -> Array:
    """Traits that no table tells; those of a sequel are much like those of the first film."""
    hidden = rng.standard_normal((FILMS, _FACTORS))
    near = 0.5 * hidden + np.sqrt(0.75) * hidden[series]
    return np.where((series == np.arange(FILMS))[:, None], hidden, near)


def _who_sees_what(rng: np.random.Generator, drawn: Array) -> tuple[Array, Array, Array]:
    """Every member sees some films, one after the other: member, film, and the how-manieth it was.

    The largest keys of a Gumbel race are draws without replacement in proportion to exp(drawn).
    """
    activity = np.exp(rng.normal(0, 0.95, MEMBERS))
    counts = np.maximum(20, np.rint(activity / activity.mean() * RATINGS / MEMBERS)).astype(int)
    most = FILMS * 9 // 20
    counts = np.minimum(counts, most)
    for k in rng.permutation(MEMBERS):  # the clips moved the total; mend it one member at a time
        missing = RATINGS - counts.sum()
        counts[k] = np.clip(counts[k] + missing, 20, most)
    keys = drawn + rng.gumbel(size=(MEMBERS, FILMS))
    order = np.argsort(np.argsort(-keys, axis=1), axis=1)
    member, film = np.nonzero(order < counts[:, None])
    return member, film, order[member, film]


def _when(rng: np.random.Generator, member: Array, order: Array) -> Array:
    """Seconds: everybody joins at some time in three years and rates in the months after."""
    joined = rng.integers(0, 3 * 365, MEMBERS)
    days = rng.exponential(60, len(member))
    # Members stand in order, so those of each are still together, and now the earliest come first.
    days = days[np.lexsort((days, member))]
    first = np.searchsorted(member, np.arange(MEMBERS))
    seconds = 86_400 * (joined[member] + days[first[member] + order])
    return (1_600_000_000 + seconds).astype(np.int64)
