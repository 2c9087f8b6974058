"""The noise of Theorem 1: direction, length and scale, from both sources."""

import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.privacy.noise import SEEDED, SYSTEM_ENTROPY, Randomness
from discreet.privacy.provenance import OPENSSL_ENTROPY
from tests.stats.scales import sample_size, scale_is

SOURCES = pytest.mark.parametrize("seed", [12345, None], ids=["seeded", "system"])
SIZES = pytest.mark.parametrize("d", [1, 2, 3, 20])


@SOURCES
@SIZES
def test_the_scale_is_right_and_five_percent_off_is_refused(seed: int | None, d: int) -> None:
    eta = Randomness(seed).spherical(sample_size(d), d, scale=2.5)
    lengths = np.linalg.norm(eta, axis=1)
    assert scale_is(lengths, d, 2.5)
    assert not scale_is(lengths * 0.95, d, 2.5)
    assert not scale_is(lengths * 1.05, d, 2.5)


@SOURCES
@SIZES
def test_lengths_follow_a_gamma_distribution(seed: int | None, d: int) -> None:
    lengths = np.linalg.norm(Randomness(seed).spherical(40_000, d, 0.7), axis=1)
    assert stats.kstest(lengths, stats.gamma(d, scale=0.7).cdf).pvalue > 1e-6
    # The helper can fail: a Gamma of one degree more is refused.
    assert stats.kstest(lengths, stats.gamma(d + 1, scale=0.7).cdf).pvalue < 1e-6


@SOURCES
@pytest.mark.parametrize("d", [2, 5])
def test_directions_are_uniform(seed: int | None, d: int) -> None:
    eta = Randomness(seed).spherical(40_000, d, 1.0)
    direction = eta / np.linalg.norm(eta, axis=1, keepdims=True)
    # One coordinate of a uniform direction: x^2 ~ Beta(1/2, (d-1)/2), with either sign.
    for a in range(d):
        assert stats.kstest(direction[:, a] ** 2, stats.beta(0.5, (d - 1) / 2).cdf).pvalue > 1e-6
        assert stats.binomtest(int((direction[:, a] > 0).sum()), len(direction)).pvalue > 1e-6
    correlation = np.corrcoef(direction.T)[~np.eye(d, dtype=bool)]
    assert np.abs(correlation).max() < 5 / np.sqrt(len(direction))


def test_a_seed_repeats_and_its_absence_does_not() -> None:
    draws = [Randomness(seed).spherical(3, 4, 1.0) for seed in (7, 7, 8, None, None)]
    assert (draws[0] == draws[1]).all()
    assert not (draws[1] == draws[2]).any()
    assert not (draws[3] == draws[4]).any()


def test_entropy_is_named_as_the_certificate_will_say_it() -> None:
    assert Randomness(None).entropy == SYSTEM_ENTROPY
    assert Randomness(0).entropy == Randomness(0, sampler="opendp").entropy == SEEDED
    assert Randomness(None, sampler="opendp").entropy == OPENSSL_ENTROPY
    assert Randomness(None).key("x") != Randomness(None).key("x")
    assert Randomness(3).key("x") == Randomness(3).key("x") != Randomness(3).key("y")
    with pytest.raises(ParameterError, match="seed must be a whole number >= 0"):
        Randomness(-1)


def test_noise_and_training_streams_are_independent_of_each_other() -> None:
    one, other = Randomness(5), Randomness(5)
    one.training.standard_normal(100)
    assert (one.spherical(2, 2, 1.0) == other.spherical(2, 2, 1.0)).all()
