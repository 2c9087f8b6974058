"""The printed scheme in the paper's own setting: its loss computed, record by record, given U.

Given U (and the V that noisy training starts from) every step is linear in v and in its noise:
v <- (I - s (A/B + lambda)) v + s (b/B - eta), with A = sum u u', b = sum r u over the item's
ratings, s = gamma/|batch| and B mini-batches a pass (each taken to hold its part of every item's
ratings). After K = k2 B steps v has a mean and a covariance in closed form, with and without a
record. The sum of K noise vectors is taken to be Gaussian, so that the loss is that of two
Gaussians with different means, at a given delta.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.privacy.accounting import gaussian_delta
from discreet.privacy.noise import Randomness
from discreet.progress import Progress, silent
from discreet.ratings import Ratings
from discreet.schemes.gradient import BATCH, GradientSteps

Array = NDArray[Any]


@dataclass(frozen=True)
class Setting:
    """The paper's parameters (its Tables 1 to 4), and where its loss is looked at."""

    t: float = 0.39
    """About the mean of the default levels."""
    factors: int = 20
    gamma: float = 50.0
    k1: int = 50
    k2: int = 50
    regularisation: float = 0.01
    delta: float = 1e-6

    def train(
        self, data: Ratings, seed: int = 0, progress: Progress = silent
    ) -> tuple[Array, Array]:
        """U and the V from which noisy training goes on."""
        steps = GradientSteps(data, self.gamma, Randomness(seed).training, np.float32, None)
        U, V = steps.start(self.factors, "signed")
        U, V = steps.train(U, V, self.regularisation, self.regularisation, self.k1, progress)
        return U.astype(np.float64), V.astype(np.float64)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least epsilon with which a mu-GDP mechanism is (epsilon, delta)-DP, at least 0."""
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(mu, middle) > delta else (low, middle)
    return high


class PrintedLoss:
    """What single records of one table lose, for any gamma and k2."""

    def __init__(self, data: Ratings, setting: Setting, U: Array, V: Array) -> None:
        self.data, self.setting, self.U, self.V = data, setting, U, V
        self._sums = self._add_up()
        self.batches = max(1, round(len(data) / BATCH))
        # From mu to epsilon, which grows smoothly with it: a table is enough.
        self._mu_grid = np.concatenate([[0.0], np.geomspace(1e-4, 100.0, 1000)])
        self._epsilons = [gaussian_epsilon(mu, setting.delta) for mu in self._mu_grid[1:]]

    def at(self, setting: Setting) -> PrintedLoss:
        """The same table and factors with another gamma or k2."""
        other = copy(self)
        other.setting = setting
        return other

    def of(self, items: Array, users: Array, ratings: Array, *, added: bool) -> Array:
        """The loss of each record (users[k], items[k], ratings[k]), there or to be added."""
        mus = np.empty(len(items))
        for first in range(0, len(items), 4096):
            part = slice(first, first + 4096)
            mus[part] = self._mus(items[part], users[part], ratings[part], 1.0 if added else -1.0)
        return np.interp(mus, self._mu_grid, [0.0, *self._epsilons])

    def _mus(self, items: Array, users: Array, ratings: Array, sign: float) -> Array:
        A, b = (sums[items] for sums in self._sums)
        u = self.U[users]
        start = self.V[items]
        one = self._outcome(A, b, start)
        other = self._outcome(
            A + sign * u[:, :, None] * u[:, None, :], b + sign * ratings[:, None] * u, start
        )
        moved = one[0] - other[0]
        # Of the two covariances the one that tells more: the attacker may stand on either side.
        return np.sqrt(
            np.maximum(*(_squared_length(moved, values, Q) for _, values, Q in (one, other)))
        )

    def _add_up(self) -> tuple[Array, Array]:
        """A = sum u u' and b = sum r u for every item."""
        order, d = self.data.by_item, self.U.shape[1]
        A, b = np.empty((len(self.V), d, d)), np.empty((len(self.V), d))
        for j in range(len(self.V)):
            records = slice(order.ptr[j], order.ptr[j + 1])
            u = self.U[order.cols[records]]
            A[j], b[j] = u.T @ u, order.values[records].astype(np.float64) @ u
        return A, b

    def _outcome(self, A: Array, b: Array, start: Array) -> tuple[Array, Array, Array]:
        """Mean, and the covariance's eigenvalues and axes, after all steps."""
        s = self.setting
        step = s.gamma / (len(self.data) / self.batches)
        steps = s.k2 * self.batches
        values, Q = np.linalg.eigh(A)
        shrink = 1 - step * (values / self.batches + s.regularisation)
        power = shrink**steps
        # (1 - x^K)/(1 - x) and the same for x^2: sums over all steps of what is left of each.
        kept = (1 - power) / (1 - shrink)
        kept2 = (1 - power**2) / (1 - shrink**2)
        turned = np.einsum("nba,nb->na", Q, b) / self.batches
        mean = power * np.einsum("nba,nb->na", Q, start) + step * kept * turned
        # E |eta|^2 = scale^2 d (d + 1), shared equally by d directions.
        scale = self.data.scale.largest / s.t
        variance = (step * scale) ** 2 * (s.factors + 1) * kept2
        return np.einsum("nab,nb->na", Q, mean), variance, Q


