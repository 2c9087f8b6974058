"""Tables of strips against docs/proofs/noise.md in 150 digits: no statistics."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.privacy.strips import AGAIN, STRIPS, TAIL, WIDEST, Law, make_strips, strips_of
from tests.privacy import evidence
from tests.privacy.samplers import SOUND, Truth

LAWS = [law.name for law in Law]
SCALES = [
    1e-3,
    0.3,
    1.0,
    7.7,
    31.0,
    64.0,
    127.99,
    1000.0,
    2.0**20 / 0.7,
    1.3 * 2**30,
    2.0**57,
    1e30,
]
ODD = [("LAPLACE", 1000, 0), ("LAPLACE", 1000, 9), ("GAUSSIAN", 700, 0), ("ROUNDED", 3, -9)]
"""Strips that are too thin, so that much comes from the tail, or too wide, and therefore few."""
CASES = [(law, scale, None) for law in LAWS for scale in SCALES] + ODD


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, case)))
def table(request: pytest.FixtureRequest) -> Any:
    return SOUND.table(*request.param)


def test_exponentials_are_between_their_bounds() -> None:
    evidence.exponentials_are_bounded(SOUND)


def test_every_strip_and_the_tail_are_as_high_as_the_law(table: Any) -> None:
    """noise.md#heights, with the factor W_T/W in the tail's weight."""
    evidence.heights_cover(table)


def test_as_many_pairs_lead_to_an_outcome_as_its_weight_says(table: Any) -> None:
    if table.fits_kernel:
        evidence.pairs_lead_to_weights(SOUND, table)


def test_what_draws_are_compared_with_is_as_near_to_the_law_as_its_band(table: Any) -> None:
    """noise.md#lazy-comparison: every strip that has a chance, and others."""
    evidence.chord_is_near(table, range(0, STRIPS, 23))
    evidence.chord_is_near(table, range(1, 20))


@pytest.mark.parametrize("law", LAWS)
def test_strips_are_thin_enough_for_few_draws_to_be_left_over(law: str) -> None:
    """How often the quick tests decide: what makes it fast, not what makes it right."""
    for scale in SCALES:
        table = SOUND.table(law, scale)
        sure, band = table.columns[2], table.columns[5]
        weights = np.array(table.weights[:STRIPS], float) / 2**42
        assert (weights * (1 - sure[:STRIPS] / 2**21)).sum() < 0.032
        assert (weights * np.minimum(2 * band[:STRIPS] / 2**40, 1)).sum() < 4e-4
        assert table.weights[AGAIN] + table.weights[TAIL] < 2**42 / 10**6
        truth = Truth(table)
        assert truth.W >= 1 or not table.law.whole
        if truth.W > 1 or not table.law.whole:
            bits = 6 if law == "LAPLACE" else 7
            assert 2 ** (bits - 1) <= table.scale / truth.W < 2**bits


@pytest.mark.parametrize("law", ["LAPLACE", "GAUSSIAN"])
@pytest.mark.parametrize("scale", [0.3, 1.7, 30.0])
def test_the_kernel_s_probability_of_every_single_integer_is_the_law_s(
    law: str, scale: float
) -> None:
    """Where a strip is one integer, digit by digit: between two bounds 12 parts in 2^40 apart."""
    evidence.probabilities(SOUND, SOUND.table(law, scale), range(STRIPS))


def test_the_tail_s_weight_has_the_ratio_of_widths_in_it() -> None:
    """Without W_T/W everything beyond the strips would be too rare; there it is 64 and 16."""
    for law, ratio in ((Law.LAPLACE, 64), (Law.ROUNDED, 16)):
        table = strips_of(law, 1000.0)
        assert 2**table.tail_exponent == ratio
        assert table.weights[TAIL] % (2 * ratio) == 0
        truth = Truth(table)
        # The mass beyond n W, against that of the cover there: the cover is the larger.
        first = truth.f(STRIPS * truth.W) * ratio * table.height
        assert table.weights[TAIL] >= 2 * first


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
def test_a_scale_that_is_none_is_named(scale: float) -> None:
    with pytest.raises(ParameterError, match="scale of noise must be finite and > 0"):
        strips_of(Law.LAPLACE, scale)


def test_tables_are_made_once_and_cannot_be_changed() -> None:
    table = strips_of(Law.LAPLACE, 12.5)
    assert strips_of(Law.LAPLACE, 12.5) is table
    with pytest.raises(ValueError, match="read-only"):
        table.columns[0, 0] = 1


def test_the_kernel_has_room_for_every_number_it_draws() -> None:
    """noise.md#lazy-comparison: the largest of its integers are below 2^63."""
    for law in Law:
        for k in (WIDEST, -10, -11, 0):
            if k < 0 and law.whole:
                continue
            table = make_strips(law, Fraction(100) * Fraction(2) ** k, k)
            places, up, down, below, half, _ = table.layout
            assert table.fits_kernel
            assert (STRIPS << places) + half < 2**63
            assert 0 <= below <= 62
            assert int(table.columns[4].max()) * ((1 << 20) - 1) < 2**60
            assert (((1 << places) - 1) << up) >> down < 1 << 20
        assert not strips_of(law, 2.0**59).fits_kernel
