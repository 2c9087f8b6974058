"""Recommending: ranked lists from a release and people's own history, by any ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array, Floats
from discreet.errors import ParameterError, require_count
from discreet.release.bending import FACTOR
from discreet.release.choice_columns import choice_columns
from discreet.release.choices import LIKED_FLOOR, ChoiceModel, choice_counts, choice_model, choosers
from discreet.release.lists import (
    CANDIDATES,
    CANDIDATES_EACH,
    DIVERSE_EACH,
    Candidates,
    chance_of_liking,
    likeliest,
    reranked,
    varied,
)
from discreet.release.ranking import RECENCY, Ranking
from discreet.release.recency import recent
from discreet.release.scoring import Own, People, fold_in, score_pairs, top_n

if TYPE_CHECKING:
    from discreet.release.release import Release


class Listed(NamedTuple):
    """Lists of many people, one after the other, best first."""

    who: NDArray[np.int64]
    """The person, by number."""
    what: NDArray[np.int32]
    """The row of the catalogue."""
    score: Floats
    """The predicted rating; of events, how likely the item is beside the first of the list."""
    people: People | None
    """What was folded in on the way: secret. None for events."""


def recommend(
    release: Release, own: Own, n: int, ranking: Ranking, threads: int | None = None
) -> Listed:
    """The n items for everybody that rank first."""
    require_count("n", n)
    ranking.check()
    allowed = ranking.allowed(release.items)
    if release.tallies is None or ranking.by == "liked":
        _require_liking(release)
        return _by_liking(release, own, n, ranking, allowed, threads)
    best = ranking.by == "best"
    model = release.liked_choices if best else release.choice_model
    values = choice_values(release, own, ranking.recency, liked=best)
    found = likeliest(
        model,
        choosers(model, own, values, threads),
        own,
        release.family_members,
        CANDIDATES + CANDIDATES_EACH * n if best else DIVERSE_EACH * n,
        allowed=allowed,
        exclude_rated=ranking.exclude_rated,
        threads=threads,
    )
    if release.events:
        found = _first(found, n, ranking, release)
        return _of_events(found)
    people = fold_in(release.item_scores, own, release.fold_in, threads)
    if best:
        predicted = _predicted(release, people, found.items, threads)
        quarter = release.scale.span / 4
        found = reranked(found, chance_of_liking(predicted, release.mean, quarter))
    found = _first(found, n, ranking, release)
    who, place = np.nonzero(found.items >= 0)
    what = found.items[who, place]
    score = score_pairs(release.item_scores, people, who, what, threads)
    return Listed(who, what, release.scale.clip(score), people)


def build_choice_model(release: Release, *, liked: bool) -> ChoiceModel:
    """What is publicly known of choosing, from a release with tallies; `liked` for "best"."""
    assert release.tallies is not None
    counts = choice_counts(release.tallies, liked=False)
    weights = choice_counts(release.tallies, liked=liked)
    hidden = [k for k, name in enumerate(release.factor_names) if name.startswith(FACTOR)]
    columns = choice_columns(
        counts,
        release.item_effects,
        release.features,
        release.choices,
        weights,
        release.item_factors[:, hidden],
    )
    return choice_model(columns, counts, weights)


def choice_values(
    release: Release, own: Own, recency: float = RECENCY, *, liked: bool = True
) -> Floats:
    """What each of one's own ratings, or events, counts as a choice: from 0 to 1."""
    late = recent(own, recency)
    if not liked:
        return late
    share = np.asarray((own.ratings - release.scale.lo) / release.scale.span, dtype=np.float64)
    return late * (share if release.events else LIKED_FLOOR + (1 - LIKED_FLOOR) * share)


def item_profiles(release: Release) -> Array:
    """A row of length 1 for every item: its flags (genres), else its columns of choice."""
    if release.features.flags:
        rows = np.column_stack(list(release.features.flags.values())).astype(np.float32)
    elif release.tallies is not None:
        rows = release.choice_model.rows[:, 1:]
    else:
        return np.zeros((len(release.items), 1), dtype=np.float32)
    norms = np.sqrt(np.einsum("jk,jk->j", rows, rows))
    return np.asarray(rows / np.maximum(norms, 1e-12)[:, None])


def _require_liking(release: Release) -> None:
    if release.events:
        raise ParameterError(
            "rank_by='liked' ranks by predicted ratings, and a release of events predicts none: "
            "rank by 'best' or 'likely'"
        )


def _by_liking(
    release: Release,
    own: Own,
    n: int,
    ranking: Ranking,
    allowed: NDArray[np.bool_] | None,
    threads: int | None,
) -> Listed:
    people = fold_in(release.item_scores, own, release.fold_in, threads)
    pool = DIVERSE_EACH * n if ranking.diversity else n
    who, what, score = top_n(
        release.item_scores,
        people,
        own,
        pool,
        allowed=allowed,
        exclude_rated=ranking.exclude_rated,
        threads=threads,
    )
    if ranking.diversity:
        found = _table(len(own.ptr) - 1, who, what, score / (release.scale.span / 4))
        found = _first(found, n, ranking, release)
        who, place = np.nonzero(found.items >= 0)
        what = found.items[who, place]
        score = score_pairs(release.item_scores, people, who, what, threads)
    return Listed(who, what, release.scale.clip(score), people)


def _table(people: int, who: Array, what: Array, score: Array) -> Candidates:
    """Lists one after the other as a table, a row for each person."""
    place = np.arange(len(who)) - np.searchsorted(who, who)
    width = int(place.max(initial=-1)) + 1
    items = np.full((people, width), -1, dtype=np.int32)
    scores = np.full((people, width), -np.inf, dtype=np.float32)
    items[who, place], scores[who, place] = what, score
    return Candidates(items, scores)


def _first(found: Candidates, n: int, ranking: Ranking, release: Release) -> Candidates:
    if ranking.diversity and found.items.shape[1]:
        return varied(found, n, ranking.diversity, release.item_profiles)
    return Candidates(found.items[:, :n], found.scores[:, :n])


def _predicted(
    release: Release, people: People, items: NDArray[np.int32], threads: int | None
) -> Floats:
    """The predicted rating of every candidate; where there is none, anything."""
    who = np.repeat(np.arange(len(items)), items.shape[1])
    scores = score_pairs(release.item_scores, people, who, items.ravel(), threads)
    return scores.reshape(items.shape)


def _of_events(found: Candidates) -> Listed:
    who, place = np.nonzero(found.items >= 0)
    first = found.scores[who, 0].astype(np.float64)
    score = np.exp(found.scores[who, place] - first)
    return Listed(who, found.items[who, place], score, None)
