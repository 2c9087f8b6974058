import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.ratings import Ratings
from discreet.errors import ParameterError
from discreet.privacy.hashing import derive_key, pair_uniforms
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import (
    check_threshold,
    inclusion_probability,
    keep_records,
    resolve_threshold,
    sample,
)
from tests.conftest import random_ratings

LEVEL = st.floats(1e-6, 30)


@given(LEVEL, LEVEL)
def test_sampling_before_a_t_dp_step_costs_exactly_the_smaller_of_epsilon_and_t(
    epsilon: float, t: float
) -> None:
    """The theorem of docs/proofs/sampling.md: log(1 + pi (e^t - 1)) = min(eps, t)."""
    keep = inclusion_probability(epsilon, t)
    assert np.log1p(keep * np.expm1(t)) == pytest.approx(min(epsilon, t), rel=1e-9)
    # The other direction costs no more: 1 - pi (1 - e^-t) >= e^-min(eps, t).
    assert 1 + keep * np.expm1(-t) >= np.exp(-min(epsilon, t)) - 1e-15


@given(st.floats(1e-9, 700), st.floats(1e-9, 700))
def test_an_inclusion_probability_is_one_and_never_overflows(epsilon: float, t: float) -> None:
    keep = inclusion_probability(epsilon, t)
    assert 0 < keep <= 1 or (epsilon < t and keep == 0)
    assert keep == 1 or epsilon < t


def test_the_closed_form_of_the_paper_is_the_same_number() -> None:
    epsilon, t = np.array([0.1, 0.2, 0.39]), 0.4
    np.testing.assert_allclose(
        inclusion_probability(epsilon, t), (np.exp(epsilon) - 1) / (np.exp(t) - 1)
    )


def test_records_are_kept_with_their_own_probability() -> None:
    ratings = random_ratings(300, 200, 30_000, seed=3)
    levels = np.where(np.arange(len(ratings)) % 2 > 0, 0.1, 0.6)
    kept = sample(ratings, levels, 0.5, Randomness(1))
    pairs = set(zip(kept.user.tolist(), kept.item.tolist(), strict=True))
    was_kept = np.array(
        [p in pairs for p in zip(ratings.user.tolist(), ratings.item.tolist(), strict=True)]
    )
    assert was_kept[levels == 0.6].all()
    share, expected = was_kept[levels == 0.1].mean(), float(inclusion_probability(0.1, 0.5))
    # 15,000 coins, five standard deviations; a probability of eps/t would be 0.2, not 0.162.
    assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / 15_000)
    assert abs(0.1 / 0.5 - expected) > 10 * np.sqrt(expected * (1 - expected) / 15_000)


def test_a_coin_belongs_to_its_record() -> None:
    ratings = random_ratings(60, 50, 2000, seed=3)
    levels = np.full(len(ratings), 0.2)
    kept = sample(ratings, levels, 1.0, Randomness(9)).to_frame()
    fewer = Ratings.from_frame(ratings.to_frame()[100:])
    kept_of_fewer = sample(fewer, levels[100:], 1.0, Randomness(9), threads=1).to_frame()
    dropped = ratings.to_frame()[:100].select("user", "item")
    assert kept.join(dropped, on=["user", "item"], how="anti").equals(kept_of_fewer)


def test_without_a_seed_the_coins_differ_from_run_to_run(small: Ratings) -> None:
    levels = np.full(len(small), 0.2)
    runs = [sample(small, levels, 1.0, Randomness(None)).to_frame() for _ in range(2)]
    assert not runs[0].equals(runs[1])


def test_uniform_numbers_have_the_documented_values() -> None:
    """Test vectors: every engine must give these."""
    key = derive_key("levels", 7)
    assert key.startswith("a128f185cccad173")
    user, item = pl.Series(["42", "é", "a:b"]), pl.Series(["7", "日本"])
    numbers = pair_uniforms(
        key, user, item, np.array([0, 1, 2], np.int32), np.array([0, 1, 0], np.int32), count=2
    )
    assert numbers.tolist() == VECTORS
    integers = pair_uniforms(
        key, pl.Series([42]), pl.Series([7]), np.zeros(1, np.int32), np.zeros(1, np.int32)
    )
    assert integers[0, 0] == VECTORS[0][0]


VECTORS = [
    [0.4795960204134373, 0.4787850904277853],
    [0.15263156242493792, 0.65520715157246],
    [0.8503860151177571, 0.6560294856528681],
]


def test_no_two_pairs_share_a_message() -> None:
    user, item = pl.Series(["a:b", "a"]), pl.Series(["c", "b:c"])
    numbers = pair_uniforms(
        derive_key("x", 0), user, item, np.array([0, 1], np.int32), np.array([0, 1], np.int32)
    )
    assert numbers[0, 0] != numbers[1, 0]


def test_thresholds_are_a_number_or_one_of_the_paper_s() -> None:
    levels = np.array([0.1, 0.5, 0.3])
    assert resolve_threshold("mean", levels) == pytest.approx(0.3)
    assert resolve_threshold("max", levels) == 0.5
    assert resolve_threshold(0.7, levels) == 0.7
    for bad in (0, -1, float("nan"), float("inf"), "median"):
        with pytest.raises(ParameterError, match="threshold must be"):
            check_threshold(bad)


@pytest.mark.parametrize("t", [0.5, 20.0, 40.0])
def test_a_coin_s_probability_is_rounded_down(t: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of 52-bit coins that keep a record, over 2^52, is at most pi, in exact terms."""
    from fractions import Fraction

    ratings = random_ratings(3, 3, 1, seed=0)
    pi = inclusion_probability(np.array([0.1]), t)
    whole = int(float(pi[0]) * 2**52)
    for coin in (max(whole - 2, 0), whole, whole + 1):
        monkeypatch.setattr(
            "discreet.privacy.personalise.pair_uniforms",
            lambda *_, coin=coin, **__: np.array([[coin * 2.0**-52]]),
        )
        kept = keep_records(ratings, pi, Randomness(0))[0]
        # Kept means that coins 0..coin all keep it: coin + 1 of 2^52 must not exceed pi.
        assert not kept or Fraction(coin + 1, 2**52) <= Fraction(float(pi[0]))