def _squared_length(moved: Array, variance: Array, Q: Array) -> Array:
    along = np.einsum("nba,nb->na", Q, moved)
    return np.asarray((along**2 / variance).sum(axis=1))


def paper_setting(
    data: Ratings, setting: Setting | None = None, *, sample: int = 20_000, seed: int = 0,
    progress: Progress = silent,
) -> pl.DataFrame:  # fmt: skip
    """Losses of records that are there, and of the worst that could be added to each item.

    Frame: kind, item_ratings, gamma, k2, claimed, loss. Secret: computed from the ratings.
    """
    setting = setting or Setting()
    rng = np.random.default_rng(seed)
    U, V = setting.train(data, seed, progress)
    counts = np.bincount(data.item, minlength=len(data.items))
    some = rng.choice(len(data), min(sample, len(data)), replace=False)
    everything, frames = PrintedLoss(data, setting, U, V), []
    cases = [setting]
    cases += [replace(setting, k2=k2) for k2 in (10, 25, 100, 200) if k2 != setting.k2]
    cases += [replace(setting, gamma=setting.gamma * f) for f in (0.2, 0.5, 2.0, 4.0)]
    for number, case in enumerate(cases):
        progress("losses in the paper's setting", number, len(cases))
        loss = everything.at(case)
        # The whole sample once; a tenth of it shows how the loss moves with k2 and gamma.
        chosen = some if case is setting else some[: max(1, len(some) // 10)]
        there = loss.of(
            data.item[chosen], data.user[chosen], data.rating[chosen].astype(float), added=False
        )
        items = np.unique(data.item[chosen])
        worst = _worst_added(loss, items, rng)
        for kind, which, losses in (("there", data.item[chosen], there), ("added", items, worst)):
            frames.append(
                pl.DataFrame({"kind": kind, "item_ratings": counts[which], "loss": losses})
                .with_columns(gamma=pl.lit(case.gamma), k2=pl.lit(case.k2), claimed=pl.lit(case.t))
            )  # fmt: skip
    progress("losses in the paper's setting", len(cases), len(cases))
    return pl.concat(frames)


def _worst_added(loss: PrintedLoss, items: Array, rng: np.random.Generator) -> Array:
    """For every item the most that a record of one of 16 people, at either end, would lose."""
    scale = loss.data.scale
    worst = np.zeros(len(items))
    for person in rng.choice(len(loss.data.users), 16):
        for value in (scale.lo, scale.hi):
            users = np.full(len(items), person)
            losses = loss.of(items, users, np.full(len(items), value), added=True)
            worst = np.maximum(worst, losses)
    return worst
