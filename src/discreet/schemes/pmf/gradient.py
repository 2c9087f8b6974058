"""The paper's gradient steps: mini-batches, both gradients from the old values, |u| <= 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import Array
from discreet.data.csr import CSR
from discreet.data.ratings import Ratings
from discreet.errors import DivergenceError
from discreet.kernels.gradients import add_gradient, partition, project_rows
from discreet.kernels.threads import even_ranges, record_ranges, run_all, run_ranges, thread_count
from discreet.privacy.noise import Randomness
from discreet.progress import Progress
from discreet.schemes.model import TracePoint

BATCH = 100_000
"""Ratings per mini-batch: with it, the paper's gamma = 50 reproduces the paper's results
(docs/constants.md has what other sizes do)."""


def unit_rows(rng: np.random.Generator, rows: int, d: int, initial: str) -> Array:
    """Rows uniform on the unit sphere, or on its part with no negative entry."""
    X = rng.standard_normal((rows, d))
    if initial == "nonnegative":
        np.abs(X, out=X)
    return np.asarray(X / np.sqrt(np.einsum("id,id->i", X, X))[:, None])


class Side(NamedTuple):
    """One side's records, in the side's order, or batch by batch and in that order within each."""

    rows: Array
    cols: Array
    r: Array

    @classmethod
    def of(cls, order: CSR, centre: float, dtype: Any) -> Side:
        """The records as the kernels want them."""
        return cls(order.rows, order.cols, (order.values - centre).astype(dtype, copy=False))

    def empty(self) -> Side:
        """Room for as many records."""
        return Side(*(np.empty_like(column) for column in self))


class GradientSteps:
    """Gradient descent on objective (1), without noise (`train`) and with it (`perturb`)."""

    def __init__(
        self,
        data: Ratings,
        gamma: float,
        rng: np.random.Generator,
        dtype: Any,
        threads: int | None,
        centre: float = 0.0,
    ) -> None:
        self.data, self.gamma, self.rng, self.dtype = data, gamma, rng, np.dtype(dtype)
        self.threads = thread_count(threads)
        self.trace: list[TracePoint] = []
        self._count = max(1, round(len(data) / BATCH))
        self._people = Side.of(data.by_user, centre, self.dtype)
        self._items = Side.of(data.by_item, centre, self.dtype)
        self._dealt = (self._people.empty(), self._items.empty()) if self._count > 1 else None

    def start(self, d: int, initial: str) -> tuple[Array, Array]:
        """Random unit rows for people and items."""
        U = unit_rows(self.rng, len(self.data.users), d, initial)
        V = unit_rows(self.rng, len(self.data.items), d, initial)
        return U.astype(self.dtype), V.astype(self.dtype)

    def train(
        self, U: Array, V: Array, lambda_u: float, lambda_v: float, passes: int, progress: Progress
    ) -> tuple[Array, Array]:
        """k1 passes: u <- u - step dE/du, v <- v - step dE/dv, then u back into the unit ball."""
        for step in range(1, passes + 1):
            progress("training", step - 1, passes)
            squared = np.zeros(len(U))
            for people, items, lo, hi in self.mini_batches(with_people=True):
                rate = self.gamma / (hi - lo)
                U_next, V_next = U * (1 - rate * lambda_u), V * (1 - rate * lambda_v)
                run_all(
                    [
                        *self._adding(people, lo, hi, U, V, rate, U_next, squared),
                        *self._adding(items, lo, hi, V, U, rate, V_next, np.zeros(len(V))),
                    ],
                    self.threads,
                )
                run_ranges(project_rows, even_ranges(len(U), self.threads), self.threads, U_next)
                U, V = U_next.astype(self.dtype, copy=False), V_next.astype(self.dtype, copy=False)
            self._record("training pass", step, squared, self._limit(0.0))
        progress("training", passes, passes)
        return U, V

    def perturb(
        self,
        U: Array,
        V: Array,
        lambda_v: float,
        scale: float,
        passes: int,
        randomness: Randomness,
        progress: Progress,
    ) -> Array:
        """k2 passes over the items, U constant, fresh noise of Theorem 1 in every step."""
        mean_rate = self.gamma * self._count / len(self.data)
        noise_size = mean_rate * scale * V.shape[1] * passes * self._count
        for step in range(1, passes + 1):
            progress("perturbed training", step - 1, passes)
            squared = np.zeros(len(V))
            for _, items, lo, hi in self.mini_batches(with_people=False):
                rate = self.gamma / (hi - lo)
                eta = randomness.spherical(len(V), V.shape[1], scale)
                V_next = (V * (1 - rate * lambda_v) - rate * eta).astype(self.dtype, copy=False)
                run_all(self._adding(items, lo, hi, V, U, rate, V_next, squared), self.threads)
                V = V_next
            self._record("perturbed pass", step, squared, self._limit(noise_size))
        progress("perturbed training", passes, passes)
        return V

    def mini_batches(self, *, with_people: bool) -> Iterator[tuple[Side, Side, int, int]]:
        """One pass in newly shuffled mini-batches: both sides and the records of each."""
        if self._dealt is None:
            yield self._people, self._items, 0, len(self.data)
            return
        # A batch number for each record: batches of near-equal size, their records in row order.
        batch_of = self.rng.integers(self._count, size=len(self.data), dtype=np.uint16)
        people, items = self._dealt
        deals = [
            lambda: partition(self.data.in_item_order(batch_of), self._count, *self._items, *items)
        ]
        if with_people:
            deals.append(lambda: partition(batch_of, self._count, *self._people, *people))
        cuts = run_all(deals, self.threads)[0]
        for lo, hi in pairwise(cuts.tolist()):
            if hi > lo:
                yield people, items, lo, hi

    def _adding(
        self,
        side: Side,
        lo: int,
        hi: int,
        own: Array,
        other: Array,
        rate: float,
        out: Array,
        squared: Array,
    ) -> list[Callable[[], None]]:
        """Calls that together add the gradient of records lo..hi; no two touch one row."""
        arrays = (*side, own, other, self.dtype.type(rate), out, squared)
        ranges = record_ranges(side.rows, lo, hi, self.threads)
        return [partial(add_gradient, first, last, *arrays) for first, last in ranges]

    def _limit(self, noise_size: float) -> float:
        """No useful model has an error beyond this; a diverging one passes it soon."""
        return 1e3 * (self.data.scale.span + self.data.scale.largest + noise_size)

    def _record(self, phase: str, step: int, squared: Array, limit: float) -> None:
        rmse = float(np.sqrt(squared.sum() / max(1, len(self.data))))
        if not rmse <= limit:  # also true for NaN
            raise diverged(
                self.gamma, phase, step, "of gamma/|batch| is too long when a batch is small"
            )
        self.trace.append(TracePoint(phase, step, rmse))


def diverged(gamma: float, phase: str, step: int, why: str) -> DivergenceError:
    """What to say when steps get nowhere; `why` says it of "a step"."""
    return DivergenceError(
        f"gamma = {gamma:g} diverges on this table ({phase} {step}): a step {why}; "
        f"try gamma = {gamma / 10:g}"
    )
