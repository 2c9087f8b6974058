"""The printed scheme in the paper's own setting: its loss computed, record by record, given U.

Given U (and the V that noisy training starts from) every step is linear in v and in its noise:
v <- (I - s (A/B + lambda)) v + s (b/B - eta), with A = sum u u', b = sum r u over the item's
ratings, s = gamma/|batch| and B mini-batches a pass (each taken to hold its part of every item's
ratings). A step multiplies by 1 - s (a/B + lambda) along each axis of A, a being its eigenvalue,
which is the item's number of ratings at most since |u| <= 1: where that factor could be -1 or less,
nothing is trained, so that no training decides by its rounding. After K = k2 B steps v has a mean
and a covariance in closed form, with and without a record. The sum of K noise vectors is taken for
Gaussian, so that the loss is that of two Gaussians with different means and covariances, at a given
delta.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import Array
from discreet.data.ratings import Ratings
from discreet.errors import DivergenceError
from discreet.privacy.noise import Randomness
from discreet.progress import Progress, silent
from discreet.schemes.pmf.gradient import BATCH, GradientSteps

_LEAST_FACTOR = -1 + 1e-6
"""A step's factor is above it: rows in 32 bits leave the unit ball by less than this."""


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

    def step(self, data: Ratings) -> float:
        """s = gamma/|batch|."""
        return self.gamma / (len(data) / batch_count(data))

    def factors_of_step(self, data: Ratings, eigenvalues: Any) -> Any:
        """What a step multiplies v by, along the axes of A with these eigenvalues."""
        return 1 - self.step(data) * (eigenvalues / batch_count(data) + self.regularisation)

    def least_factor(self, data: Ratings) -> float:
        """The least for any U: all ratings of the most rated item, and one more, by one person."""
        return float(self.factors_of_step(data, int(np.bincount(data.item).max()) + 1))

    def converges(self, data: Ratings) -> bool:
        """Whether no step can make v grow, whatever U is."""
        return self.least_factor(data) > _LEAST_FACTOR

    def sweep(self) -> list[Setting]:
        """This setting, and others that show how the loss moves with k2 and with gamma."""
        return [
            self,
            *(replace(self, k2=k2) for k2 in (10, 25, 100, 200) if k2 != self.k2),
            *(replace(self, gamma=self.gamma * factor) for factor in (0.2, 0.5, 2.0, 4.0)),
        ]


def batch_count(data: Ratings) -> int:
    """B."""
    return max(1, round(len(data) / BATCH))


