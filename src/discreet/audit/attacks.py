"""Attacks: from outcomes with and without the record to a score that tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.arrays import Array
from discreet.errors import MissingExtraError

Score = Callable[[Array], Array]
"""From outcomes, one a row, to a number each: larger where the record is more likely there."""


class Attack(Protocol):
    """What every attack offers."""

    @property
    def name(self) -> str:
        """As the audit's table shows it."""
        ...

    def train(self, one: Array, other: Array) -> Score:
        """Learn to tell outcomes with the record from those without."""
        ...


@dataclass(frozen=True)
class LikelihoodRatio:
    """Where the noise is known there is nothing to learn, and nothing is stronger."""

    log_ratio: Score
    name: str = "likelihood ratio"

    def train(self, one: Array, other: Array) -> Score:
        """The ratio itself; rounded, because where it saturates its last bits are chance."""
        del one, other
        return lambda outcomes: np.round(self.log_ratio(outcomes), 9)


@dataclass(frozen=True)
class MeanDifference:
    """The projection on the difference of means, as Fisher weighs it."""

    name: str = "mean difference"

    def train(self, one: Array, other: Array) -> Score:
        """Heavy tails would hide the means, so outcomes are cut off at robust limits first."""
        both = np.concatenate([one, other])
        low, high = np.quantile(both, [0.01, 0.99], axis=0)
        x, y = np.clip(one, low, high), np.clip(other, low, high)
        spread = np.cov(x, rowvar=False) + np.cov(y, rowvar=False)
        spread = np.atleast_2d(spread)
        ridge = 1e-9 * np.trace(spread) / len(spread) + 1e-12
        direction = np.linalg.solve(
            spread + ridge * np.eye(len(spread)), x.mean(axis=0) - y.mean(axis=0)
        )
        return lambda outcomes: np.clip(outcomes, low, high) @ direction


@dataclass(frozen=True)
class Classifier:
    """Gradient-boosted trees, for whatever a projection does not see."""

    name: str = "trained classifier"
    at_most: int = 50_000

    def train(self, one: Array, other: Array) -> Score:
        """Fit to outcomes of both sides; the score is the classifier's log-odds."""
        try:
            from sklearn.ensemble import HistGradientBoostingClassifier
        except ImportError:
            raise MissingExtraError(
                "a trained attack needs scikit-learn: pip install 'discreet[audit]'"
            ) from None
        x, y = one[: self.at_most], other[: self.at_most]
        machine = HistGradientBoostingClassifier(
            max_iter=80, max_leaf_nodes=15, min_samples_leaf=max(5, len(x) // 200), random_state=0
        )
        machine.fit(np.concatenate([x, y]), np.repeat([1, 0], [len(x), len(y)]))
        return lambda outcomes: np.asarray(machine.decision_function(outcomes))
