"""Alternating least squares: each half of objective (1) solved exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.gradients import add_gradient, squared_errors
from discreet.kernels.least_squares import orthonormalise, solve_ridge
from discreet.kernels.threads import record_ranges, row_ranges, run_ranges, thread_count
from discreet.progress import Progress
from discreet.ratings import Order, Ratings
from discreet.schemes.model import TracePoint

Array = NDArray[Any]


def solve_side(
    order: Order,
    values: Array,
    other: Array,
    ridge: float,
    *,
    weighted: bool = False,
    linear: Array | None = None,
    threads: int = 1,
) -> Array:
    """Every row of one side, given the other: min 1/2 sum (r - x.z)^2 + ridge/2 |x|^2 + linear.x.

    Weighted, the ridge of a row is multiplied by its number of ratings.
    """
    out = np.empty((len(order.ptr) - 1, other.shape[1]), dtype=other.dtype)
    number = other.dtype.type
    run_ranges(
        solve_ridge,
        row_ranges(order.ptr, threads),
        threads,
        order.ptr,
        order.cols,
        values,
        other,
        number(0 if weighted else ridge),
        number(ridge if weighted else 0),
        np.zeros((1, other.shape[1]), dtype=other.dtype) if linear is None else linear,
        out,
    )
    return out


def spectral_start(
    data: Ratings, d: int, rng: np.random.Generator, dtype: Any, workers: int
) -> Array:
    """Item factors that are near the answer already: a one, then leading directions of the ratings.

    The directions are right singular vectors of D_u^-1/2 (R - middle of the scale) D_i^-1/2, D_u
    and D_i being the numbers of ratings, from random vectors multiplied twice by R and R', which
    costs as much as two gradients. One sweep from here is worth about four from random rows.
    """
    count = min(d - 1, len(data.users), len(data.items))
    sides = [(o, _values(o, data.scale.middle, dtype)) for o in (data.by_user, data.by_item)]
    scales = [1 / np.sqrt(np.maximum(1, np.diff(o.ptr))).astype(dtype)[:, None] for o, _ in sides]

    def multiply(side: int, X: Array) -> Array:
        order, values = sides[side]
        out = np.zeros((len(order.ptr) - 1, count), dtype=dtype)
        # The gradient at zero is the product.
        run_ranges(
            add_gradient, record_ranges(order.rows, 0, len(values), workers), workers,
            order.rows, order.cols, values, np.zeros_like(out), scales[1 - side] * X,
            dtype.type(1), out, np.zeros(len(out)),
        )  # fmt: skip
        return scales[side] * out

    V = rng.standard_normal((len(data.items), count)).astype(dtype)
    for _ in range(2):
        V = multiply(1, multiply(0, _orthonormal(V)))
    # Entries of about 0.2 beside the one were best on MovieLens 1M and on Netflix's ratings.
    start = 0.2 * rng.standard_normal((len(data.items), d)).astype(dtype)
    start[:, 0] = 1
    start[:, 1 : count + 1] = 0.2 * np.sqrt(len(V)) * _orthonormal(V)
    return start


def _orthonormal(V: Array) -> Array:
    columns = np.ascontiguousarray(V.T)
    orthonormalise(columns)
    return np.ascontiguousarray(columns.T)


def _values(order: Order, centre: float, dtype: Any) -> Array:
    return np.asarray(order.values - order.values.dtype.type(centre), dtype=dtype)


def alternate(
    data: Ratings,
    V: Array,
    ridges: tuple[float, float],
    *,
    weighted: bool,
    sweeps: int,
    threads: int | None,
    progress: Progress,
    centre: float = 0.0,
) -> tuple[Array, Array, tuple[TracePoint, ...]]:
    """From item factors V, `sweeps` times people then items, of r - centre; (U, V, trace)."""
    workers = thread_count(threads)
    people, items = data.by_user, data.by_item
    by_user, by_item = _values(people, centre, V.dtype), _values(items, centre, V.dtype)
    trace = []
    for sweep in range(1, sweeps + 1):
        progress("ALS", sweep - 1, sweeps)
        U = solve_side(people, by_user, V, ridges[0], weighted=weighted, threads=workers)
        V = solve_side(items, by_item, U, ridges[1], weighted=weighted, threads=workers)
        trace.append(TracePoint("ALS sweep", sweep, _rmse(people, by_user, U, V, workers)))
    progress("ALS", sweeps, sweeps)
    return U, V, tuple(trace)


def _rmse(order: Order, r: Array, U: Array, V: Array, threads: int) -> float:
    squared = np.empty(len(U))
    ranges = row_ranges(order.ptr, threads)
    run_ranges(squared_errors, ranges, threads, order.ptr, order.cols, r, U, V, squared)
    return float(np.sqrt(squared.sum() / len(r)))
