"""What the paper says of its figures, in our words, and verdicts computed from the results.

A check takes the means over folds, the curves of errors and the name of a data set. It says whether
the statement holds, holds in part or does not hold there, and what was measured; None where the
statement is not about that data set or the figure was not run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl

HOLDS, IN_PART, FAILS, OPEN = "holds", "holds in part", "does not hold", "not measured"
LARGE = ("ml-1m", "netflix-7128")
"""The data sets that the paper's statements about larger tables are about."""


class Verdict(NamedTuple):
    """One statement, its place, and what became of it on which data set."""

    statement: str
    place: str
    data: str
    verdict: str
    measured: str


def _series(means: pl.DataFrame, data: str, figure: str, series: str) -> pl.DataFrame:
    return means.filter(
        (pl.col("data") == data)
        & (pl.col("figure") == figure)
        & (pl.col("series") == series)
        & pl.col("rmse").is_not_null()
    ).sort("x")


def _graded(share: float, full: float = 1.0, part: float = 0.5) -> str:
    return HOLDS if share >= full else IN_PART if share >= part else FAILS


def linear_in_f_c(means: pl.DataFrame, cdf: pl.DataFrame, data: str) -> tuple[str, str] | None:
    """Holds if a rising line explains at least 90% of RMSE's variance; in part if it rises."""
    del cdf
    rows = _series(means, data, "2", "PDP-PMF")
    if rows.height < 3:
        return None
    x, y = rows["x"].to_numpy(), rows["rmse"].to_numpy()
    slope, start = np.polyfit(x, y, 1)
    explained = 1 - np.var(y - (slope * x + start)) / max(np.var(y), 1e-12)
    verdict = FAILS if slope <= 0 else HOLDS if explained >= 0.9 else IN_PART
    return verdict, f"slope {slope:+.3f} per unit of f_c, a line explains {explained:.0%}"


def below_dp_pmf(means: pl.DataFrame, cdf: pl.DataFrame, data: str) -> tuple[str, str] | None:
    """Holds if PDP-PMF's RMSE is the smaller one at every f_c and eps_m; in part: at half."""
    del cdf
    found, less = [], 0
    for figure, names in (("2", ["PDP-PMF"]), ("4", ["PDP-PMF1", "PDP-PMF2", "PDP-PMF3"])):
        dp = _series(means, data, figure, "DP-PMF")
        for name in names:
            both = _series(means, data, figure, name).join(dp, on="x", suffix="_dp")
            less += int((both["rmse"] < both["rmse_dp"]).sum())
            found += (both["rmse_dp"] - both["rmse"]).to_list()
    if not found:
        return None
    words = f"below at {less} of {len(found)} settings, by {np.mean(found):.3f} on average"
    return _graded(less / len(found)), words


def around_one(means: pl.DataFrame, cdf: pl.DataFrame, data: str) -> tuple[str, str] | None:
    """Holds if RMSE is within 0.05 of 1.0 at every f_c; in part: at half of them, or within 0.1."""
    del cdf
    rows = _series(means, data, "2", "PDP-PMF")
    if data not in LARGE or not rows.height:
        return None
    away = np.abs(rows["rmse"].to_numpy() - 1.0)
    verdict = HOLDS if away.max() <= 0.05 else IN_PART if away.max() <= 0.1 else FAILS
    if verdict == FAILS and np.mean(away <= 0.05) >= 0.5:
        verdict = IN_PART
    y = rows["rmse"].to_numpy()
    return verdict, f"RMSE from {y.min():.3f} to {y.max():.3f}"


def seventy_percent(means: pl.DataFrame, cdf: pl.DataFrame, data: str) -> tuple[str, str] | None:
    """Holds if 67% to 73% of errors are below 1 for all three sets; in part: 64.5% to 75.5%."""
    del cdf
    if data not in LARGE:
        return None
    shares = [
        _series(means, data, "3", name)["cdf_1"][0]
        for name in ("PDP-PMF1", "PDP-PMF2", "PDP-PMF3")
        if _series(means, data, "3", name).height
    ]
    if not shares:
        return None
    away = max(abs(share - 0.7) for share in shares)
    verdict = HOLDS if away <= 0.03 else IN_PART if away <= 0.055 else FAILS
    return verdict, ", ".join(f"{share:.1%}" for share in shares)


