"""Section 6 of the paper: its figures and parameter sets, and beside them what it does not have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from discreet.experiments.cells import (
    CDF_STEP,
    Cell,
    Job,
    Options,
    Store,
    cdf_place,
    options,
)
from discreet.experiments.source import Source

F_C = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
"""Figure 2."""
EPS_M = (0.2, 0.3, 0.4, 0.5, 0.6)
"""Figure 4: a grid of our own, the paper's is not in its text."""
T = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
T_CURVES = (0.6, 0.7, 0.8, 1.0)
"""Figure 5."""
SETS = {"PDP-PMF1": 0.54, "PDP-PMF2": 0.37, "PDP-PMF3": 0.20}
"""f_c of the parameter sets of Tables 2 and 3."""
F_M, EPS_C, EPS_L = 0.37, 0.1, 1.0
TITLES = {
    "2": "RMSE as the share of conservative ratings f_c varies",
    "3": "Errors: the share of ratings predicted within x stars",
    "4": "RMSE as eps_m, between conservative and moderate, varies",
    "5a": "Errors for several sampling thresholds t",
    "5b": "Share of errors within 1, 1.5 and 2 stars as t varies",
}
AXES = {
    "2": ("f_c", "RMSE"),
    "3": ("error x in stars", "share of ratings with an error of at most x"),
    "4": ("eps_m", "RMSE"),
    "5a": ("error x in stars", "share of ratings with an error of at most x"),
    "5b": ("sampling threshold t", "share of ratings"),
}
PARAMETERS = [
    (
        "Table 1, Figure 2",
        "f_c = 0.1 .. 0.6, f_m = 0.37, eps_c = 0.1, eps_m = 0.2, eps_l = 1, t = mean of the levels",
    ),
    (
        "Table 2, Figure 3",
        "PDP-PMF1, 2, 3: f_c = 0.54, 0.37, 0.20; f_m = 0.37, eps_m = 0.2, t = mean of the levels",
    ),
    ("Table 3, Figure 4", "the same three with eps_m = 0.2 .. 0.6 (a grid of our own)"),
    ("Table 4, Figure 5", "f_c = 0.60, f_m = 0.35, eps_m = 0.4, t = 0.1 .. 1.0"),
    (
        "all",
        "gamma = 50, lambda = 0.01, k1 = k2 = 50, d = 20, DP-PMF at epsilon = 0.1, predictions not "
        "clipped to the scale",
    ),
]


class Point(NamedTuple):
    """Where a job's results go: a figure, the curve in it, and the place on its x axis."""

    figure: str
    series: str
    x: float | None
    job: Job


def groups(f_c: float, eps_m: float, f_m: float = F_M) -> Options:
    """The paper's three groups of ratings: conservative, moderate and liberal.

    A share f_c of all ratings has levels between eps_c and eps_m, a share f_m between eps_m and
    eps_l, the others eps_l.
    """
    return options(f_c=f_c, f_m=f_m, eps_c=EPS_C, eps_m=eps_m, eps_l=EPS_L, seed=7)


def delta_for(ratings: int) -> float:
    """Chorus's delta: a tenth of one over the number of ratings, to a power of ten.

    delta = 10^-(round(log10(n)) + 1) for n ratings.

    >>> delta_for(100_000)
    1e-06
    """
    return float(10.0 ** -(round(math.log10(max(ratings, 10))) + 1))


