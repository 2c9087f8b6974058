"""Item-kNN: what is like the items that somebody has, by who has both; not private."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.csr import CSR
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import require_count, require_nonnegative
from discreet.field.list_model import ListModel, chosen
from discreet.kernels.compute import Compute
from discreet.kernels.lists import best_items
from discreet.kernels.threads import run_all
from discreet.kernels.together import add_neighbours, add_together
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.base import About
from discreet.schemes.catalogue import to_train_on

_ROWS = 256
"""Items that a thread compares with all others at once."""


@dataclass(frozen=True, kw_only=True)
class ItemKNN:
    """Every item that somebody has speaks for the items most like it: the usual neighbourhood.

    Items j and k that c_jk people have both of are alike by c_jk / (sqrt(c_j c_k) + shrink). An
    item speaks for its nearest `neighbours`, and a score is the sum of what all items of somebody
    say.
    """

    about: ClassVar[About] = About(
        name="item-kNN",
        promise="no privacy: similar items by who has both",
        units=(),
        audited=(),
        events=True,
    )
    items: Items | None = None
    neighbours: int = 20
    """Measured in docs/constants.md, like the next."""
    shrink: float = 10.0

    def fit(
        self,
        ratings: Ratings,
        spec: PrivacySpec | None = None,
        *,
        compute: Compute = Compute(),
        **_: Any,
    ) -> ListModel:
        """Compare; a specification is accepted, for comparisons, and protects nobody."""
        del spec
        require_count("neighbours", self.neighbours)
        require_nonnegative("shrink", self.shrink)
        data = to_train_on(ratings, self.items, events=True)
        near, likeness = nearest(
            chosen(data), len(data.items), self.neighbours, self.shrink, compute.workers
        )
        return ListModel(data, partial(_scores, near, likeness))


def nearest(
    rows: CSR, items: int, neighbours: int, shrink: float, threads: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The nearest neighbours of every item, ties in the items' order, and how like it each is."""
    columns = rows.transposed(items)
    counts = np.diff(columns.ptr).astype(np.float64)
    near = np.full((items, min(neighbours, items - 1)), -1, dtype=np.int32)
    likeness = np.zeros(near.shape)
    sides = (columns.ptr, columns.cols, columns.values, rows.ptr, rows.cols, rows.values)

    def compare(lo: int) -> None:
        hi = min(lo + _ROWS, items)
        both = np.zeros((hi - lo, items))
        add_together(lo, hi, *sides, both)
        both /= np.maximum(np.sqrt(np.outer(counts[lo:hi], counts)) + shrink, 1.0)
        itself = np.arange(lo, hi, dtype=np.int32)  # which does not speak for itself
        best_items(items, both, np.arange(hi - lo + 1), itself, near[lo:hi], likeness[lo:hi])

    if near.size:
        run_all([partial(compare, lo) for lo in range(0, items, _ROWS)], threads)
    return near, likeness


def _scores(near: NDArray[np.int32], likeness: NDArray[np.float64], own: CSR) -> Array:
    out = np.zeros((len(own.ptr) - 1, len(near)))
    add_neighbours(own.ptr, own.cols, np.ones(len(own.cols)), near, likeness, out)
    return out
