"""EASE: what is had together tells what comes next, in closed form; not private."""

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
from discreet.errors import ParameterError
from discreet.field.list_model import ListModel, chosen, dense
from discreet.kernels.compute import Compute
from discreet.kernels.threads import row_ranges, run_all
from discreet.kernels.together import add_together
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.base import About
from discreet.schemes.catalogue import to_train_on

MOST_ITEMS = 6_000
"""Of more items the inverse would take minutes and gigabytes: time grows with their cube."""
RIDGE = 1.0
"""Times the count of the item that a typical record is of: measured in docs/constants.md."""


@dataclass(frozen=True, kw_only=True)
class EASE:
    """The regression of every item on all others (Steck, 2019): the yardstick without privacy.

    X has a one for every record. G = X'X + lambda I, P = G^-1, B_jk = -P_jk / P_kk with a diagonal
    of zeros; scores are X B. Here lambda = sum c^2 / sum c, the count of the item that a record
    is of, mean over records: c are the counts of the items.
    """

    about: ClassVar[About] = About(
        name="EASE",
        promise="no privacy: a regression of every item on all others",
        units=(),
        audited=(),
        events=True,
    )
    items: Items | None = None
    ridge: float | None = None
    """lambda; by default as above."""

    def why_not(self, ratings: Ratings, spec: PrivacySpec | None = None) -> str:
        """Why it cannot be had, if so."""
        del spec
        count = len(ratings.items if self.items is None else self.items)
        return f"{count:,} items, more than {MOST_ITEMS:,}" if count > MOST_ITEMS else ""

    def fit(
        self,
        ratings: Ratings,
        spec: PrivacySpec | None = None,
        *,
        compute: Compute = Compute(),
        **_: Any,
    ) -> ListModel:
        """Invert; a specification is accepted, for comparisons, and protects nobody."""
        if self.why_not(ratings, spec):
            raise ParameterError(f"EASE is not made for such tables: {self.why_not(ratings)}")
        data = to_train_on(ratings, self.items, events=True)
        G = counted_together(chosen(data), len(data.items), compute.workers)
        counts = G.diagonal().copy()
        ridge = self.ridge
        if ridge is None:
            ridge = RIDGE * float((counts**2).sum() / max(counts.sum(), 1))
        weights = regression_weights(G, max(ridge, 1e-9))
        return ListModel(data, partial(_scores, weights))


def counted_together(rows: CSR, items: int, threads: int) -> NDArray[np.float64]:
    """X'X for a sparse X with so many columns."""
    columns = rows.transposed(items)
    G = np.zeros((items, items))

    def add(lo: int, hi: int) -> None:
        sides = (columns.ptr, columns.cols, columns.values, rows.ptr, rows.cols, rows.values)
        add_together(lo, hi, *sides, G[lo:hi])

    run_all([partial(add, lo, hi) for lo, hi in row_ranges(columns.ptr, threads)], threads)
    return G


def regression_weights(G: Array, ridge: float) -> NDArray[np.float32]:
    """B_jk = -P_jk / P_kk off the diagonal, P = (G + ridge I)^-1."""
    penalised = G.copy()
    np.fill_diagonal(penalised, G.diagonal() + ridge)
    weights = np.linalg.inv(penalised)
    weights /= -weights.diagonal()
    np.fill_diagonal(weights, 0.0)
    return weights.astype(np.float32)


def _scores(weights: NDArray[np.float32], own: CSR) -> Array:
    return np.asarray(dense(own._replace(values=np.ones(len(own.cols))), len(weights)) @ weights)