class PrintedLoss:
    """What single records of one table lose, for any gamma and k2."""

    def __init__(self, data: Ratings, setting: Setting, U: Array, V: Array) -> None:
        self.data, self.setting, self.U, self.V = data, setting, U, V
        self._sums = self._add_up()
        self.batches = batch_count(data)

    def at(self, setting: Setting) -> PrintedLoss:
        """The same table and factors with another gamma or k2."""
        other = copy(self)
        other.setting = setting
        return other

    def of(self, items: Array, users: Array, ratings: Array, *, added: bool) -> Array:
        """The loss of each record (users[k], items[k], ratings[k]), there or to be added."""
        losses, sign = np.empty(len(items)), 1.0 if added else -1.0
        for first in range(0, len(items), 4096):
            part = slice(first, first + 4096)
            losses[part] = self._losses(items[part], users[part], ratings[part], sign)
        return losses

    def _losses(self, items: Array, users: Array, ratings: Array, sign: float) -> Array:
        A, b = (sums[items] for sums in self._sums)
        u, start = self.U[users], self.V[items]
        mean, variance, Q = self._outcome(A, b, start)
        other_mean, other_variance, P = self._outcome(
            A + sign * u[:, :, None] * u[:, None, :], b + sign * ratings[:, None] * u, start
        )
        # In coordinates where one covariance is the identity and the other diagonal.
        turn = (np.swapaxes(Q, 1, 2) @ P) / np.sqrt(variance)[:, :, None]
        ratio, R = np.linalg.eigh((turn * other_variance[:, None, :]) @ np.swapaxes(turn, 1, 2))
        moved = np.einsum("nba,nb->na", Q, other_mean - mean) / np.sqrt(variance)
        shift = np.einsum("nba,nb->na", R, moved)
        delta = self.setting.delta
        return np.maximum(
            two_gaussians(shift, ratio, delta),
            two_gaussians(shift / np.sqrt(ratio), 1 / ratio, delta),
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
        step, steps = s.step(self.data), s.k2 * self.batches
        values, Q = np.linalg.eigh(A)
        shrink = s.factors_of_step(self.data, values)
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


def two_gaussians(shift: Array, ratio: Array, delta: float) -> Array:
    """The least epsilon with P(E) <= e^epsilon Q(E) + delta for all events E, row by row.

    Q has independent standard normal coordinates, P means `shift` and variances `ratio`. The loss
    L = log dP/dQ is a quadratic form whose cumulants are known, and both tails of
    delta = P(L > x) - e^x Q(L > x) follow by Lugannani and Rice's saddlepoint formula, which is
    accurate far out, where a small delta is.
    """
    constant = (-0.5 * np.log(ratio) + 0.5 * shift**2).sum(axis=1)
    b2, c = shift**2 * ratio, (ratio - 1) / 2
    # Along s the loss x = K'(s) grows and delta falls; s = -1/2 is near x = 0.
    low = np.full(len(shift), -0.5)
    top = np.max(c, axis=1)
    high = np.where(top > 0, (1 - 1e-9) / (2 * np.maximum(top, 1e-12)), 1e9)
    high = np.minimum(high, 1e9)

    def at(s: Array) -> tuple[Array, Array]:
        s = np.where(np.abs(s) < 1e-6, 1e-6, s)  # the formula has a removable hole there
        q = 1 - 2 * c * s[:, None]
        K = s * constant + (-0.5 * np.log(q) + s[:, None] ** 2 * b2 / (2 * q)).sum(axis=1)
        x = constant + (c / q + b2 * s[:, None] * (1 - c * s[:, None]) / q**2).sum(axis=1)
        spread = np.sqrt((2 * c**2 / q**2 + b2 / q**3).sum(axis=1))
        # Under Q the cumulants are those under P at s - 1, so that its saddlepoint is s + 1.
        of_p, of_q = (_tail(order, order * x - K, spread) for order in (s, s + 1))
        return x, of_p - np.exp(np.minimum(x, 700)) * of_q

    for _ in range(80):
        middle = np.where(high - low > 8, np.sqrt(np.maximum(low, 1) * high), (low + high) / 2)
        too_much = at(middle)[1] > delta
        low, high = np.where(too_much, middle, low), np.where(too_much, high, middle)
    return np.maximum(at(high)[0], 0.0)


def _tail(order: Array, exponent: Array, spread: Array) -> Array:
    """P(L > x), `order` the saddlepoint and `exponent` = order x - K(order)."""
    w = np.sign(order) * np.sqrt(np.maximum(2 * exponent, 1e-300))
    u = order * spread
    density = np.exp(-np.minimum(w**2 / 2, 700)) / np.sqrt(2 * np.pi)
    upper = np.array([0.5 * math.erfc(value / math.sqrt(2)) for value in w])
    return np.asarray(upper + density * (1 / u - 1 / w))


def paper_setting(
    data: Ratings,
    setting: Setting | None = None,
    *,
    sample: int = 20_000,
    seed: int = 0,
    progress: Progress = silent,
) -> pl.DataFrame:
    """Losses of records that are there, and of the worst that could be added to each item.

    Frame: kind, item_ratings, gamma, k2, claimed, loss; what can diverge is left out of the sweep.
    Secret: computed from the ratings.
    """
    setting = setting or Setting()
    _require_convergence(data, setting)
    rng = np.random.default_rng(seed)
    U, V = setting.train(data, seed, progress)
    counts = np.bincount(data.item, minlength=len(data.items))
    some = rng.choice(len(data), min(sample, len(data)), replace=False)
    everything, frames = PrintedLoss(data, setting, U, V), []
    cases = [case for case in setting.sweep() if case.converges(data)]
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
                pl.DataFrame(
                    {"kind": kind, "item_ratings": counts[which], "loss": losses}
                ).with_columns(gamma=pl.lit(case.gamma), k2=pl.lit(case.k2), claimed=pl.lit(case.t))
            )
    progress("losses in the paper's setting", len(cases), len(cases))
    return pl.concat(frames)


def _require_convergence(data: Ratings, setting: Setting) -> None:
    if not setting.converges(data):
        share = np.bincount(data.item).max() / len(data)
        raise DivergenceError(
            f"gamma = {setting.gamma:g} diverges on this table, or may: its most rated item has "
            f"{share:.1%} of the ratings, and a step can multiply that item's factors by "
            f"{setting.least_factor(data):.3g}. It suits tables in which no item has as much as "
            f"{2 / setting.gamma:.1%} of the ratings: take a larger one"
        )


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
