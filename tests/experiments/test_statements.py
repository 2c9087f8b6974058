"""Verdicts follow from the tables: made-up results on both sides of every rule."""

import numpy as np
import polars as pl
import pytest

from discreet.experiments import statements as st


def curve(data: str, figure: str, series: str, x: list[float], y: list[float]) -> pl.DataFrame:
    shares = {name: [0.7 + 0.01 * k] * len(x) for k, name in enumerate(st.CDF_COLUMNS)}
    return pl.DataFrame(
        {"data": data, "figure": figure, "series": series, "x": x, "rmse": y, **shares}
    )


def cdf(data: str, figure: str, series: str, shares: list[float]) -> pl.DataFrame:
    error = [0.5 * k for k in range(len(shares))]
    return pl.DataFrame(
        {"data": data, "figure": figure, "series": series, "error": error, "share": shares}
    )


F_C, EPS_M, T = [0.1, 0.3, 0.5], [0.2, 0.4, 0.6], [0.1, 0.4, 0.5, 0.7, 1.0]
EMPTY = cdf("x", "3", "none", [])


@pytest.mark.parametrize(
    ("y", "verdict"),
    [([1.0, 1.1, 1.2], st.HOLDS), ([1.0, 1.0, 1.4], st.IN_PART), ([1.2, 1.1, 1.0], st.FAILS)],
)
def test_linear_growth(y: list[float], verdict: str) -> None:
    found = st.linear_in_f_c(curve("a", "2", "PDP-PMF", F_C, y), EMPTY, "a")
    assert found is not None
    assert found[0] == verdict


@pytest.mark.parametrize(
    ("dp", "verdict"), [([2.0] * 3, st.HOLDS), ([1.05] * 3, st.FAILS), ([1.15] * 3, st.IN_PART)]
)
def test_below_dp_pmf(dp: list[float], verdict: str) -> None:
    own = curve("a", "2", "PDP-PMF", F_C, [1.0, 1.1, 1.2])
    found = st.below_dp_pmf(pl.concat([own, curve("a", "2", "DP-PMF", F_C, dp)]), EMPTY, "a")
    assert found is not None
    assert found[0] == verdict


@pytest.mark.parametrize(
    ("y", "verdict"),
    [([0.99, 1.0, 1.04], st.HOLDS), ([0.99, 1.0, 1.08], st.IN_PART), ([1.2, 1.2, 1.2], st.FAILS)],
)
def test_around_one(y: list[float], verdict: str) -> None:
    found = st.around_one(curve("ml-1m", "2", "PDP-PMF", F_C, y), EMPTY, "ml-1m")
    assert found is not None
    assert found[0] == verdict
    assert st.around_one(curve("mine", "2", "PDP-PMF", F_C, y), EMPTY, "mine") is None


@pytest.mark.parametrize(
    ("y", "verdict"),
    [([1.0, 0.97, 0.95], st.HOLDS), ([1.0, 1.01, 0.95], st.IN_PART), ([1.0, 1.1, 1.2], st.FAILS)],
)
def test_falling_with_eps_m(y: list[float], verdict: str) -> None:
    found = st.falls_with_eps_m(curve("ml-1m", "4", "PDP-PMF1", EPS_M, y), EMPTY, "ml-1m")
    assert found is not None
    assert found[0] == verdict


@pytest.mark.parametrize(
    ("third", "verdict"), [(0.005, st.HOLDS), (0.04, st.IN_PART), (0.2, st.FAILS)]
)
def test_the_third_set_is_flat(third: float, verdict: str) -> None:
    means = pl.concat([
        curve("ml-1m", "4", "PDP-PMF3", EPS_M, [1.0, 1.0, 1.0 - third]),
        curve("ml-1m", "4", "PDP-PMF1", EPS_M, [1.0, 0.95, 0.9]),
    ])  # fmt: skip
    found = st.third_set_flat(means, EMPTY, "ml-1m")
    assert found is not None
    assert found[0] == verdict


@pytest.mark.parametrize(
    ("apart", "verdict"), [(0.01, st.HOLDS), (0.03, st.IN_PART), (0.2, st.FAILS)]
)
def test_curves_that_overlap(apart: float, verdict: str) -> None:
    shares = np.array([0.0, 0.5, 0.8])
    frames = [cdf("ml-1m", "3", f"PDP-PMF{k}", list(shares - apart * (k == 3))) for k in (1, 2, 3)]
    found = st.sets_overlap(EMPTY, pl.concat(frames), "ml-1m")
    assert found is not None
    assert found[0] == verdict


def by_t(shares: list[float]) -> pl.DataFrame:
    frame = curve("ml-100k", "5b", "PDP-PMF", T, [1.0] * len(T))
    return frame.with_columns(**{name: pl.Series(shares) for name in st.CDF_COLUMNS})


def test_the_best_t_and_what_it_gains() -> None:
    means = by_t([0.5, 0.69, 0.695, 0.71, 0.688])
    for check, words in (
        (st.best_t, "0.7"),
        (st.better_than_liberal, "+2.2"),
        (st.little_above, "2.2"),
    ):
        found = check(means, EMPTY, "ml-100k")
        assert found is not None
        assert found[0] == st.HOLDS
        assert words in found[1]
    other = by_t([0.8, 0.6, 0.5, 0.4, 0.5])
    for check in (st.best_t, st.better_than_liberal, st.little_above):
        found = check(other, EMPTY, "ml-100k")
        assert found is not None
        assert found[0] == st.FAILS


def test_seventy_percent_and_unmeasured_statements() -> None:
    sets = [curve("ml-1m", "3", f"PDP-PMF{k}", [0.0], [1.0]) for k in (1, 2, 3)]
    found = st.seventy_percent(pl.concat(sets), EMPTY, "ml-1m")
    assert found is not None
    assert found[0] == st.HOLDS
    every = st.verdicts(curve("mine", "2", "PDP-PMF", F_C, [1.0, 1.1, 1.2]), EMPTY)
    assert len({v.statement for v in every}) == len(st.STATEMENTS) + 1
    assert sum(v.verdict == st.OPEN for v in every) == len(st.STATEMENTS) - 0


def test_larger_sets_are_compared_with_the_smallest() -> None:
    means = pl.concat([
        curve("ml-100k", "2", "PDP-PMF", F_C, [1.0, 1.1, 1.3]),
        curve("ml-1m", "2", "PDP-PMF", F_C, [1.0, 1.0, 1.01]),
        curve("netflix-7128", "2", "PDP-PMF", F_C, [1.0, 1.0, 1.5]),
    ])  # fmt: skip
    last = st.verdicts(means, EMPTY)[-1]
    assert last.verdict == st.IN_PART
    assert "ml-1m 0.010" in last.measured
