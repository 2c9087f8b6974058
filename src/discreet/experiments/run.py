"""Reproduce and sweep: from data sets to cells, results and pages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import ParameterError, require_count
from discreet.evaluate.splits import folds_of
from discreet.experiments.cells import Cell, Job, Source, Store, cdf_place, options, run_cells
from discreet.experiments.paper import cells_of, delta_for, figure_points, results
from discreet.experiments.report import Report, about
from discreet.experiments.statements import Verdict
from discreet.progress import Progress, silent
from discreet.readers import datasets
from discreet.schemes import SCHEMES, find_scheme
from discreet.schemes.base import options_of

_RUNS = "runs.json"
"""What was asked for in a folder, so that its report covers all of it."""


def find_source(data: str, items: str | None = None, public_columns: Sequence[str] = ()) -> Source:
    """A data set by name, with its item table if it is there, or tables by their paths."""
    vouched = tuple(public_columns)
    known = data in datasets.DATA_SETS and not Path(data).exists()
    if known and items is None:
        table = data if datasets.has_items(data) else None
        return Source(data, data, table, public_columns=vouched).stamped()
    name = Path(data).stem if not known else data
    return Source(name, data, items, public_columns=vouched).stamped()


def default_figures(name: str) -> list[str]:
    """The paper varies t on ML-100K alone."""
    large = name == "ml-1m" or name.startswith("netflix")
    return ["2", "3", "4"] if large else ["2", "3", "4", "5"]


def find_sources(
    data: Sequence[str], items: Sequence[str], public_columns: Sequence[str] = ()
) -> dict[str, Source]:
    """Data sets and tables, the item tables going to the tables in their order."""
    paths = [name for name in data if name not in datasets.DATA_SETS]
    if len(items) > len(paths):
        raise ParameterError(
            f"got {len(items)} item tables for {len(paths)} tables of your own: data sets that are "
            "known by name bring theirs along"
        )
    tables = dict(zip(paths, items, strict=False))
    vouched = dict.fromkeys(tables, public_columns)
    return {name: find_source(name, tables.get(name), vouched.get(name, ())) for name in data}


def reproduce(
    sources: Mapping[str, Source],
    out: Path,
    *,
    figures: Sequence[str] | None = None,
    folds: int = 10,
    workers: int | None = None,
    progress: Progress = silent,
) -> tuple[Path, list[Verdict], int]:
    """Run what is missing and write the report; its path, the verdicts, how many cells ran."""
    if workers is not None:
        require_count("workers", workers)
    for source in sources.values():
        folds_of(source.load(), folds)
    store, ran = Store(out / "cells"), 0
    asked = _asked(out)
    for name, source in sources.items():
        chosen = list(figures or default_figures(name))
        before = asked.get(source.name, {}).get("figures", [])
        asked[source.name] = {
            "data": name,
            "items": source.items,
            "folds": folds,
            "figures": sorted({*chosen, *before}),
            "public_columns": list(source.public_columns),
        }
        points = figure_points(source, chosen)
        ran += run_cells(cells_of(points, folds), store, workers=workers, progress=progress)
        (out / _RUNS).write_text(json.dumps(asked, indent=2) + "\n")
    parts = []
    for entry in asked.values():
        source = find_source(entry["data"], entry["items"], entry.get("public_columns", ()))
        points = figure_points(source, entry["figures"])
        parts.append(results(points, store, entry["folds"]))
    table = pl.concat(parts).filter(pl.col("seconds").is_not_null())
    report = Report(table, about(list(asked), folds, table))
    return report.write(out), report.verdicts, ran


def _asked(out: Path) -> dict[str, dict[str, Any]]:
    try:
        return dict(json.loads((out / _RUNS).read_text()))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}


def sweep(
    source: Source,
    schemes: Sequence[str],
    epsilons: Sequence[float],
    out: Path,
    *,
    thresholds: Sequence[float] = (),
    factors: Sequence[int] = (),
    folds: int = 3,
    workers: int | None = None,
    progress: Progress = silent,
) -> pl.DataFrame:
    """Cross-validate every scheme at every privacy level, the same for all ratings.

    One row for each combination: scheme, epsilon, threshold, factors, rmse (clipped to the scale),
    rmse_std (its spread over the folds), cdf_1 (the share of ratings predicted within one star),
    seconds.

    Schemes by their names; thresholds and factors go with those that have such an option, and where
    one does not apply, the scheme runs once. What protects nobody has one level, none.
    """
    delta = delta_for(len(source.load()))
    folds_of(source.load(), folds)
    store = Store(out / "cells")
    rows: list[tuple[str, float | None, float | None, int | None, Job]] = []
    for name in schemes:
        about, has = find_scheme(name).about, options_of(find_scheme(name))
        ts: list[float | None] = [*thresholds] if thresholds and "threshold" in has else [None]
        ds: list[int | None] = [*factors] if factors and "factors" in has else [None]
        for epsilon, t, d in product(epsilons if about.private else [None], ts, ds):
            given = {"threshold": t, "factors": d, "delta": delta if "delta" in has else None}
            chosen = options(**{k: v for k, v in given.items() if v is not None})
            privacy = None if epsilon is None else options(uniform=epsilon)
            with_items = about.reads_items and source.items is not None
            called = about.name if name.lower() in SCHEMES else name
            rows.append(
                (about.name, epsilon, t, d, Job(source, called, chosen, privacy, with_items))
            )
    cells = [Cell(row[-1], fold, folds) for row in rows for fold in range(folds)]
    run_cells(cells, store, workers=workers, progress=progress)
    names = ("scheme", "epsilon", "threshold", "factors")
    places = [row[:-1] for row in rows for _ in range(folds)]
    schema = dict(zip(names, (pl.String, pl.Float64, pl.Float64, pl.Int64), strict=True))
    frame = pl.DataFrame(places, schema=schema, orient="row").hstack(store.table(cells))
    return frame.group_by(*names, maintain_order=True).agg(
        pl.col("rmse_clipped").mean().alias("rmse"),
        pl.col("rmse_clipped").std().fill_null(0.0).alias("rmse_std"),
        pl.col("cdf").list.get(cdf_place(1.0), null_on_oob=True).mean().alias("cdf_1"),
        pl.col("seconds").mean(),
    )
