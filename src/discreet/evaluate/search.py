"""Search: which parameters serve held-out ratings best; the answer is computed from secrets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import polars as pl

from discreet.data.tables import Table, as_ratings
from discreet.errors import ParameterError, SecretsWarning, require_choice
from discreet.evaluate.crossval import cross_validate
from discreet.evaluate.metrics import ERRORS
from discreet.evaluate.splits import Split, k_folds
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.schemes.base import Scheme

SECRET = (
    "parameters found by search are computed from the ratings themselves: a release made with them "
    "spends privacy that its certificate does not count. Search on data that may be public, or on "
    "ratings that no release will be made of"
)
Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Search:
    """What a search found: for the owner of the ratings, like all results of evaluation."""

    best: Scheme
    """The scheme with the best parameters; not yet fitted to anything."""
    params: Mapping[str, Any]
    """These parameters."""
    by: str
    table: pl.DataFrame
    """A row for each combination, best first: its parameters, and all metrics as means of folds."""

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return f"Search({self.by} {self.table[self.by][0]:.4f} with {told}; secret: {SECRET})"


def search(
    scheme: Any,
    ratings: Table,
    grid: Grid | Sequence[Grid],
    spec: PrivacySpec | None = None,
    *,
    by: str = "rmse",
    folds: int | Sequence[Split] = 3,
    seed: int = 0,
    clip: bool = True,
    top: int = 10,
    target: str = "liked",
    workers: int | None = None,
    progress: Progress = silent,
) -> Search:
    """Try every combination of parameters on the same folds, as scikit-learn's GridSearchCV does.

    `grid` maps names of parameters to the values to try, or is a list of such; `by` is any figure
    of `cross_validate`: errors (rmse, mae) are better if smaller, all others if larger. The other
    arguments are those of `cross_validate`.

    What is found depends on secret ratings, and a `SecretsWarning` says so each time.

    >>> from discreet.readers.club import cinema_club
    >>> from discreet.schemes.bias import Bias
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SecretsWarning)  # the club is synthetic
    ...     found = search(Bias(), cinema_club().ratings, {"shrink_items": [1.0, 1e6]}, folds=2)
    >>> found.best.shrink_items, found.table.height
    (1.0, 2)
    """
    warnings.warn(SECRET, SecretsWarning, stacklevel=2)
    tried = list(_combinations(scheme, grid))
    data = as_ratings(ratings)
    splits = k_folds(data, folds, seed=seed) if isinstance(folds, int) else list(folds)
    lists = top if "@" in by or by not in ERRORS else None
    rows = []
    for done, (params, method) in enumerate(tried):
        progress("combinations", done, len(tried))
        found = cross_validate(
            method,
            data,
            spec,
            folds=splits,
            seed=seed,
            clip=clip,
            top=lists,
            target=target,
            workers=workers,
        )
        figures = found.drop("fold", "status", "mechanism").mean().row(0, named=True)
        require_choice("by", by, tuple(figures))
        rows.append({name: _shown(value) for name, value in params.items()} | figures)
    progress("combinations", len(tried), len(tried))
    table = pl.DataFrame(rows, infer_schema_length=None, strict=False).with_row_index("place")
    ordered = table.sort(by, descending=by not in ERRORS, nulls_last=True)
    params, best = tried[ordered["place"][0]]
    return Search(best, params, by, ordered.drop("place"))


def _combinations(scheme: Any, grid: Grid | Sequence[Grid]) -> Iterator[tuple[dict[str, Any], Any]]:
    if not hasattr(scheme, "set_params") or isinstance(scheme, type):
        raise ParameterError(f"search needs a scheme, such as Tally(): got {scheme!r}")
    for one in [grid] if isinstance(grid, Mapping) else grid:
        for name, values in one.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise ParameterError(
                    f"the grid needs a list of values for {name!r}: got {values!r}"
                )
        for values in product(*one.values()):
            params = dict(zip(one, values, strict=True))
            yield params, scheme.set_params(**params)


def _shown(value: Any) -> Any:
    """A parameter's value in a table."""
    return value if isinstance(value, int | float | str | None) else repr(value)
