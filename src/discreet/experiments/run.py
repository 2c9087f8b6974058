"""Reproduce and sweep: from data sets to cells, results and pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from discreet.errors import ParameterError, require_count
from discreet.evaluate.baselines import REFERENCES, find_method
from discreet.evaluate.judge import Judging, has_opinions
from discreet.evaluate.splits import folds_of, split_of
from discreet.experiments.cells import Cell, Job, Store, cdf_place, options, run_cells
from discreet.experiments.paper import cells_of, delta_for, figure_points, results
from discreet.experiments.report import Report, about
from discreet.experiments.source import ItemReading, Reading, Source
from discreet.experiments.statements import Verdict
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.readers import datasets
from discreet.schemes import SCHEMES, find_scheme
from discreet.schemes.base import options_of
from discreet.schemes.catalogue import refuse_events

_RUNS = "runs.json"
"""What was asked for in a folder, so that its report covers all of it."""


def find_source(
    data: str,
    items: str | None = None,
    reading: Reading = Reading(),
    item_reading: ItemReading = ItemReading(),
) -> Source:
    """A data set by name, with its item table if it is there, or tables by their paths."""
    known = data in datasets.DATA_SETS and not Path(data).exists()
    if known and items is None:
        table = data if datasets.has_items(data) else None
        return Source(data, data, table, reading=reading, item_reading=item_reading).stamped()
    name = Path(data).stem if not known else data
    return Source(name, data, items, reading=reading, item_reading=item_reading).stamped()


def default_figures(name: str) -> list[str]:
    """The paper varies t on ML-100K alone."""
    large = name == "ml-1m" or name.startswith("netflix")
    return ["2", "3", "4"] if large else ["2", "3", "4", "5"]


def find_sources(
    data: Sequence[str],
    items: Sequence[str],
    reading: Reading = Reading(),
    item_reading: ItemReading = ItemReading(),
) -> dict[str, Source]:
    """Data sets and tables, the item tables going to the tables in their order.

    How they are read is for tables by their paths: data sets are known.
    """
    paths = [name for name in data if name not in datasets.DATA_SETS]
    if len(items) > len(paths):
        raise ParameterError(
            f"got {len(items)} item tables for {len(paths)} tables of your own: data sets that are "
            "known by name bring theirs along"
        )
    tables = dict(zip(paths, items, strict=False))
    return {
        name: find_source(name, tables.get(name), reading, item_reading)
        if name in paths
        else find_source(name)
        for name in data
    }


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
            "reading": asdict(source.reading),
            "item_reading": asdict(source.item_reading),
        }
        points = figure_points(source, chosen)
        ran += run_cells(cells_of(points, folds), store, workers=workers, progress=progress)
        (out / _RUNS).write_text(json.dumps(asked, indent=2) + "\n")
    parts = []
    for entry in asked.values():
        source = find_source(
            entry["data"],
            entry["items"],
            Reading(**_frozen(entry.get("reading", {}))),
            ItemReading(**_frozen(entry.get("item_reading", {}))),
        )
        points = figure_points(source, entry["figures"])
        parts.append(results(points, store, entry["folds"]))
    table = pl.concat(parts).filter(pl.col("seconds").is_not_null())
    report = Report(table, about(list(asked), folds, table))
    return report.write(out), report.verdicts, ran


def _frozen(words: Any) -> Any:
    """What JSON gave back, its lists as tuples again."""
    if isinstance(words, dict):
        return {name: _frozen(word) for name, word in words.items()}
    return tuple(map(_frozen, words)) if isinstance(words, list) else words


def _asked(out: Path) -> dict[str, dict[str, Any]]:
    try:
        return dict(json.loads((out / _RUNS).read_text()))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}


class _Row(NamedTuple):
    """A row of a sweep, and the job behind it."""

    scheme: str
    epsilon: float | None
    threshold: float | None
    factors: int | None
    job: Job
    lists: Judging | None


_ROW = {"scheme": pl.String, "epsilon": pl.Float64, "threshold": pl.Float64, "factors": pl.Int64}


def sweep(
    source: Source,
    schemes: Sequence[str],
    epsilons: Sequence[float],
    out: Path,
    *,
    thresholds: Sequence[float] = (),
    factors: Sequence[int] = (),
    folds: int = 3,
    split: str = "random",
    lists: Judging | None = Judging(),
    baselines: bool = True,
    workers: int | None = None,
    progress: Progress = silent,
) -> pl.DataFrame:
    """Measure every scheme at every privacy level, the same for all ratings, beside baselines.

    One row for each combination: scheme, epsilon, threshold, factors, rmse (clipped to the scale),
    rmse_std (its spread over folds), cdf_1 (the share of ratings predicted within one star), the
    metrics of `lists.RANKINGS` with their margins, seconds, mechanism (its status without a seed),
    diverged. Means over the folds; by time, or everybody's last, there is one split.

    Schemes by their names; thresholds and factors go with those that have such an option, and where
    one does not apply, the scheme runs once. What protects nobody has one level, none.
    """
    if split == "random":
        folds_of(source.load(), folds)
    else:
        folds, _ = 1, split_of(source.load(), split)  # which has a table without times refused
    store = Store(out / "cells")
    rows = list(_grid(source, schemes, epsilons, thresholds, factors, lists))
    if baselines:
        rows += _beside(source, schemes, epsilons, lists)
    cells = [
        Cell(row.job, fold, folds, split=split, lists=row.lists)
        for row in rows
        for fold in range(folds)
    ]
    run_cells(cells, store, workers=workers, progress=progress)
    places = [row[: len(_ROW)] for row in rows for _ in range(folds)]
    frame = pl.DataFrame(places, schema=_ROW, orient="row").hstack(store.table(cells))
    judged = [name for name in frame.columns if "@" in name]
    return frame.group_by(*_ROW, maintain_order=True).agg(
        pl.col("rmse_clipped").mean().alias("rmse"),
        pl.col("rmse_clipped").std().alias("rmse_std"),
        pl.col("cdf").list.get(cdf_place(1.0), null_on_oob=True).mean().alias("cdf_1"),
        pl.col(judged).mean(),
        pl.col("seconds").mean(),
        pl.col("mechanism").first(),
        pl.col("diverged").any(),
    )


def _grid(
    source: Source,
    schemes: Sequence[str],
    epsilons: Sequence[float],
    thresholds: Sequence[float],
    factors: Sequence[int],
    lists: Judging | None,
) -> Iterator[_Row]:
    """Every scheme with every level and parameter that it has."""
    delta = delta_for(len(source.load()))
    for name in schemes:
        about, has = find_scheme(name).about, options_of(find_scheme(name))
        if source.reading.events is not None and not about.events:
            refuse_events()
        ts: list[float | None] = [*thresholds] if thresholds and "threshold" in has else [None]
        ds: list[int | None] = [*factors] if factors and "factors" in has else [None]
        for epsilon, t, d in product(epsilons if about.private else [None], ts, ds):
            given = {"threshold": t, "factors": d, "delta": delta if "delta" in has else None}
            chosen = options(**{k: v for k, v in given.items() if v is not None})
            privacy = None if epsilon is None else options(uniform=epsilon)
            with_items = about.reads_items and source.items is not None
            called = about.name if name.lower() in SCHEMES else name
            job = Job(source, called, chosen, privacy, with_items)
            yield _Row(about.name, epsilon, t, d, job, lists)


def _beside(
    source: Source, schemes: Sequence[str], epsilons: Sequence[float], lists: Judging | None
) -> Iterator[_Row]:
    """What the schemes are held against: only what can be had, and is not among them."""
    data = source.load()
    for reference in REFERENCES:
        judged = lists if reference.of == "lists" else None
        wanted = lists is not None if reference.of == "lists" else has_opinions(data)
        if (reference.name in schemes and not reference.options) or not wanted:
            continue
        private = find_method(reference.name).about.private
        if reference.why_not(data, PrivacySpec.uniform(1.0), source.load_items()):
            continue
        for epsilon in epsilons if private else [None]:
            privacy = None if epsilon is None else options(uniform=epsilon)
            with_items = source.items is not None
            job = Job(source, reference.name, reference.options, privacy, with_items)
            yield _Row(reference.label, epsilon, None, None, job, judged)


def left_out(source: Source, *, baselines: bool = True) -> str:
    """Which baselines cannot be had for a table, each with the reason."""
    spec = PrivacySpec.uniform(1.0)
    reasons = {
        reference.label: reference.why_not(source.load(), spec, source.load_items())
        for reference in REFERENCES
        if baselines
    }
    return ", ".join(f"{label} ({reason})" for label, reason in reasons.items() if reason)
