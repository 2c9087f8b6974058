"""Alternating least squares: each half of objective (1) solved exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.cpu import solve_ridge, squared_errors
from discreet.kernels.threads import row_ranges, run_ranges, thread_count
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
    by_user = (people.values - centre).astype(V.dtype)
    by_item = (items.values - centre).astype(V.dtype)
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
