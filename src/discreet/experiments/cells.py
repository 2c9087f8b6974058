"""Cells: one fit on one fold each, kept on disk under a name made of all that it depends on.

What was run once is found again under its name, so an experiment goes on where it was interrupted.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet import __version__
from discreet.data.ratings import Ratings
from discreet.errors import DivergenceError, OutputError, ParameterError
from discreet.evaluate import lists, metrics
from discreet.evaluate.baselines import find_method
from discreet.evaluate.crossval import Method, mechanism_of
from discreet.evaluate.judge import Judging, Predicts, Recommends, has_opinions, judge_lists
from discreet.evaluate.splits import Split, split_of
from discreet.experiments.code import code_of
from discreet.experiments.memory import Memory
from discreet.experiments.processes import each_in_a_process
from discreet.experiments.source import Source
from discreet.kernels.compute import Compute
from discreet.kernels.threads import thread_count
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.schemes.base import build_scheme

FORMAT = 1
"""Part of every cell's name: a change of what is measured begins anew."""
CDF_STEP = 0.05
CDF_AT = np.round(np.arange(0.0, 5.0001, CDF_STEP), 2)
"""Errors at which every cell keeps the share of ratings predicted at least as well."""
CLIPPED = ("rmse",)
"""Metrics that a cell keeps twice: of predictions as they are, which the paper shows, and of
predictions clipped to the scale, which sweeps show."""
Options = tuple[tuple[str, Any], ...]


def cdf_place(error: float) -> int:
    """Where the share of errors up to `error` stands in a cell's list: error / CDF_STEP.

    >>> float(CDF_AT[cdf_place(1.5)])
    1.5
    """
    return round(error / CDF_STEP)


def options(**given: Any) -> Options:
    """Parameters in one order, so that equal ones have equal names.

    >>> options(factors=5, delta=1e-6)
    (('delta', 1e-06), ('factors', 5))
    """
    return tuple(sorted(given.items()))


@dataclass(frozen=True)
class Job:
    """A scheme under a specification on a data set, whatever the fold."""

    source: Source
    scheme: str
    options: Options = ()
    privacy: Options | None = None
    """Parameters of PrivacySpec.groups, or (("uniform", epsilon),), or the table's own column."""
    with_items: bool = False

    def build(self) -> tuple[Method, PrivacySpec | None]:
        """The scheme, or baseline, and the specification."""
        kind, given = find_method(self.scheme), dict(self.options)
        items = self.source.load_items() if self.with_items else None
        if self.privacy is None:
            spec = PrivacySpec.column() if kind.about.private else None
        elif self.privacy[0][0] == "uniform":
            spec = PrivacySpec.uniform(float(self.privacy[0][1]))
        else:
            spec = PrivacySpec.groups(**dict(self.privacy))
        return build_scheme(kind, items, **given), spec


@dataclass(frozen=True)
class Cell:
    """One fold of a job."""

    job: Job
    fold: int
    folds: int
    seed: int = 0
    split: str = "random"
    """How records are held out: see `splits.SPLITS`."""
    lists: Judging | None = None
    """How lists are judged, where they are."""

    @property
    def name(self) -> str:
        """A digest of all that the result depends on, the code among it, and of nothing else."""
        what = asdict(self) | {"format": FORMAT, "version": __version__, "code": self.code}
        what["job"]["source"] = self.job.source.fingerprint
        if not self.job.with_items:
            what["job"].pop("with_items")
        if self.split != "random":
            what["times"] = self.job.source.times
        for later, usual in (("split", "random"), ("lists", None)):
            if what[later] == usual:
                what.pop(later)
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:24]

    @property
    def code(self) -> str:
        """A digest of the code that it runs: after a change of it a result is no longer found."""
        return code_of(find_method(self.job.scheme))

    def measure(self) -> dict[str, Any]:
        """Fit on all folds but one, measure on that one. A scheme that diverges has no numbers."""
        began = time.perf_counter()
        split = _split(self.job.source, self.split, self.fold, self.folds, self.seed)
        scheme, spec = self.job.build()
        memory, fitting = Memory(), time.perf_counter()
        try:
            model = scheme.fit(
                split.train, spec, seed=self.seed + self.fold, compute=Compute(threads=1)
            )
        except DivergenceError as error:
            return {"diverged": str(error), "seconds": time.perf_counter() - began}
        result: dict[str, Any] = dict.fromkeys(figures(self.lists))
        result["fit_seconds"] = time.perf_counter() - fitting
        result["fit_megabytes"] = memory.megabytes()
        if isinstance(model, Predicts) and has_opinions(split.test):
            result |= _errors(model, split.test)
        if self.lists is not None and isinstance(model, Recommends):
            items = self.job.source.load_items()
            found = judge_lists(model, split, items, self.lists)
            result |= {name: None if np.isnan(value) else value for name, value in found.items()}
        result["mechanism"] = mechanism_of(scheme, model)
        return result | {"seconds": time.perf_counter() - began}


