"""The kernels of families equal their NumPy twins to rounding, for one and for two threads."""

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.kernels import families, reference_families
from discreet.kernels.threads import even_ranges, row_ranges, run_ranges
from tests.kernels.common import THREADS, sides


@THREADS
@pytest.mark.parametrize("size", [6, 600], ids=["found by a pass over all", "moved into order"])
def test_family_effects_equal_their_twin(data: Ratings, size: int, threads: int) -> None:
    order, r = sides(data, np.float64)[0]
    rng = np.random.default_rng(3)
    codes = rng.integers(-1, size, len(data.items)).astype(np.int32)
    found = []
    for kernel in (families.family_effects, reference_families.family_effects):
        residual, people = r.copy(), len(data.users)
        of, number = np.full(len(r), -7, np.int32), np.full(len(r), -7)
        effect, count = np.full(len(r), -7.0), np.zeros(people, dtype=np.int64)
        run_ranges(
            kernel, row_ranges(order.ptr, threads), threads,
            order.ptr, order.cols, codes, size, 1.5, residual, count, of, number, effect,
        )  # fmt: skip
        places = np.concatenate(
            [np.arange(a, a + n) for a, n in zip(order.ptr[:-1], count, strict=True)]
        )
        found.append((count, of[places], number[places], effect[places], residual))
    for fast, slow in zip(*found, strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-12)


@THREADS
def test_values_of_families_equal_their_twin_and_nobody_has_any(threads: int) -> None:
    rng = np.random.default_rng(4)
    size, people, items, pairs = 9, 20, 50, 3000
    codes = rng.integers(-1, size, items).astype(np.int32)
    rated = [np.flatnonzero(rng.random(size) < p / people) for p in range(people)]
    ptr = np.cumsum([0, *map(len, rated)])
    values = rng.normal(size=ptr[-1])
    who = rng.integers(-1, people, pairs).astype(np.int32)
    what = rng.integers(0, items, pairs).astype(np.int32)
    known = (who, what, codes, ptr, np.concatenate(rated).astype(np.int32), values)
    fast, slow = np.ones(pairs), np.ones(pairs)
    run_ranges(families.add_family_values, even_ranges(pairs, threads), threads, *known, fast)
    reference_families.add_family_values(0, pairs, *known, slow)
    assert (fast == slow).all()
    assert (fast[who < 0] == 1).all()
    assert 0 < np.mean(fast != 1) < 1
