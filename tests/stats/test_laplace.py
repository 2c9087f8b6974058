"""The discrete Laplace noise of Tally, from both sources."""

import numpy as np
import pytest
from scipy import stats

from discreet.privacy.noise import Randomness
from tests.stats.scales import sample_size, scale_is

SOURCES = pytest.mark.parametrize("seed", [321, None], ids=["seeded", "exact"])


@SOURCES
def test_the_scale_is_right_and_five_percent_off_is_refused(seed: int | None) -> None:
    # On a fine grid |x| is exponential: a Gamma of one degree.
    scale = 1.0 * 2**20
    sizes = np.abs(Randomness(seed).discrete_laplace(sample_size(1), scale)).astype(np.float64)
    assert scale_is(sizes, 1, scale)
    assert not scale_is(sizes * 0.95, 1, scale)
    assert not scale_is(sizes * 1.05, 1, scale)


@SOURCES
@pytest.mark.parametrize("scale", [0.7, 3.0])
def test_the_distribution_is_the_discrete_laplace(seed: int | None, scale: float) -> None:
    draws = Randomness(seed).discrete_laplace(40_000, scale)
    inside = np.arange(-5, 6)
    law = stats.dlaplace(1 / scale)
    expected = np.array([law.cdf(-6), *law.pmf(inside), law.sf(5)])
    seen = [np.sum(draws < -5), *(np.sum(draws == x) for x in inside), np.sum(draws > 5)]
    assert stats.chisquare(seen, expected * len(draws)).pvalue > 1e-6
    wrong = stats.dlaplace(1 / (1.05 * scale))
    off = np.array([wrong.cdf(-6), *wrong.pmf(inside), wrong.sf(5)])
    assert stats.chisquare(seen, off * len(draws)).pvalue < 1e-3
