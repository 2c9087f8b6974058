"""Assess a release: what privacy costs in accuracy and in lists, for the operator alone.

Both are measured on held-out ratings, or events, without noise, so they are as secret as these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from discreet.data.ratings import Ratings
from discreet.database import ledger
from discreet.database.connection import Database
from discreet.database.declaration import Declaration
from discreet.evaluate.judge import judge_lists
from discreet.evaluate.metrics import rmse
from discreet.evaluate.splits import Split, hold_out
from discreet.operate.imports import offered
from discreet.operate.releases import declared_scheme
from discreet.operate.snapshot import Snapshot
from discreet.privacy.spec import PrivacySpec
from discreet.release.release import Release
from discreet.schemes.model import FactorModel

GRID = (0.03, 0.1, 0.3, 1.0, 3.0)
NO_NOISE = 100.0
"""An epsilon at which there is hardly any noise."""
MOST_PEOPLE = 20_000
LEAST_RATINGS = 50
MOST_LISTS = 2_000
"""People whose lists are judged: where hits vary by 1, their mean is off by 1/sqrt(2000) = 0.02."""


class Judged(NamedTuple):
    """How well a model does on what it has not seen."""

    error: float | None
    """None for events: nobody rated anything."""
    hits: float | None


def assess(
    database: Database, declared: Declaration, snapshot: Snapshot, number: int
) -> Mapping[str, Any] | None:
    """Keep how good release `number` and other levels are; None if there is too little."""
    with database.reading() as connection:
        release = Release.from_files(ledger.files(connection, number))
    found = quality_by_level(snapshot, declared, release)
    if found is not None:
        ledger.assess(database, number, found)
    return found


def quality_by_level(
    snapshot: Snapshot, declared: Declaration, release: Release
) -> dict[str, Any] | None:
    """Errors and hits of lists with a tenth of the ratings hidden: at everybody's own level, at one
    for all. Of events, which nobody rated, hits of lists alone.
    """
    data = snapshot.ratings
    if len(data) < LEAST_RATINGS:
        return None
    if len(data.users) > MOST_PEOPLE:
        data = data.of_some_people(MOST_PEOPLE)
    split = hold_out(data, 0.1, seed=0)
    scheme = declared_scheme(replace(declared, publications=1), snapshot.items)
    listed = _few(split)

    def judged(model: FactorModel) -> Judged:
        return Judged(_error(model, split), _hits(model, listed, release))

    def fitted(spec: PrivacySpec) -> Judged:
        return judged(scheme.fit(split.train, spec, seed=0))

    uniform = [(level, fitted(PrivacySpec.uniform(level))) for level in GRID]
    found = {
        "chosen": fitted(offered(declared)),
        "no_noise": fitted(PrivacySpec.uniform(NO_NOISE)),
        "released": judged(FactorModel(release, _over(split.train, release))),
    }
    hits = {
        "uniform": [[level, one.hits] for level, one in uniform],
        **{name: one.hits for name, one in found.items()},
    }
    if data.events:
        return {"hits": hits}
    mean = np.full(len(split.test), float(np.mean(split.train.rating, dtype=np.float64)))
    return {
        "mean": rmse(mean, split.test.rating),
        "uniform": [[level, one.error] for level, one in uniform],
        **{name: one.error for name, one in found.items()},
        "hits": hits,
    }


def _few(split: Split) -> Split:
    """The same training part, and the held-out records of so many people that lists stay quick."""
    return split._replace(test=split.test.subset(split.test.user < MOST_LISTS))


def _hits(model: FactorModel, split: Split, release: Release) -> float | None:
    """How many of ten listed items are among those that somebody hid and liked, or chose, on
    average."""
    share = judge_lists(model, split, release.items)["precision@10"]
    return 10 * share if np.isfinite(share) else None


def _over(train: Ratings, release: Release) -> Ratings:
    return train.with_items(release.item_ids)


def _error(model: FactorModel, split: Split) -> float | None:
    if split.test.events:
        return None
    return rmse(model.predict_ratings(split.test, clip=True), split.test.rating)
