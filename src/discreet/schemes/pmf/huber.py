"""Huber regression of every item, shifted by noise: what the repaired schemes minimise."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.ratings import Ratings
from discreet.kernels.compute import Compute
from discreet.kernels.gradients import project_rows
from discreet.kernels.huber import solve_huber
from discreet.kernels.threads import row_ranges, run_ranges


def minimise_huber(
    used: Ratings, U: Array, eta: Floats, ridge: float, kappa: float, compute: Compute
) -> Floats:
    """v_j = argmin sum_i huber_kappa(r_ij - middle - u_i . v) + ridge/2 |v|^2 + eta_j . v."""
    order, workers = used.by_item, compute.workers
    people = U.astype(np.float64)
    project_rows(0, len(people), people)  # rounding to 32 bits may leave a row a hair outside
    V, residual = np.empty_like(eta), np.empty(len(eta))
    run_ranges(
        solve_huber,
        row_ranges(order.ptr, workers),
        workers,
        order.ptr,
        order.cols,
        order.values.astype(np.float64) - used.scale.middle,
        people,
        ridge,
        kappa,
        eta,
        V,
        residual,
    )
    if not residual.max() < 1e-9:
        raise ArithmeticError("Newton's method did not reach the minimum of an item")
    return V
