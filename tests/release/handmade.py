"""Releases made by hand: any counts, any columns, nothing fitted."""

from typing import Any

import numpy as np
import polars as pl

from discreet.data.items import Items
from discreet.data.scale import RatingScale
from discreet.privacy.certificate import Certificate
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.privacy.provenance import SEEDED, Catalogue, Provenance
from discreet.privacy.theorems import THEOREMS
from discreet.release.choice_factors import ChoiceFactors
from discreet.release.release import Release
from discreet.release.scoring import FoldIn, Own
from discreet.release.tallies import Tallies

MADE = Provenance(
    scheme="Tally",
    variant="",
    theorem=THEOREMS["tally"],
    catalogue=Catalogue.GIVEN,
    sampler="exact",
    entropy=SEEDED,
)


def handmade(
    in_favour: Any,
    against: Any = None,
    *,
    frame: pl.DataFrame | None = None,
    effects: Any = None,
    variance: float = 0.0,
    **more: Any,
) -> Release:
    """A release of these counts; without votes `against`, of events."""
    votes = np.rint(np.asarray(in_favour, dtype=np.float64) * ONE_VOTE).astype(np.int64)
    other = np.zeros_like(votes)
    if against is not None:
        other = np.rint(np.asarray(against, dtype=np.float64) * ONE_VOTE).astype(np.int64)
    count = len(votes)
    tallies = Tallies(other, votes, np.full(count, variance), events=against is None)
    return Release(
        items=Items.as_published(pl.DataFrame({"item": range(count)}) if frame is None else frame),
        mean=3.5,
        item_effects=np.zeros(count) if effects is None else np.asarray(effects, dtype=np.float64),
        item_factors=np.ones((count, 1)),
        prior=np.zeros(1),
        fold_in=FoldIn(5.0),
        scale=RatingScale(0, 1) if against is None else RatingScale(1, 5),
        certificate=Certificate(MADE),
        **{"tallies": tallies, **more},
    )


def genres_of(count: int, kinds: int = 4) -> pl.DataFrame:
    """Items 0, 1, ... whose genres take turns."""
    names = ["Action", "Comedy", "Drama", "Horror", "Western"]
    return pl.DataFrame(
        {"item": range(count), "genres": [[names[j % kinds]] for j in range(count)]}
    )


def directions(items: int, d: int = 3, seed: int = 0) -> ChoiceFactors:
    """Hidden directions that nobody learned."""
    columns = np.random.default_rng(seed).normal(0, 0.5, (items, d))
    return ChoiceFactors(columns, np.linspace(0.9, 0.5, d))


def histories(lengths: Any, items: int, seed: int = 0, *, ratings: Any = None) -> Own:
    """People's own items, drawn without looking at any column."""
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.choice(items, n, replace=False)) for n in lengths]
    own = np.concatenate([*rows, []]).astype(np.int32)
    values = np.ones(len(own)) if ratings is None else rng.choice(ratings, len(own)).astype(float)
    return Own(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), own, values)
