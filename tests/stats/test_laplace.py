"""The discrete Laplace noise of Tally, from both sources."""

import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.privacy.noise import SAMPLERS, Randomness
from tests.stats.scales import sample_size, scale_is

SOURCES = pytest.mark.parametrize("seed", [321, None], ids=["seeded", "exact"])
ALL = pytest.mark.parametrize(
    "source",
    [Randomness(321), Randomness(None), Randomness(None, sampler="opendp")],
    ids=["seeded", "exact", "opendp"],
)


@ALL
def test_the_scale_is_right_and_five_percent_off_is_refused(source: Randomness) -> None:
    # On a fine grid |x| is exponential: a Gamma of one degree.
    scale = 1.0 * 2**20
    drawn = source.add_laplace(np.zeros(sample_size(1), np.int64), scale)
    sizes = np.abs(drawn).astype(np.float64)
    assert scale_is(sizes, 1, scale)
    assert not scale_is(sizes * 0.95, 1, scale)
    assert not scale_is(sizes * 1.05, 1, scale)


@ALL
@pytest.mark.parametrize("scale", [0.7, 3.0])
def test_the_distribution_is_the_discrete_laplace(source: Randomness, scale: float) -> None:
    """The truth is refused a few times in a million, a scale off by 5% accepted more rarely."""
    draws = source.add_laplace(np.zeros(60_000, np.int64), scale)
    inside = np.arange(-5, 6)
    law = stats.dlaplace(1 / scale)
    expected = np.array([law.cdf(-6), *law.pmf(inside), law.sf(5)])
    seen = [np.sum(draws < -5), *(np.sum(draws == x) for x in inside), np.sum(draws > 5)]
    assert stats.chisquare(seen, expected * len(draws)).pvalue > 1e-6
    wrong = stats.dlaplace(1 / (1.05 * scale))
    off = np.array([wrong.cdf(-6), *wrong.pmf(inside), wrong.sf(5)])
    assert stats.chisquare(seen, off * len(draws)).pvalue < 1e-3


@SOURCES
def test_gaussian_noise_has_its_scale_and_five_percent_off_is_refused(seed: int | None) -> None:
    scale = 1.5 * 2**30
    count = 25_000  # the variance has a deviation of sqrt(2/n) = 0.009, a defect of 5% is 0.1
    draws = Randomness(seed).add_gaussian(np.zeros(count, np.int64), scale, threads=2) / scale
    assert stats.kstest(draws, stats.norm.cdf).pvalue > 1e-6
    for wrong, right in ((0.95, False), (1.0, True), (1.05, False)):
        ratio = np.mean((wrong * draws) ** 2)
        assert (abs(ratio - 1) < 5 * np.sqrt(2 / count)) == right


def test_sums_that_leave_64_bits_are_cut_off_after_the_addition() -> None:
    sums = np.full(200, 10**9, dtype=np.int64)
    for sampler in SAMPLERS:
        noisy = Randomness(None, sampler=sampler).add_laplace(sums, 1e30)
        assert set(noisy.tolist()) <= {2**63 - 1, -(2**63)}  # nothing of the sums is left


def test_opendp_draws_no_gaussian_noise() -> None:
    with pytest.raises(ParameterError, match="OpenDP draws no rounded Gaussian"):
        Randomness(None, sampler="opendp").add_gaussian(np.zeros(3, np.int64), 5.0)
    with pytest.raises(ParameterError, match="noise must be one of"):
        Randomness(None, sampler="loud")


def test_two_runs_with_one_seed_draw_different_noise() -> None:
    one, two = (Randomness(7, run=k).add_laplace(np.zeros(9, np.int64), 1e6) for k in (0, 1))
    assert not (one == two).any()
    assert Randomness(7, run=1).key("x") != Randomness(7).key("x")
