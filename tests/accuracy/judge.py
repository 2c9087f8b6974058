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

FREE = ("middle", "constant", "own mean", "former")
"""References that cost no more privacy than the scheme itself, and that it is promised to keep up
with: the middle of the scale; the best constant that Tally's release tells, the mean of all its
noisy votes; the plain mean of one's own training ratings, the middle for somebody without; and
Tally as it was, on the same tallies. For Chorus, too, they are Tally's, at the same levels."""
STRONG = (*FREE, "exact mean", "own mean, drawn")
"""These, and two that know what nothing private can: the exact mean of all training ratings, and
one's own mean drawn towards it. Nothing is promised beside them."""


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
    def at_least(self) -> float:
        """The excess that is there beyond reasonable doubt: three standard errors less.

        Where the true excess is just what is promised, chance alone shows more in about one of
        700 findings, and with only six draws in one of 66; where there is none, practically never.
        """
        return self.excess - 3 * self.error


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
    found |= references(tally, table)
    found["former"] = predict_as_formerly(tally, table, spec, protect.get("unit", "rating"))
    quarter = table.train.scale.span / 4
    return {
        name: float(np.sqrt(np.mean((predicted - table.test.rating) ** 2)) / quarter)
        for name, predicted in found.items()
    }


def references(tally: FactorModel, table: Table) -> dict[str, Array]:
    """What the references predict for the test part: see `FREE` and `STRONG`."""
    train, test = table.train, table.test
    exact = float(np.mean(train.rating, dtype=np.float64))
    row = train.users.rows(test.users.values)[test.user]
    count = np.append(np.diff(train.ptr), 0)[row]
    sums = np.bincount(train.user, weights=train.rating, minlength=len(train.users))
    total = np.append(sums, 0.0)[row]
    return {
        "middle": np.full(len(test), train.scale.middle),
        "constant": np.full(len(test), mean_of_votes(tally)),
        "own mean": np.where(count > 0, total / np.maximum(count, 1), train.scale.middle),
        "exact mean": np.full(len(test), exact),
        "own mean, drawn": (total + OWN_RATINGS * exact) / (count + OWN_RATINGS),
    }


def mean_of_votes(tally: FactorModel) -> float:
    """The mean rating as all noisy votes together tell it; the middle where they tell none."""
    tallies, scale = tally.release.tallies, tally.release.scale
    assert tallies is not None
    against, in_favour = (float(votes.sum()) for votes in tallies.votes())
    if against + in_favour <= 0:
        return scale.middle
    return float(scale.clip(scale.lo + scale.span * in_favour / (against + in_favour)))


def predict_as_formerly(model: FactorModel, table: Table, spec: PrivacySpec, unit: str) -> Array:
    """What the former Tally makes of a model's tallies and of people's own ratings."""
    own, tallies = model.ratings, model.release.tallies
    assert tallies is not None
    features = encode(table.items, len(tallies))
    user = own.users.rows(table.test.users.values)[table.test.user]
    item = own.items.rows(table.test.items.values)[table.test.item]
    found = former.estimate(tallies, own.scale, features, spec, unit)
    return former.predict(found, features, own, user, item)


def judge(
    draws: Sequence[Mapping[str, float]], scheme: str, among: Sequence[str] = FREE
) -> Finding:
    """The excess over that reference whose mean error over the draws is the least."""
    excess = {name: np.array([errors[scheme] - errors[name] for errors in draws]) for name in among}
    name = max(excess, key=lambda name: float(excess[name].mean()))
    worst = excess[name]
    error = float(worst.std(ddof=1) / np.sqrt(len(worst))) if len(worst) > 1 else np.inf
    return Finding(float(worst.mean()), error, name)
