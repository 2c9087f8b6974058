"""What is had together: sums over people for pairs of items; each call owns rows of the result."""

from __future__ import annotations

from discreet.kernels.simd.width import vector_kernel


@vector_kernel()
def add_together(lo, hi, by_item, people, x, by_user, items, y, out):  # type: ignore[no-untyped-def]
    """out[j - lo, k] += sum over people i of x_ij y_ik, for the items lo <= j < hi: rows of X'Y.

    Item j has the people[by_item[j]:by_item[j+1]] with values x, person i the
    items[by_user[i]:by_user[i+1]] with values y.
    """
    for j in range(lo, hi):
        row = out[j - lo]
        for a in range(by_item[j], by_item[j + 1]):
            i, value = people[a], x[a]
            for b in range(by_user[i], by_user[i + 1]):
                row[items[b]] += value * y[b]


@vector_kernel()
def add_neighbours(ptr, items, x, near, likeness, out):  # type: ignore[no-untyped-def]
    """out[p, near[k, a]] += x_pk likeness[k, a], for every item k of person p and place a."""
    for p in range(len(ptr) - 1):
        row = out[p]
        for r in range(ptr[p], ptr[p + 1]):
            k, value = items[r], x[r]
            for a in range(near.shape[1]):
                row[near[k, a]] += value * likeness[k, a]