def falls_with_eps_m(means: pl.DataFrame, cdf: pl.DataFrame, data: str) -> tuple[str, str] | None:
    """Holds if PDP-PMF1 falls at every step and ends in [0.94, 0.97]; in part: falls overall."""
    del cdf
    rows = _series(means, data, "4", "PDP-PMF1")
    if data not in LARGE or rows.height < 3:
        return None
    y = rows["rmse"].to_numpy()
    falls, ends = bool((np.diff(y) < 0).all()), 0.94 <= y[-1] <= 0.97
    verdict = HOLDS if falls and ends else IN_PART if y[-1] < y[0] else FAILS
    return verdict, f"from {y[0]:.3f} to {y[-1]:.3f}{'' if falls else ', not at every step'}"


def third_set_flat(means: pl.DataFrame, cdf: pl.DataFrame, data: str) -> tuple[str, str] | None:
    """Holds if PDP-PMF3 moves by at most 0.01 over eps_m; in part: by half of PDP-PMF1."""
    del cdf
    third, first = (_series(means, data, "4", f"PDP-PMF{k}")["rmse"].to_numpy() for k in (3, 1))
    if data not in LARGE or len(third) < 3:
        return None
    moves = [float(np.ptp(y)) for y in (third, first)]
    verdict = HOLDS if moves[0] <= 0.01 else IN_PART if moves[0] <= moves[1] / 2 else FAILS
    return verdict, f"moves by {moves[0]:.3f} (PDP-PMF1: {moves[1]:.3f})"


def sets_overlap(means: pl.DataFrame, cdf: pl.DataFrame, data: str) -> tuple[str, str] | None:
    """Holds if the three curves are nowhere more than 2 points apart; in part: 4 points."""
    del means
    if data not in LARGE:
        return None
    own = cdf.filter((pl.col("data") == data) & (pl.col("figure") == "3"))
    curves = [
        own.filter(pl.col("series") == f"PDP-PMF{k}").sort("error")["share"].to_numpy()
        for k in (1, 2, 3)
    ]
    if any(len(curve) == 0 for curve in curves):
        return None
    apart = float(np.max(np.max(curves, axis=0) - np.min(curves, axis=0)))
    verdict = HOLDS if apart <= 0.02 else IN_PART if apart <= 0.04 else FAILS
    return verdict, f"at most {100 * apart:.1f} points apart"


def _by_t(means: pl.DataFrame, data: str) -> pl.DataFrame:
    return _series(means, data, "5b", "PDP-PMF")


def t_changes_little(means: pl.DataFrame, cdf: pl.DataFrame, data: str) -> tuple[str, str] | None:
    """Holds if the curves of t = 0.6, 0.7, 0.8, 1.0 are at most 3 points apart; in part: 6."""
    del means
    own = cdf.filter((pl.col("data") == data) & (pl.col("figure") == "5a"))
    curves = [
        own.filter(pl.col("series") == f"PDP-PMF, t = {t}").sort("error")["share"].to_numpy()
        for t in (0.6, 0.7, 0.8, 1.0)
    ]
    if any(len(curve) == 0 for curve in curves):
        return None
    apart = float(np.max(np.max(curves, axis=0) - np.min(curves, axis=0)))
    verdict = HOLDS if apart <= 0.03 else IN_PART if apart <= 0.06 else FAILS
    return verdict, f"at most {100 * apart:.1f} points apart"


def best_t(means: pl.DataFrame, cdf: pl.DataFrame, data: str) -> tuple[str, str] | None:
    """Holds if all three shares are largest within 0.1 of t = 0.7; in part: one or two of them."""
    del cdf
    rows = _by_t(means, data)
    if rows.height < 5:
        return None
    best = [float(rows["x"][int(np.argmax(rows[name].to_numpy()))]) for name in CDF_COLUMNS]
    near = sum(abs(t - 0.7) <= 0.1001 for t in best)
    verdict = HOLDS if near == 3 else IN_PART if near else FAILS
    return verdict, "largest at t = " + ", ".join(f"{t:g}" for t in best)


