"""Cross-validation: any scheme, any splits, folds in parallel; the results are secret."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import numpy as np
import polars as pl

from discreet.data.ratings import Ratings
from discreet.errors import ParameterError, require_count
from discreet.evaluate import metrics
from discreet.evaluate.splits import Split, k_folds
from discreet.kernels.compute import Compute
from discreet.kernels.threads import thread_count
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.schemes.base import Scheme
from discreet.schemes.model import FactorModel

USUAL_TOP = 10
"""How long lists of events are, unless another length is asked for."""


def evaluate_split(
    scheme: Scheme,
    split: Split,
    spec: PrivacySpec | None = None,
    *,
    seed: int | None = None,
    compute: Compute = Compute(),
    clip: bool = False,
    top: int | None = None,
    relevant: float | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Fit on the training part and measure on the test part: a row of `cross_validate`.

    With `top`, also the metrics of `metrics.RANKINGS` for lists of so many items; a test rating
    counts as relevant from `relevant` on (default: three quarters up the scale, 4 of 1..5). Of
    events there are these alone, and all that were held out are relevant.
    """
    began = time.perf_counter()
    model = scheme.fit(split.train, spec, seed=seed, compute=compute, progress=progress)
    seconds = time.perf_counter() - began
    row: dict[str, Any] = {}
    if split.train.events:  # nobody rated anything: lists alone can be judged
        top, relevant = top or USUAL_TOP, 0.0
    else:
        predicted = model.predict_ratings(split.test, clip=clip)
        row = metrics.summary(predicted, split.test.rating)
    if top is not None:
        row |= _ranking(model, split.test, require_count("top", top), relevant)
    promised = model.release.certificate
    return row | {
        "fit_seconds": seconds,
        "status": promised.summary,
        "mechanism": str(promised.without_seed),
    }


def headings(top: int | None = None, *, events: bool = False) -> dict[str, str]:
    """What to write above each figure of `cross_validate`, by the name of its column, in order."""
    words = metrics.headings(top or USUAL_TOP if events else top)
    if events:
        words = {name: heading for name, heading in words.items() if "@" in name}
    return words | {"fit_seconds": "fit s"}


def cross_validate(
    scheme: Scheme,
    ratings: Ratings,
    spec: PrivacySpec | None = None,
    *,
    folds: int | Sequence[Split] = 10,
    seed: int = 0,
    clip: bool = False,
    top: int | None = None,
    relevant: float | None = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> pl.DataFrame:
    """Measure a scheme on ratings that it was not trained on, several times over.

    The ratings are divided into parts of the same size, the folds. Each fold in turn is held out,
    the scheme is trained on all others and its predictions are compared with the fold. One row per
    fold: fold, the metrics of `metrics.ERRORS` (rmse, mae), cdf_0.5 .. cdf_2 (shares of ratings
    predicted within so many stars), with `top` those of `metrics.RANKINGS`, fit_seconds, status,
    mechanism. Mean and spread over the rows say how good the scheme is, and how sure that is.

    >>> from discreet.readers.club import cinema_club
    >>> from discreet.schemes.bias import Bias
    >>> found = cross_validate(Bias(), cinema_club().ratings, folds=3)
    >>> bool(found["rmse"].mean() < 1)
    True

    Folds are seeded, so their status is that they protect nobody; `mechanism` is the status of the
    same fit without a seed.

    `folds` is a number, or the splits themselves. The folds run side by side, one core each; the
    numbers do not depend on how many. They are computed from secret ratings: publishing them, or
    a parameter chosen by them, spends privacy that no certificate counts.
    """
    if isinstance(scheme, type):
        raise ParameterError(f"give a scheme, not its class: {scheme.__name__}()")
    splits = k_folds(ratings, folds, seed=seed) if isinstance(folds, int) else list(folds)
    if not splits:
        raise ParameterError("cross-validation needs at least one split")
    side_by_side = min(len(splits), thread_count(workers))
    alone = Compute(max(1, thread_count(None) // side_by_side))
    rows: list[dict[str, Any]] = [{} for _ in splits]
    progress("folds", 0, len(splits))
    pool = ThreadPoolExecutor(side_by_side)
    try:
        futures = {
            pool.submit(
                evaluate_split,
                scheme,
                split,
                spec,
                seed=seed + fold,
                compute=alone,
                clip=clip,
                top=top,
                relevant=relevant,
            ): fold
            for fold, split in enumerate(splits)
        }
        for done, future in enumerate(as_completed(futures), 1):
            rows[futures[future]] = {"fold": futures[future] + 1, **future.result()}
            progress("folds", done, len(splits))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return pl.DataFrame(rows)


def _ranking(
    model: FactorModel, test: Ratings, top: int, relevant: float | None
) -> dict[str, float]:
    """The metrics of lists, over those who like something in the test part."""
    least = test.scale.lo + 0.75 * test.scale.span if relevant is None else relevant
    good = test.subset(test.rating >= least)
    user = model.ratings.users.rows(good.users.values)[good.user]
    item = model.ratings.items.rows(good.items.values)[good.item]
    known = (user >= 0) & (item >= 0)
    listed = model.recommend(model.ratings.users.take(np.unique(user[known])), top)
    return metrics.ranking(
        model.ratings.users.rows(listed["user"]),
        model.ratings.items.rows(listed["item"]),
        user[known],
        item[known],
        top,
        len(model.ratings.items),
    )
