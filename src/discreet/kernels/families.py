"""Families: what a person's residuals in a series, or of an author, have in common."""

from __future__ import annotations

import numpy as np

from discreet.kernels.simd.width import vector_kernel


@vector_kernel()
def family_effects(lo, hi, ptr, items, codes, size, shrink, residual, found, family, count, effect):  # type: ignore[no-untyped-def]
    """effect = (sum of a person's residuals in a family) / (their number + shrink).

    Person p has found[p] families, which stand from ptr[p] on in ascending order; the effects are
    subtracted from the residuals. Codes are below `size`, and -1 is no family.
    """
    place = np.full(size, -1, dtype=np.int64)
    for p in range(lo, hi):
        first = last = ptr[p]
        for k in range(ptr[p], ptr[p + 1]):
            code = codes[items[k]]
            if code >= 0 and place[code] < 0:
                place[code] = 0
                family[last] = code
                last += 1
        if (last - first) * (last - first) > 4 * size:
            # So many that a pass over all of them is shorter work than moving them.
            at = first
            for code in range(size):
                if place[code] == 0:
                    family[at] = code
                    at += 1
        else:
            # Items come in the order of the catalogue, families nearly so: few move, and not far.
            for k in range(first + 1, last):
                code, at = family[k], k
                while at > first and family[at - 1] > code:
                    family[at] = family[at - 1]
                    at -= 1
                family[at] = code
        for at in range(first, last):
            place[family[at]] = at
            count[at], effect[at] = 0, 0.0
        for k in range(ptr[p], ptr[p + 1]):
            code = codes[items[k]]
            if code >= 0:
                count[place[code]] += 1
                effect[place[code]] += residual[k]
        for at in range(first, last):
            effect[at] /= count[at] + shrink
        for k in range(ptr[p], ptr[p + 1]):
            code = codes[items[k]]
            if code >= 0:
                residual[k] -= effect[place[code]]
        for at in range(first, last):
            place[family[at]] = -1
        found[p] = last - first


@vector_kernel()
def add_family_values(lo, hi, rows, cols, codes, ptr, families, values, sums):  # type: ignore[no-untyped-def]
    """sums[k] += the value of person rows[k] for the family of item cols[k], if they have one.

    Person p's families stand at ptr[p]:ptr[p+1], in ascending order, beside their values. -1 is
    nobody: it would be from ptr[-1] to ptr[0], which holds nothing.
    """
    for k in range(lo, hi):
        code, first, last = codes[cols[k]], ptr[rows[k]], ptr[rows[k] + 1]
        while first < last:
            middle = (first + last) // 2
            if families[middle] < code:
                first = middle + 1
            else:
                last = middle
        if first < ptr[rows[k] + 1] and families[first] == code:
            sums[k] += values[first]