def better_than_liberal(
    means: pl.DataFrame, cdf: pl.DataFrame, data: str
) -> tuple[str, str] | None:
    """Holds if t = 0.7 has 1.7 to 2.7 points more than t = 1.0 in each; in part: more in each."""
    del cdf
    rows = _by_t(means, data)
    at, end = (rows.filter((pl.col("x") - t).abs() < 1e-9) for t in (0.7, 1.0))
    if not (at.height and end.height):
        return None
    gains = [100 * float(at[name][0] - end[name][0]) for name in CDF_COLUMNS]
    near = all(1.7 <= gain <= 2.7 for gain in gains)
    verdict = HOLDS if near else IN_PART if min(gains) > 0 else FAILS
    return verdict, ", ".join(f"{gain:+.1f}" for gain in gains) + " points"


def little_above(means: pl.DataFrame, cdf: pl.DataFrame, data: str) -> tuple[str, str] | None:
    """Holds if from t = 0.4 on each share moves by at most 3 points; in part: 6."""
    del cdf
    rows = _by_t(means, data).filter(pl.col("x") > 0.399)
    if rows.height < 3:
        return None
    moved = max(100 * float(np.ptp(rows[name].to_numpy())) for name in CDF_COLUMNS)
    verdict = HOLDS if moved <= 3 else IN_PART if moved <= 6 else FAILS
    return verdict, f"by at most {moved:.1f} points"


CDF_COLUMNS = ("cdf_1", "cdf_1.5", "cdf_2")
Check = Callable[[pl.DataFrame, pl.DataFrame, str], tuple[str, str] | None]
STATEMENTS: list[tuple[str, str, Check]] = [
    ("PDP-PMF's RMSE grows roughly linearly in f_c", "6.2, Figure 2", linear_in_f_c),
    ("PDP-PMF stays below DP-PMF", "6.2, Figures 2 and 4", below_dp_pmf),
    ("PDP-PMF is always around 1.0 on the larger sets", "6.2, Figure 2", around_one),
    ("About 70% of its errors are below 1 on the larger sets", "6.2, Figure 3", seventy_percent),
    ("The three parameter sets' curves overlap on the larger sets", "6.2, Figure 3", sets_overlap),
    (
        "RMSE falls with eps_m, toward 0.94 to 0.97, on the larger sets",
        "6.2, Figure 4",
        falls_with_eps_m,
    ),
    ("PDP-PMF3 is almost flat in eps_m on the larger sets", "6.2, Figure 4", third_set_flat),
    ("t between 0.6 and 1.0 has a slight influence", "6.2, Figure 5a", t_changes_little),
    ("The best t is about 0.70", "6.2, Figure 5b", best_t),
    (
        "t = 0.7 is about 2.2 points above t = 1.0 in each curve",
        "6.2, Figure 5b",
        better_than_liberal,
    ),
    ("Above t = 0.4 the shares change little", "6.2, Figure 5b", little_above),
]


def verdicts(means: pl.DataFrame, cdf: pl.DataFrame) -> list[Verdict]:
    """Every statement on every data set that it is about; the last one compares data sets."""
    names = means["data"].unique(maintain_order=True).to_list()
    found = []
    for statement, place, check in STATEMENTS:
        own = [
            Verdict(statement, place, name, *result)
            for name in names
            if (result := check(means, cdf, name)) is not None
        ]
        found += own or [
            Verdict(statement, place, "-", OPEN, "needs that figure of these data sets")
        ]
    found.append(_larger_is_steadier(means, names))
    return found


def _larger_is_steadier(means: pl.DataFrame, names: list[str]) -> Verdict:
    """PDP-PMF's RMSE moves less over f_c on each larger set than on ml-100k."""
    statement, place = "Larger data sets give more stable results", "6.2, last paragraph"
    moves = {
        name: float(np.ptp(rows["rmse"].to_numpy()))
        for name in ("ml-100k", *LARGE)
        if name in names and (rows := _series(means, name, "2", "PDP-PMF")).height
    }
    larger = [moves[name] for name in LARGE if name in moves]
    if "ml-100k" not in moves or not larger:
        return Verdict(statement, place, "-", OPEN, "needs ml-100k and a larger set")
    share = float(np.mean([move < moves["ml-100k"] for move in larger]))
    words = ", ".join(f"{name} {move:.3f}" for name, move in moves.items())
    return Verdict(statement, place, "all", _graded(share), f"RMSE moves over f_c by: {words}")