def _errors(model: Predicts, test: Ratings) -> dict[str, Any]:
    """All error metrics, and the curve of errors."""
    predicted, actual = model.predict_ratings(test), test.rating
    clipped = test.scale.clip(predicted)
    result: dict[str, Any] = {}
    for name, metric in metrics.ERRORS.items():
        result[name] = metric.measure(predicted, actual)
        if name in CLIPPED:
            result[f"{name}_clipped"] = metric.measure(clipped, actual)
    return result | {"cdf": metrics.cdf(predicted, actual, CDF_AT).round(6).tolist()}


def figures(judging: Judging | None = None) -> list[str]:
    """The names of a cell's figures, but for its curve of errors and the seconds it took.

    >>> figures()
    ['rmse', 'rmse_clipped', 'mae']
    """
    found = [
        figure
        for name in metrics.ERRORS
        for figure in (name, *([f"{name}_clipped"] if name in CLIPPED else []))
    ]
    return found if judging is None else [*found, *lists.headings(judging.top)]


@lru_cache(maxsize=2)
def _split(source: Source, how: str, fold: int, folds: int, seed: int) -> Split:
    return split_of(source.load(), how, fold, folds, seed=seed)


class Store:
    """Results in a folder: one JSON file for each cell, written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot write to {folder}: {error}") from None

    def get(self, cell: Cell) -> dict[str, Any] | None:
        """A finished cell's result."""
        try:
            result = json.loads((self.folder / f"{cell.name}.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return dict(result)

    def put(self, cell: Cell, result: dict[str, Any]) -> None:
        """Keep a result; killed in the middle, nothing is there."""
        fresh = self.folder / f".{cell.name}-{os.getpid()}"
        fresh.write_text(json.dumps(result))
        fresh.replace(self.folder / f"{cell.name}.json")

    def table(self, cells: Sequence[Cell]) -> pl.DataFrame:
        """Results in the order of the cells; a missing or diverged one has nulls."""
        rows = [self.get(cell) or {} for cell in cells]
        judged = next((cell.lists for cell in cells if cell.lists is not None), None)
        numbers = figures(judged)
        numbers += [f"{name}{lists.MARGIN}" for name in numbers if "@" in name]
        numbers.append("seconds")
        return pl.DataFrame(
            {name: [row.get(name) for row in rows] for name in numbers}
            | {"cdf": [row.get("cdf") for row in rows]}
            | {"mechanism": [row.get("mechanism") for row in rows]}
            | {"diverged": ["diverged" in row for row in rows]},
            schema=dict.fromkeys(numbers, pl.Float64)
            | {"cdf": pl.List(pl.Float64), "mechanism": pl.String, "diverged": pl.Boolean},
        )


def _is_complete(cell: Cell, result: dict[str, Any] | None) -> bool:
    """Whether nothing has to be measured; a metric that is new makes a cell run again."""
    if result is None:
        return False
    return "diverged" in result or set(figures(cell.lists)) <= set(result)


def _work(cell: Cell, folder: Path) -> None:
    Store(folder).put(cell, cell.measure())


def run_cells(
    cells: Sequence[Cell], store: Store, *, workers: int | None = None, progress: Progress = silent
) -> int:
    """Run the cells that are not kept yet, in processes side by side; the number that were run.

    Interrupted at any moment, even killed, the next call goes on where this one stopped.
    """
    unique = list(dict.fromkeys(cells))
    todo = [cell for cell in unique if not _is_complete(cell, store.get(cell))]
    # One fold after the other, so that processes seldom need another split.
    todo.sort(key=lambda cell: (cell.job.source.name, cell.fold))
    done = len(unique) - len(todo)
    progress("cells", done, len(unique))
    if not todo:
        return 0
    side_by_side = min(thread_count(workers), len(todo))
    calls = [(cell, store.folder) for cell in todo]
    try:
        with closing(each_in_a_process(_work, calls, side_by_side)) as finished:
            for _ in finished:
                done += 1
                progress("cells", done, len(unique))
    except BrokenProcessPool:
        raise ParameterError(
            "a worker process ended in the middle, perhaps for want of memory: what was done is "
            "kept; run the same command again, with fewer --workers"
        ) from None
    return len(todo)
