"""Random lives of ratings on one ledger, and what they have really lost: exact sums."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from scipy.special import log_ndtr, ndtr

from discreet.privacy.fixedpoint import ONE_VOTE, root_rounded_down
from discreet.privacy.lifetime import Costs, Spends
from discreet.privacy.personalise import weigh
from discreet.privacy.purses import Division
from discreet.schemes.chorus.plan import APART_ACTIVITY

THRESHOLDS, DELTAS, SHARES = (0.5, 1.0), (1e-6, 1e-3), (0.3, 0.6)


@dataclass
class Lives:
    """Many pairs under one schedule, which is public: what each spent, and what it lost."""

    rng: np.random.Generator
    pairs: int
    spends: Spends = field(init=False)
    share: float | None = None
    largest: np.ndarray = field(init=False)
    """The largest level at which each pair was counted."""
    delta: float = 0.0
    """The largest that was declared."""

    def __post_init__(self) -> None:
        self.spends = Spends.none(self.pairs)
        self.largest = np.zeros(self.pairs)
        self.levels = self.rng.choice([0.1, 0.25, 0.7, 1.0, 2.0], self.pairs)
        # Exact: epsilon, and mu^2.
        self.lost = [[Fraction(0), Fraction(0)] for _ in range(self.pairs)]

    def begin_old(self) -> None:
        """Some pairs come from an older version, which spent (k epsilon/4, k delta/4)."""
        parts = self.rng.integers(0, 5, self.pairs) / 4
        self.delta = float(self.rng.choice(DELTAS))
        spent = Costs.of(self.levels, epsilon=parts * self.levels, delta=parts * self.delta)
        self._pay(spent, spent.epsilon, np.zeros(self.pairs))

    def live(self) -> None:
        """People change their levels, up and down."""
        changed = self.rng.random(self.pairs) < 0.3
        self.levels[changed] *= self.rng.choice([0.4, 0.9, 1.0, 1.5, 3.0], changed.sum())

    def publish(self) -> None:
        """One publication by Tally or Chorus; some ratings are deleted at that time."""
        rng, t = self.rng, float(self.rng.choice(THRESHOLDS))
        there = rng.random(self.pairs) < 0.8
        delta = float(rng.choice(DELTAS)) if rng.random() < 0.7 else 0.0
        n = int(rng.choice([1, 2, 5, 12])) if delta else 1
        self.delta = max(self.delta, delta)
        if self.share is None and n > 1:
            self.share = float(rng.choice(SHARES))
        if self.share is None:
            costs = self._of_those(self.spends.undivided(self.levels, t, delta=delta), there)
            used = weigh(costs.epsilon, t) / ONE_VOTE * t if delta == 0 else costs.epsilon
            self._pay(costs, used, np.zeros(self.pairs))
            return
        division = Division(share=self.share, t=t, delta=delta, publications=n)
        costs = self._of_those(division.allowed(self.levels, self.spends), there)
        weights = division.weights(costs.mu2) if delta else np.zeros(self.pairs)
        share = 1.0
        if rng.random() < 0.2:  # no rounds this time, but people were asked whether they would pay
            share = APART_ACTIVITY
            costs = costs._replace(mu2=share * costs.mu2)
        pure = weigh(costs.pure, division.pure_top) / ONE_VOTE * division.pure_top
        mu = root_rounded_down(Fraction(division.mu) ** 2 * Fraction(share)) if delta else 0.0
        rounds = weights * mu
        self._pay(costs, pure, rounds)

    def _of_those(self, costs: Costs, there: np.ndarray) -> Costs:
        return Costs(costs.level, *(np.where(there, column, 0.0) for column in costs[1:]))

    def _pay(self, costs: Costs, epsilon: np.ndarray, mu: np.ndarray) -> None:
        """The ledger is told the costs; the mechanism has used these."""
        self.spends = self.spends.after(costs)
        self.largest = np.where(costs.counted, np.maximum(self.largest, self.levels), self.largest)
        for k in np.flatnonzero((epsilon > 0) | (mu > 0)):
            self.lost[k][0] += Fraction(float(epsilon[k]))
            self.lost[k][1] += Fraction(float(mu[k])) ** 2

    def excess(self) -> np.ndarray:
        """delta(mu, E - pure losses) - what is left of delta, as a share of it: above 0 is wrong.

        The curve itself, not the code that the purses were made by.
        """
        rest = np.array(
            [
                float(Fraction(float(e)) - lost)
                for e, (lost, _) in zip(self.largest, self.lost, strict=True)
            ]
        )
        mu = np.array([math.sqrt(mu2) for _, mu2 in self.lost])
        left = np.maximum(self.delta - self.spends.delta, 0.0)
        found = np.where(rest < 0, np.inf, -1.0)
        some = (mu > 0) & (rest >= 0)
        told = curve(mu[some], rest[some])
        found[some] = np.where(left[some] > 0, told / np.maximum(left[some], 1e-300) - 1, np.inf)
        return found


def curve(mu: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """delta(mu, epsilon) of a Gaussian mechanism."""
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2))


def random_lives(seed: int, pairs: int, publications: int = 14) -> Lives:
    """A schedule from a seed, and many pairs that live under it."""
    lives = Lives(np.random.default_rng(seed), pairs)
    if seed % 4 == 0:
        lives.begin_old()
    for _ in range(publications):
        lives.publish()
        lives.live()
    return lives
