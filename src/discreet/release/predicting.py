"""Predicting: ratings and their standard errors, from a release and people's own ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.errors import ParameterError
from discreet.release.bending import CONSTANT, bend
from discreet.release.certainty import (
    Folded,
    Predictions,
    doubts_of,
    standard_errors,
    unknown_error,
)
from discreet.release.own_mean import OwnLevel
from discreet.release.scoring import ItemScores, Own, People, fold_in, score_pairs

if TYPE_CHECKING:
    from discreet.release.release import Release


def item_scores(release: Release) -> ItemScores:
    """The values that scoring needs; where columns have names, they may bend."""
    factors, prior, named = release.item_factors, release.prior, release.factor_names
    if named[:1] == (CONSTANT,) and release.tallies is not None and not prior.any():
        factors = bend(factors, release.tallies, release.fold_in.ridge)
        prior = np.zeros(factors.shape[1])
    return ItemScores(
        (release.mean + release.item_effects).astype(factors.dtype),
        factors,
        prior.astype(factors.dtype),
        tuple(release.families.values()),
        _doubts(release),
        _own_level(release),
    )


def predict(
    release: Release, own: Own, items: Any, *, clip: bool, with_error: bool
) -> NDArray[np.float64] | Predictions:
    """One person's predicted rating of each item, and its standard error where that is asked."""
    person = fold_in(release.item_scores, own, release.fold_in, threads=1)
    wanted = release.item_ids.rows(items)
    me = np.zeros_like(wanted)
    scores = score_pairs(release.item_scores, person, me, wanted, threads=1)
    predicted = np.where(wanted >= 0, scores, float(release.typical_scores.mean()))
    if clip:
        predicted = release.scale.clip(predicted)
    if not with_error:
        return predicted
    return Predictions(predicted, errors(release, own, person, me, wanted, threads=1))


def errors(
    release: Release, own: Own, people: People, who: Array, what: Array, threads: int | None
) -> NDArray[np.float64]:
    """The standard error of every pair of person and catalogue row; -1 is unknown."""
    release.require_ratings()
    doubts = release.item_scores.doubts
    if doubts is None:
        raise ParameterError(
            "standard errors need a release of Tally or Chorus, which knows how much it knows "
            f"of an item: got one of {release.certificate.scheme}"
        )
    folded = Folded(release.item_scores, doubts, own, release.fold_in, people)
    known = standard_errors(folded, who, what, release.scale, threads)
    unknown = unknown_error(doubts, release.typical_scores, release.scale)
    return np.where(what >= 0, known, unknown)


def _own_level(release: Release) -> OwnLevel | None:
    """Where the first of the named factors is a constant, it is everybody's own level."""
    if release.factor_names[:1] != (CONSTANT,):
        return None
    ridge = release.fold_in.ridge / float(release.item_factors[0, 0]) ** 2
    return OwnLevel(release.mean, ridge)


def _doubts(release: Release) -> Array | None:
    """As released, or what the tallies tell; None where neither does."""
    if release.item_doubts is not None or release.tallies is None:
        return release.item_doubts
    return doubts_of(release.tallies, release.scale, release.mean)
