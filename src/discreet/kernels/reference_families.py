"""The NumPy twins of `families`: slow, obvious, and the specification of each."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Array


def family_effects(
    lo: int,
    hi: int,
    ptr: Array,
    items: Array,
    codes: Array,
    size: int,
    shrink: float,
    residual: Array,
    found: Array,
    family: Array,
    count: Array,
    effect: Array,
) -> None:
    """effect = (sum of a person's residuals in a family) / (their number + shrink)."""
    for p in range(lo, hi):
        mine = np.arange(ptr[p], ptr[p + 1])
        mine = mine[codes[items[mine]] >= 0]
        of = codes[items[mine]]
        counts = np.bincount(of, minlength=size)
        known = np.flatnonzero(counts)
        found[p] = len(known)
        out = slice(ptr[p], ptr[p] + len(known))
        family[out], count[out] = known, counts[known]
        effects = np.bincount(of, weights=residual[mine], minlength=size) / (counts + shrink)
        effect[out] = effects[known]
        residual[mine] -= effects[of]


def add_family_values(
    lo: int,
    hi: int,
    rows: Array,
    cols: Array,
    codes: Array,
    ptr: Array,
    families: Array,
    values: Array,
    sums: Array,
) -> None:
    """sums[k] += the value of person rows[k] for the family of item cols[k], if they have one."""
    for k in range(lo, hi):
        if rows[k] >= 0:
            mine = slice(ptr[rows[k]], ptr[rows[k] + 1])
            sums[k] += values[mine][families[mine] == codes[cols[k]]].sum()
