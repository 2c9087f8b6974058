"""Alternating least squares: each half of objective (1) solved exactly."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from discreet.arrays import Array
from discreet.data.csr import CSR
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.kernels.gradients import add_normal_product, squared_errors
from discreet.kernels.least_squares import orthonormalise, solve_rows
from discreet.kernels.threads import even_ranges, row_ranges, run_all, run_ranges, thread_count
from discreet.progress import Progress
from discreet.schemes.model import TracePoint


def solve_side(
    order: CSR,
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
    penalties = (0.0, ridge) if weighted else (ridge, 0.0)
    return solve_rows(
        order.ptr, order.cols, values, other, *penalties, linear=linear, threads=threads
    )


_START_RECORDS = 4_000_000
"""So many ratings tell the leading directions as well as all of them; every n-th person's then.

Measured in docs/constants.md."""
_START_PARTS = 4
"""Sums of their own, however many the threads: these change no result."""


def low_centre(scale: RatingScale) -> float:
    """A quarter of the scale below its middle."""
    return scale.middle - scale.span / 4


def spectral_start(
    data: Ratings, d: int, rng: np.random.Generator, dtype: Any, workers: int
) -> Array:
    """Item factors that are near the answer already: a one, then leading directions of the ratings.

    The directions are right singular vectors of D_u^-1/4 (R - c) D_i^-1/2, D_u and D_i being the
    numbers of ratings, from random vectors multiplied twice by it and its transpose. c lies low on
    the scale, so that who rated what counts along with how. One sweep from here is worth more
    than four from random rows.
    """
    count = min(d - 1, len(data.users), len(data.items))
    order = data.by_user
    values = _values(order, 0.0, dtype)
    centre = dtype.type(low_centre(data.scale))
    step = 1 + len(values) // _START_RECORDS
    ranges = even_ranges(len(data.users), _START_PARTS, least=64)
    # Rarely rated items would make directions of their own, were they not held back.
    ratings = np.diff(data.by_item.ptr)
    scale = 1 / np.sqrt(ratings + 0.1 * ratings.mean() + 1)[:, None].astype(dtype)
    V = rng.standard_normal((len(data.items), count), dtype=dtype)
    for _ in range(2):
        other, sums = scale * V, np.zeros((len(ranges), *V.shape), dtype=dtype)
        calls = [
            partial(
                add_normal_product, lo, hi, step, order.ptr, order.cols, values, centre, other, out
            )
            for (lo, hi), out in zip(ranges, sums, strict=True)
        ]
        run_all(calls, workers)
        V = _orthonormal(scale * sums.sum(axis=0))
    # Beside the one, entries of 0.2 were best on MovieLens 1M, of 0.12 on Netflix' ratings.
    start = 0.15 * rng.standard_normal((len(data.items), d), dtype=dtype)
    start[:, 0] = 1
    start[:, 1 : count + 1] = 0.15 * np.sqrt(len(V)) * V
    return start


def _orthonormal(V: Array) -> Array:
    columns = np.ascontiguousarray(V.T)
    orthonormalise(columns)
    return np.ascontiguousarray(columns.T)


def _values(order: CSR, centre: float, dtype: Any) -> Array:
    shifted = order.values - order.values.dtype.type(centre) if centre else order.values
    return np.asarray(shifted, dtype=dtype)


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


def _rmse(order: CSR, r: Array, U: Array, V: Array, threads: int) -> float:
    squared = np.empty(len(U))
    ranges = row_ranges(order.ptr, threads)
    run_ranges(squared_errors, ranges, threads, order.ptr, order.cols, r, U, V, squared)
    return float(np.sqrt(squared.sum() / len(r)))
