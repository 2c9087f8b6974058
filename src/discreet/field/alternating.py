"""Alternating least squares with noisy sufficient statistics: the core of DPALS and AM-SSP.

People's vectors are solved exactly, from the released item vectors and each person's own ratings,
and are never released. Of every item two sums are: A_j = sum_i w_ij u_i u_i' and
b_j = sum_i w_ij y_ij u_i, with |u_i| <= 1, |y_ij| <= 1 and sum_j w_ij^2 <= 1 for every person i.
Removing a person moves all A together by at most 1 (Frobenius) and all b by at most 1, whatever
they rated; the item vectors follow from the noisy sums alone.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.ratings import Ratings
from discreet.field.budget import GaussianBudget
from discreet.kernels.least_squares import solve_rows
from discreet.kernels.moments import add_moments
from discreet.kernels.sorting import read_only
from discreet.kernels.threads import row_ranges, run_ranges
from discreet.schemes.base import Run

ENCODER_STEPS = 12
"""How often item vectors and their regression on public columns are solved in turn."""


class Rounds(NamedTuple):
    """How the rounds go: public constants."""

    rounds: int
    share: float
    """Of the whole budget, for all rounds together, equal parts each."""
    matrix_share: float
    """Of a round, for A; the rest is for b."""
    user_ridge: float
    item_ridge: float
    """In weighed ratings."""
    noise_ridge: float
    """In deviations of the noise on A: where noise is all there is, vectors are short."""
    feature_ridge: float | None = None
    """Of the regression of item vectors on public columns; None without one."""


def clip_rows(U: Array) -> Array:
    """Rows no longer than 1."""
    norms = np.sqrt(np.einsum("ij,ij->i", U, U))
    return np.asarray(U / np.maximum(norms, 1.0)[:, None])


def solve_people(data: Ratings, y: Array, V: Array, ridge: float, workers: int) -> Array:
    """Everybody's vector from the item vectors and their own ratings, clipped: secret."""
    U = solve_rows(data.ptr, data.item, y, V, ridge, 0.0, threads=workers)
    return clip_rows(U)


def item_moments(
    data: Ratings, w: Array, y: Array, U: Array, workers: int
) -> tuple[Floats, Floats]:
    """The two sums of every item, A packed: secret."""
    order = data.by_item
    count, d = len(data.items), U.shape[1]
    A, b = np.zeros((count, d * (d + 1) // 2)), np.zeros((count, d))
    own = [read_only(data.in_item_order(column)) for column in (w, y)]
    columns = (read_only(order.ptr), read_only(order.cols), *own, read_only(U))
    run_ranges(add_moments, row_ranges(order.ptr, workers), workers, *columns, A, b)
    return A, b


def unpack(packed: Array) -> Floats:
    """Symmetric matrices from packed ones."""
    d = int((np.sqrt(8 * packed.shape[1] + 1) - 1) / 2 + 0.5)
    rows, cols = np.triu_indices(d)
    values = packed / np.where(rows == cols, 1.0, np.sqrt(2.0))
    out = np.zeros((len(packed), d, d))
    out[:, rows, cols] = values
    out[:, cols, rows] = values
    return out


def decode(A: Array, b: Array, ridge: float, public: Array | None, feature_ridge: float) -> Floats:
    """Item vectors: min over v of v'Av - 2 b.v + ridge |v - T x_j|^2 (+ feature ridge |T|^2).

    Noise may leave A with negative eigenvalues, which become zero. Without public columns x the
    vectors are drawn to zero; with them, T and v are solved in turn.
    """
    values, axes = np.linalg.eigh(unpack(A))
    inverse = 1 / (np.maximum(values, 0.0) + ridge)

    def solve(right: Array) -> Array:
        turned = np.einsum("jab,ja->jb", axes, right)
        return np.asarray(np.einsum("jab,jb->ja", axes, inverse * turned))

    V = solve(b)
    if public is None:
        return V
    gram = public.T @ public
    regress = np.linalg.solve(gram + feature_ridge * np.eye(len(gram)), public.T)
    for _ in range(ENCODER_STEPS):
        V = solve(b + ridge * (public @ (regress @ V)))
    return V


def alternate_privately(
    data: Ratings,
    w: Array,
    y: Array,
    V: Array,
    how: Rounds,
    budget: GaussianBudget,
    run: Run,
    public: Array | None = None,
) -> Floats:
    """From item vectors V, so many rounds of people and items; the last item vectors."""
    workers = run.compute.workers
    matrix = how.share * how.matrix_share / how.rounds
    vector = how.share * (1 - how.matrix_share) / how.rounds
    found = partial(decode, public=public, feature_ridge=how.feature_ridge or 0.0)
    for k in range(how.rounds):
        run.progress("rounds", k, how.rounds)
        U = solve_people(data, y, V, how.user_ridge, workers)
        A, b = item_moments(data, w, y, U, workers)
        A = budget.release(A, sensitivity=1.0, share=matrix, what=f"A, round {k + 1}")
        b = budget.release(b, sensitivity=1.0, share=vector, what=f"b, round {k + 1}")
        ridge = how.item_ridge + how.noise_ridge * budget.deviation(1.0, matrix)
        V = found(A, b, ridge)
    run.progress("rounds", how.rounds, how.rounds)
    return np.asarray(V)
