"""Cross-validation: any scheme, any splits, folds in parallel; the results are secret."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Protocol

import polars as pl

from discreet.data.items import Items
from discreet.data.tables import Table, as_ratings
from discreet.errors import ParameterError
from discreet.evaluate import metrics
from discreet.evaluate.judge import Judging, Predicts, Recommends, has_opinions, judge_lists
from discreet.evaluate.splits import Split, k_folds
from discreet.kernels.compute import Compute
from discreet.kernels.threads import thread_count
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.schemes.base import About

NOT_PRIVATE = "not private"
"""What stands for the status of something that promises nobody anything."""


class Method(Protocol):
    """What can be evaluated: a scheme, or a baseline, whose models may do less."""

    @property
    def about(self) -> About:
        """What it says of itself."""
        ...

    @property
    def items(self) -> Items | None:
        """The public catalogue, where there is one."""
        ...

    @property
    def fit(self) -> Callable[..., Any]:
        """As a scheme's: it makes what predicts ratings, or recommends, or both."""
        ...


def evaluate_split(
    scheme: Method,
    split: Split,
    spec: PrivacySpec | None = None,
    *,
    seed: int | None = None,
    compute: Compute = Compute(),
    clip: bool = False,
    lists: Judging | None = Judging(),
    progress: Progress = silent,
) -> dict[str, Any]:
    """Fit on the training part and measure on the test part: a row of `cross_validate`.

    What the model can do is measured: its predictions, unless records are events and have no
    rating to predict, and its lists, unless `lists` is None.
    """
    began = time.perf_counter()
    model = scheme.fit(split.train, spec, seed=seed, compute=compute, progress=progress)
    row: dict[str, Any] = {"fit_seconds": time.perf_counter() - began}
    if isinstance(model, Predicts) and has_opinions(split.test):
        predicted = model.predict_ratings(split.test, clip=clip)
        row = metrics.summary(predicted, split.test.rating) | row
    if lists is not None and isinstance(model, Recommends):
        row |= judge_lists(model, split, scheme.items, lists)
    status = model.release.certificate.summary if scheme.about.private else NOT_PRIVATE
    return row | {"status": status, "mechanism": mechanism_of(scheme, model)}


def mechanism_of(scheme: Method, model: Any) -> str:
    """The status of a fit, had it not been seeded."""
    return str(model.release.certificate.without_seed) if scheme.about.private else NOT_PRIVATE


def cross_validate(
    scheme: Method,
    ratings: Table,
    spec: PrivacySpec | None = None,
    *,
    folds: int | Sequence[Split] = 10,
    seed: int = 0,
    clip: bool = False,
    top: int | None = 10,
    target: str = "liked",
    relevant: float | None = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> pl.DataFrame:
    """Measure a scheme on ratings that it was not trained on, several times over.

    The ratings are divided into parts of the same size, the folds. Each fold in turn is held out,
    the scheme is trained on all others and its predictions are compared with the fold. One row per
    fold: fold, the metrics of `metrics.ERRORS` (rmse, mae), cdf_0.5 .. cdf_2 (shares of ratings
    predicted within so many stars), fit_seconds, those of `lists.RANKINGS` for lists of `top` items
    (ndcg@10, recall@20, precision, coverage, ..., with the margins of their 95% intervals over
    people), status, mechanism. Mean and spread over the rows say how good the scheme is, and how
    sure that is.

    A list is good if it holds what people liked among their held-out records, or, with
    target="consumed", any of them; liked means rated `relevant` or better, by default three
    quarters up the scale. Without `top`, lists are not judged.

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
    table = as_ratings(ratings)
    splits = k_folds(table, folds, seed=seed) if isinstance(folds, int) else list(folds)
    if not splits:
        raise ParameterError("cross-validation needs at least one split")
    lists = None if top is None else Judging(top, target, relevant).check()
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
                lists=lists,
            ): fold
            for fold, split in enumerate(splits)
        }
        for done, future in enumerate(as_completed(futures), 1):
            rows[futures[future]] = {"fold": futures[future] + 1, **future.result()}
            progress("folds", done, len(splits))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return pl.DataFrame(rows)
