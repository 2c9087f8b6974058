"""Assess a release: what privacy costs in accuracy, for the operator alone.

Errors are measured on held-out ratings without noise, so they are as secret as the ratings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.database import ledger
from discreet.database.connection import Database
from discreet.database.declaration import Declaration
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


def assess(
    database: Database, declared: Declaration, snapshot: Snapshot, number: int
) -> Mapping[str, Any] | None:
    """Keep the errors of release `number` and of other levels; None if there is too little."""
    with database.reading() as connection:
        release = Release.from_files(ledger.files(connection, number))
    found = errors_by_level(snapshot, declared, release)
    if found is not None:
        ledger.assess(database, number, found)
    return found


def errors_by_level(
    snapshot: Snapshot, declared: Declaration, release: Release
) -> dict[str, Any] | None:
    """Test errors with a tenth of the ratings hidden: at everybody's own level, at one for all.

    Of events there are none: nobody rated anything.
    """
    data = snapshot.ratings
    if len(data) < LEAST_RATINGS or data.events:
        return None
    if len(data.users) > MOST_PEOPLE:
        data = data.of_some_people(MOST_PEOPLE)
    split = hold_out(data, 0.1, seed=0)
    scheme = declared_scheme(declared, snapshot.items)

    def error(spec: PrivacySpec) -> float:
        return _error(scheme.fit(split.train, spec, seed=0), split)

    mean = np.full(len(split.test), float(np.mean(split.train.rating, dtype=np.float64)))
    return {
        "mean": rmse(mean, split.test.rating),
        "chosen": error(offered(declared)),
        "uniform": [[level, error(PrivacySpec.uniform(level))] for level in GRID],
        "no_noise": error(PrivacySpec.uniform(NO_NOISE)),
        "released": _error(FactorModel(release, _over(split.train, release)), split),
    }


def _over(train: Ratings, release: Release) -> Ratings:
    return train.with_items(release.item_ids)


def _error(model: FactorModel, split: Split) -> float:
    return rmse(model.predict_ratings(split.test, clip=True), split.test.rating)