def figure_points(source: Source, figures: Sequence[str] = ("2", "3", "4", "5")) -> list[Point]:
    """All points of these figures; figure 5 has two parts."""
    delta = delta_for(len(source.load()))
    pmf = Job(source, "PMF", options(solver="gradient"))
    dp = Job(source, "DP-PMF", privacy=options(uniform=EPS_C))

    def pdp(privacy: Options, **more: Any) -> Job:
        return Job(source, "PDP-PMF", options(**more), privacy)

    def ours(privacy: Options) -> Iterator[tuple[str, Job]]:
        tables = (False,) if source.items is None else (False, True)
        for scheme, given in (("Tally", options()), ("Chorus", options(delta=delta))):
            for with_items in tables:
                label = f"{scheme}, item table" if with_items else scheme
                yield label, Job(source, scheme, given, privacy, with_items)

    points: list[Point] = []
    if "2" in figures:
        for f_c in F_C:
            privacy = groups(f_c, 0.2)
            rows = [("PDP-PMF", pdp(privacy)), ("DP-PMF", dp), ("PMF, no privacy", pmf)]
            points += [Point("2", label, f_c, job) for label, job in (*rows, *ours(privacy))]
    if "3" in figures:
        rows = [(label, pdp(groups(f_c, 0.2))) for label, f_c in SETS.items()]
        rows += [("DP-PMF", dp), ("PMF, no privacy", pmf), *ours(groups(SETS["PDP-PMF1"], 0.2))]
        points += [Point("3", label, None, job) for label, job in rows]
    if "4" in figures:
        for eps_m in EPS_M:
            rows = [(label, pdp(groups(f_c, eps_m))) for label, f_c in SETS.items()]
            rows += [("DP-PMF", dp), ("PMF, no privacy", pmf)]
            rows += list(ours(groups(SETS["PDP-PMF1"], eps_m)))
            points += [Point("4", label, eps_m, job) for label, job in rows]
    if "5" in figures:
        privacy = groups(0.60, 0.4, 0.35)
        others = [("PMF, no privacy", pmf), *ours(privacy)]
        points += [
            Point("5a", f"PDP-PMF, t = {t}", None, pdp(privacy, threshold=t)) for t in T_CURVES
        ]
        points += [Point("5a", label, None, job) for label, job in others]
        for t in T:
            rows = [("PDP-PMF", pdp(privacy, threshold=t)), *others]
            points += [Point("5b", label, t, job) for label, job in rows]
    return points


def cells_of(points: Sequence[Point], folds: int, seed: int = 0) -> list[Cell]:
    """Every cell that the points need, each once."""
    jobs = dict.fromkeys(point.job for point in points)
    return [Cell(job, fold, folds, seed) for job in jobs for fold in range(folds)]


def results(points: Sequence[Point], store: Store, folds: int, seed: int = 0) -> pl.DataFrame:
    """One row for each fold of each point: data, figure, series, x, fold, then the cell's figures
    (rmse, rmse_clipped, mae), seconds and cdf."""
    places, cells = [], []
    for point in points:
        for fold in range(folds):
            places.append((point.job.source.name, point.figure, point.series, point.x, fold + 1))
            cells.append(Cell(point.job, fold, folds, seed))
    schema = {
        "data": pl.String,
        "figure": pl.String,
        "series": pl.String,
        "x": pl.Float64,
        "fold": pl.Int64,
    }
    frame = pl.DataFrame(places, schema=schema, orient="row")
    return frame.hstack(store.table(cells).drop("mechanism", "diverged"))


def means(table: pl.DataFrame) -> pl.DataFrame:
    """Over the folds: rmse and its spread, shares of errors within 1, 1.5 and 2 stars."""
    at = {f"cdf_{x:g}": cdf_place(x) for x in (1.0, 1.5, 2.0)}
    return table.group_by("data", "figure", "series", "x", maintain_order=True).agg(
        pl.col("rmse").mean(),
        pl.col("rmse").std().fill_null(0.0).alias("rmse_std"),
        pl.col("rmse_clipped").mean(),
        pl.col("seconds").sum(),
        *(pl.col("cdf").list.get(k, null_on_oob=True).mean().alias(name) for name, k in at.items()),
        pl.len().alias("folds"),
    )


def mean_cdf(table: pl.DataFrame) -> pl.DataFrame:
    """The share of errors within every x, mean over folds: data, figure, series, error, share."""
    curves = table.filter(pl.col("figure").is_in(["3", "5a"]) & pl.col("cdf").is_not_null())
    exploded = curves.select("data", "figure", "series", "fold", "cdf").explode("cdf")
    return (
        exploded.with_columns(
            error=pl.int_range(pl.len()).over("data", "figure", "series", "fold") * CDF_STEP
        )
        .group_by("data", "figure", "series", "error", maintain_order=True)
        .agg(pl.col("cdf").mean().alias("share"))
        .with_columns(pl.col("error").round(2))
    )
