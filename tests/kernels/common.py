"""Matrices and tables for the kernels, and how near they must come to their twins."""

from typing import Any

import numpy as np
import pytest

from discreet.data.csr import CSR
from discreet.data.ratings import Ratings

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-11}
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
THREADS = pytest.mark.parametrize("threads", [1, 2])
SIZES = pytest.mark.parametrize("d", [1, 2, 7, 20, 64, 131])


def matrices(data: Ratings, d: int, dtype: Any, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    U, V = rng.normal(0, 0.4, (len(data.users), d)), rng.normal(0, 0.8, (len(data.items), d))
    return U.astype(dtype), V.astype(dtype)


def sides(data: Ratings, dtype: Any) -> list[tuple[CSR, Any]]:
    return [(o, o.values.astype(dtype)) for o in (data.by_user, data.by_item)]
