"""Draws from words that were made for it, against docs/proofs/noise.md: no statistics."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.privacy.attempts import Words, add_exactly, attempt
from discreet.privacy.strips import STRIPS
from tests.privacy import evidence
from tests.privacy.samplers import SOUND, hostile_words, script
from tests.privacy.test_strips import LAWS, ODD, SCALES

CASES = [(law, scale, None) for law in LAWS for scale in SCALES if scale < 1e20] + ODD
SOME = [0, 1, 2, 17, 64, 100, 333, STRIPS - 1]


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, case)))
def table(request: pytest.FixtureRequest) -> Any:
    return SOUND.table(*request.param)


def test_answers_are_right_at_every_digit_where_they_turn(table: Any) -> None:
    """The kernel's, and those in Python's integers, for hostile digits of place and height."""
    evidence.decisions_are_right(SOUND, table, SOME)


def test_a_comparison_takes_as_many_digits_as_it_needs(table: Any) -> None:
    evidence.laziness_is_right(SOUND, table)


def test_the_tail_is_drawn_as_its_strips_say(table: Any) -> None:
    evidence.tail_is_right(SOUND, table)


def test_kernel_and_python_agree_word_for_word_in_buffers_of_every_size(table: Any) -> None:
    evidence.twins_agree(SOUND, table, 1500, seed=table.exponent + 3000)


def test_sums_are_cut_off_after_the_addition() -> None:
    evidence.sums_are_cut_off(SOUND)


@pytest.mark.parametrize("law", LAWS)
def test_an_attempt_that_is_left_to_python_is_answered_as_the_kernel_would(law: str) -> None:
    """A band as wide as everything: whatever is not sure goes the slow way, to the same numbers."""
    table = SOUND.table(law, 5000.0)
    columns = table.columns.copy()
    columns[5] = 1 << 41
    columns.setflags(write=False)
    found = []
    for some in (table, replace(table, columns=columns)):
        drawn = np.zeros(3000, np.int64)
        add_exactly(0, 3000, some, script(hostile_words(8), 1 << 30), drawn)
        found.append(drawn.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("law", LAWS)
def test_noise_beyond_64_bits_is_drawn_in_python_alone(law: str) -> None:
    """There the kernel would overflow; places take several words."""
    table = SOUND.table(law, 1e30)
    assert not table.fits_kernel
    words = Words(script(hostile_words(2), 9), 9)
    drawn = [x for _ in range(300) if (x := attempt(table, words)) is not None]
    assert len(drawn) > 200
    assert np.median(np.abs(np.array(drawn, float))) == pytest.approx(1e30 * 0.68, rel=0.3)
    sums = np.zeros(300, np.int64)
    add_exactly(0, 300, table, script(hostile_words(2), 9), sums)
    assert set(sums.tolist()) <= {2**63 - 1, -(2**63)}


def test_words_are_read_once_each_in_their_order() -> None:
    words = Words(script(itertools.count(), 3), 3)
    assert [words.take() for _ in range(8)] == list(range(8))
    assert words.bits(4) == 8
    assert words.bits(0) == 0  # a word is read even for nothing, as the kernel does
    assert words.bits(65) == 10 << 64 & 1 | 11 | (10 & 1) << 64
    assert words.take() == 12
