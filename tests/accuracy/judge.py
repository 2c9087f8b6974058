"""The judge: how far predictions are off, beside what anybody could do without the scheme.

All errors are root mean squares of clipped predictions, in quarters of the scale (stars of five).
The promise is about the excess: a scheme's mean error over draws, less that of the best reference.
A draw is a table of its kind, a division into training and test, and the noise: all three anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import Array
from discreet.data.features import encode
from discreet.data.ratings import Ratings
from discreet.kernels.compute import Compute
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.model import FactorModel
from discreet.schemes.tally import Tally
from tests.accuracy import former
from tests.accuracy.tables import Table
from tests.accuracy.zoo import Kind

PROMISED = 0.005
"""By how many quarters of the scale a prediction may be worse than the best reference."""
DELTA = 1e-7
"""Chorus's delta: below one over the number of ratings of every table of the zoo."""
ALONE = Compute(threads=1)
OWN_RATINGS = 3.0
"""Somebody's own mean is drawn towards another number as if that had been rated so often."""
KNOWN_MEAN = 0.05
"""Where the noise alone leaves a table's mean open by more, in quarters of the scale, no release
of these tallies can know it."""

LEVELS = {
    **{f"{x:g}": PrivacySpec.uniform(x) for x in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)},
    "groups": PrivacySpec.groups(seed=7),
}
OWN_LEVELS = {"own levels": PrivacySpec.column(max_level=1.0, min_level=0.1)}
"""For a kind of table that comes with levels: see `Kind.levels`."""

SETTINGS: dict[str, dict[str, Any]] = {
    "rating": {},
    "person": {"unit": "person"},
    "replace": {"neighbours": Neighbours.REPLACE},
}
"""What is protected."""

FREE = ("middle", "own mean", "former")
"""References that cost no more privacy than the scheme: the middle of the scale; the plain mean of
one's own training ratings, the middle for somebody without; and Tally as it was, on the same
tallies."""
STRONG = (*FREE, "mean", "own mean, drawn")
"""These, and two that know more than anything private can: the exact mean of all training ratings,
and one's own mean, drawn towards it."""


def levels_of(kind: Kind) -> dict[str, PrivacySpec]:
    """The specifications that a kind of table is judged under."""
    return LEVELS | OWN_LEVELS if kind.levels else LEVELS


class Finding(NamedTuple):
    """A scheme's excess over the reference that it is worst beside."""

    excess: float
    error: float
    """The standard error of the excess, from draw to draw."""
    reference: str

    @property
    def sure(self) -> float:
        """The excess that is there beyond reasonable doubt: two standard errors less."""
        return self.excess - 2 * self.error


def measure(
    kind: Kind, spec: PrivacySpec, draw: int, setting: str = "rating", chorus: bool = True
) -> dict[str, float]:
    """The errors of schemes and references in one draw, by name.

    The same draw has the same table whatever is protected and at whichever levels.
    """
    table = kind.make(np.random.default_rng(draw))
    protect = SETTINGS[setting]
    fit: dict[str, Any] = {"seed": draw, "compute": ALONE}
    tally = Tally(items=table.items, **protect).fit(table.train, spec, **fit)
    found = {"Tally": tally.predict_ratings(table.test, clip=True)}
    if chorus:
        scheme = Chorus(items=table.items, delta=DELTA, **protect)
        found["Chorus"] = scheme.fit(table.train, spec, **fit).predict_ratings(
            table.test, clip=True
        )
    found |= references(table.train, table.test)
    found["former"] = predict_as_formerly(tally, table, spec, protect.get("unit", "rating"))
    quarter = table.train.scale.span / 4
    errors = {
        name: float(np.sqrt(np.mean((predicted - table.test.rating) ** 2)) / quarter)
        for name, predicted in found.items()
    }
    return errors | {"doubt": doubt_of_the_mean(tally)}


def references(train: Ratings, test: Ratings) -> dict[str, Array]:
    """What the references predict for the test part: see `FREE` and `STRONG`."""
    middle, mean = train.scale.middle, float(np.mean(train.rating, dtype=np.float64))
    row = train.users.rows(test.users.values)[test.user]
    count = np.append(np.diff(train.ptr), 0)[row]
    sums = np.bincount(train.user, weights=train.rating, minlength=len(train.users))
    total = np.append(sums, 0.0)[row]
    return {
        "middle": np.full(len(test), middle),
        "mean": np.full(len(test), mean),
        "own mean": np.where(count > 0, total / np.maximum(count, 1), middle),
        "own mean, drawn": (total + OWN_RATINGS * mean) / (count + OWN_RATINGS),
    }


def predict_as_formerly(model: FactorModel, table: Table, spec: PrivacySpec, unit: str) -> Array:
    """What the former Tally makes of a model's tallies and of people's own ratings."""
    own, tallies = model.ratings, model.release.tallies
    assert tallies is not None
    features = encode(table.items, len(tallies))
    user = own.users.rows(table.test.users.values)[table.test.user]
    item = own.items.rows(table.test.items.values)[table.test.item]
    found = former.estimate(tallies, own.scale, features, spec, unit)
    return former.predict(found, features, own, user, item)


def doubt_of_the_mean(tally: FactorModel) -> float:
    """The deviation of the mean rating that the tallies' noise alone makes, in quarters."""
    tallies = tally.release.tallies
    assert tallies is not None
    total = max(float(np.add(*tallies.votes()).sum()), 1.0)
    # Of hi B + lo A around the middle: two quarters each, noise of its own unless it is shared.
    factor = 16.0 if tallies.shared_noise else 8.0
    return float(np.sqrt(factor * tallies.noise_variance.sum()) / total)


def judge(
    draws: Sequence[Mapping[str, float]], scheme: str, among: Sequence[str] = FREE
) -> Finding:
    """The excess over that reference whose mean error over the draws is the least."""
    excess = {name: np.array([errors[scheme] - errors[name] for errors in draws]) for name in among}
    name = max(excess, key=lambda name: float(excess[name].mean()))
    worst = excess[name]
    error = float(worst.std(ddof=1) / np.sqrt(len(worst))) if len(worst) > 1 else np.inf
    return Finding(float(worst.mean()), error, name)
