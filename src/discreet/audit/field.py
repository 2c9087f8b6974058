"""The field under attack: every scheme's claim, through its public `fit`.

Tables are small and ratings extreme: three people who rated everything, and a fourth who is there
or not, or one of whose ratings is. What is claimed is (1, 0.1), or 1 where a scheme is pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import Array, Floats
from discreet.audit.fits import ALONE, FitRuns, released
from discreet.audit.game import Game
from discreet.audit.neighbours import Pair, crowd, four_people
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.field import FIELD, find_field
from discreet.field.base import FieldScheme
from discreet.field.budget import GaussianBudget
from discreet.field.friedman import Friedman, perturbed
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.base import Run
from discreet.schemes.catalogue import to_train_on
from discreet.schemes.model import FactorModel


def person_pair(level: float = 1.0) -> Pair:
    """Four people rated all three items; the last, who gave fives and a one, is there or not."""
    pair = crowd(level)
    return Pair(pair.table, pair.table.user == len(pair.table.users) - 1)


class ListeningBudget(GaussianBudget):
    """Keeps every noisy statistic: all that a fit lets anybody see follows from these."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.heard: list[Array] = []

    def noisy(self, sums: Array, sigma: float) -> Floats:
        """As the budget does, and listened to."""
        found = super().noisy(sums, sigma)
        self.heard.append(found)
        return found


@dataclass(frozen=True)
class Transcripts:
    """Outcomes are the noisy statistics of a fit, in the order in which they were drawn."""

    scheme: FieldScheme
    pair: Pair
    level: float
    """The fit's own: that of the claim, or in a control a larger one."""

    def __call__(self, with_record: bool, runs: int, seed: int) -> Array:
        """So many fits of one side, with noise from the system; where they start is public."""
        return np.stack([self._heard(self.pair.side(with_record), seed) for _ in range(runs)])

    def _heard(self, table: Ratings, seed: int) -> Array:
        del seed
        randomness = Randomness(None)
        randomness.__dict__["training"] = np.random.default_rng(0)
        usual = self.scheme.budget(self.level, randomness)
        budget = ListeningBudget(usual.mu, randomness, usual.promised)
        spec = PrivacySpec.uniform(self.level)
        certificate = self.scheme.certificate(spec, self.level, randomness)
        data = to_train_on(table, self.scheme.items)
        self.scheme.learn(data, budget, certificate, Run(randomness, ALONE))
        return np.concatenate([part.ravel() for part in budget.heard])


@dataclass(frozen=True)
class NoisyRatings:
    """Outcomes are Friedman's perturbed ratings themselves: all that follows reads these alone."""

    pair: Pair
    level: float

    def __call__(self, with_record: bool, runs: int, seed: int) -> Array:
        """So many perturbations of one side, with noise from the system."""
        del seed
        table = self.pair.side(with_record)
        drawn = (perturbed(table, self.level, Randomness(None)).rating for _ in range(runs))
        return np.stack([np.asarray(rating, dtype=np.float64) for rating in drawn])


def seen(model: FactorModel, pair: Pair) -> Array:
    """What is released of all items: factors up to a rotation, effects, votes."""
    V = np.asarray(model.release.item_factors, dtype=np.float64)
    products = (V @ V.T)[np.triu_indices(len(V))]
    return np.concatenate([released(model, pair), model.release.item_effects, products])


def games(t: float = 1.0) -> list[Game]:
    """Every scheme of the field that promises anything, in every way it is to be audited."""
    return [
        game
        for name in FIELD
        for parameters in find_field(name).about.audited
        for game in games_of(name, parameters, t)
    ]


def games_of(name: str, parameters: Mapping[str, Any], t: float = 1.0) -> Iterator[Game]:
    """One scheme with these parameters: its own claim, on the pair that it is about."""
    kind = find_field(name)
    pair = four_people(t)
    items = Items.from_frame(
        pl.DataFrame({"item": pair.table.items.values, "year": [1960, 1990, 2020]})
    )
    scheme = kind(items=items, **parameters)
    spec = PrivacySpec.uniform(t)
    promised = scheme.fit(pair.table, spec, compute=ALONE).release.certificate
    pairs = {"record at t": crowd(t), "only rating of its item": pair}
    if promised.unit == "person":
        pairs = {"person at t": person_pair(t)}
    elif promised.neighbours == Neighbours.REPLACE:
        pairs = {"another value": crowd(t).replaced()}
    for case, found in pairs.items():
        play: Any = FitRuns(scheme, found, spec, seen)
        if promised.delta and isinstance(scheme, FieldScheme):
            play = Transcripts(scheme, found, t)
        elif isinstance(scheme, Friedman) and promised.neighbours == Neighbours.REPLACE:
            play = NoisyRatings(found, t)
        yield Game(
            promised.scheme,
            promised.variant,
            f"{case}, {promised.unit}",
            t,
            play,
            delta=promised.delta,
            slow=True,
        )


def quiet_games(t: float = 1.0) -> list[Game]:
    """Controls: the noise of eight times the level, which an audit that works refutes."""
    found = []
    for name in ("dpals", "mcsherry-mironov"):
        parameters = dict(find_field(name).about.audited[0])
        (game,) = games_of(name, parameters, t)
        loud: Any = replace(game.play, level=8 * t)  # type: ignore[type-var]
        found.append(replace(game, case=f"{game.case}, noise of 8t", play=loud, control=True))
    return found
