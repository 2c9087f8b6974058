"""Samplers that were broken in one place are refused, without statistics.

The same checks that the production code passes, on a few laws and scales, by copies of its source
that are not compiled.
"""

from typing import NamedTuple

import pytest

from tests.privacy import evidence
from tests.privacy.samplers import Sampler, broken


class Mutant(NamedTuple):
    """What is broken, in which file, and the words that stand there instead."""

    name: str
    file: str
    words: str
    instead: str


KERNEL, STRIPS, ATTEMPTS = "kernels.noise", "privacy.strips", "privacy.attempts"
MUTANTS = [
    Mutant("tail without W_T/W", STRIPS, "M[TAIL] <<= tail + 1", "M[TAIL] <<= 1"),
    Mutant("tail falls too slowly", STRIPS, "Fraction(7, 10)", "Fraction(1, 10)"),
    Mutant("heights rounded down", STRIPS, "[-(-S * hi >> _POINT)", "[max(S * hi >> _POINT, 1)"),
    Mutant(
        "sure by the left corner", STRIPS, "share(right[0], SURE_BITS)", "share(left[0], SURE_BITS)"
    ),
    Mutant("band without a bend", STRIPS, "bend + rounding", "rounding"),
    Mutant("chord drawn to nothing", STRIPS, "drop = corner - end", "drop = corner"),
    Mutant("column lost", STRIPS, "left[giver] -= full - left[j]", "left[giver] -= full"),
    Mutant("half forgotten", STRIPS, "half = 1 << (below - 1) if below else 0", "half = 0"),
    Mutant("series without its error", "privacy.exponential", "2 * count + 3", "0"),
    Mutant("0 drawn twice", KERNEL, "if noise == 0 and whole", "if noise == 0 and not whole"),
    Mutant("cut off by one", KERNEL, ">= columns[CUT, b]", "> columns[CUT, b]"),
    Mutant("sign in u", KERNEL, "u = word & 0x1FFFFF", "u = (word >> 1) & 0x1FFFFF"),
    Mutant(
        "place cut short",
        KERNEL,
        "place_mask = (1 << places) - 1",
        "place_mask = ((1 << places) - 1) >> 1",
    ),
    Mutant("digits used twice", KERNEL, "(words[at + 2] &", "(words[at + 1] &"),
    Mutant("close ones given up", KERNEL, "if u < chord + columns[BAND, b]:", "if u < chord - 1:"),
    Mutant(
        "close ones taken",
        KERNEL,
        "if u >= chord - columns[BAND, b]:",
        "if u >= chord + columns[BAND, b]:",
    ),
    Mutant(
        "word read again",
        KERNEL,
        "        at += used\n        noise",
        "        at += 1\n        noise",
    ),
    Mutant("sums go round", KERNEL, "min(sums[i], _LARGEST - noise)", "min(sums[i], _LARGEST)"),
    Mutant(
        "slow path always yes",
        ATTEMPTS,
        "    while True:\n",
        "    while True:\n        return True\n",
    ),
    Mutant(
        "slow path always no",
        ATTEMPTS,
        "    while True:\n",
        "    while True:\n        return False\n",
    ),
    Mutant(
        "slow path in haste",
        ATTEMPTS,
        "strips.exponent_of(x + 1, places)",
        "strips.exponent_of(x, places)",
    ),
    Mutant(
        "digits of a place forgotten",
        ATTEMPTS,
        "x, places = x << WORD | words.take()",
        "x, places = x << WORD",
    ),
    Mutant("one coin more", ATTEMPTS, "return count + WORD -", "return count + 1 + WORD -"),
    Mutant(
        "tail too low", ATTEMPTS, "strips.height << (wide + g + 1)", "strips.height << (wide + g)"
    ),
    Mutant(
        "tail where strips begin", ATTEMPTS, "left = (STRIPS + (g << wide))", "left = (STRIPS + g)"
    ),
    Mutant(
        "last word skipped",
        ATTEMPTS,
        "if self.at == len(self.block):",
        "if self.at >= len(self.block) - 1:",
    ),
    Mutant(
        "words of the kernel used again", ATTEMPTS, "i, words.at = add_noise(", "i, _ = add_noise("
    ),
]
TABLES = [
    ("LAPLACE", 5.0, None),
    ("LAPLACE", 1000, None),
    ("ROUNDED", 300, None),
    ("ROUNDED", 3, -9),
]


def all_checks(sampler: Sampler) -> None:
    """The cheapest first."""
    evidence.exponentials_are_bounded(sampler)
    tables = [sampler.table(*which) for which in TABLES]
    evidence.sums_are_cut_off(sampler)
    for table in tables:
        evidence.pairs_lead_to_weights(sampler, table)
        evidence.decisions_are_right(sampler, table, [0, 1, 40])
        evidence.tail_is_right(sampler, table)
        evidence.laziness_is_right(sampler, table)
        evidence.twins_agree(sampler, table, 150, seed=4)
        evidence.chord_is_near(table, range(0, 1022, 200))
        evidence.heights_cover(table)


def test_an_unbroken_copy_passes() -> None:
    all_checks(broken({}))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_sampler_is_refused(mutant: Mutant) -> None:
    sampler = broken({mutant.file: (mutant.words, mutant.instead)})
    # A warning (a sum that went round) is an error as well.
    with pytest.raises((AssertionError, ArithmeticError, IndexError, RuntimeWarning)):
        all_checks(sampler)
