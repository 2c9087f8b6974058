"""Margins that privacy rests on: each covers what 64-bit floating point may round the wrong way.

docs/proofs/margins.md derives every one of them, and tests/privacy/test_fixedpoint.py quotes it.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import ParameterError

WEIGHT_SHAVE = 2.0**-50
"""Off a record's weight eps/t: docs/proofs/margins.md#weights."""
PERSON_SHAVE = 2.0**-40
"""Off a person's weight before it is shared among records: docs/proofs/margins.md#people."""
COIN_SHAVE = 2.0**-46
"""Off an inclusion probability: docs/proofs/margins.md#coins."""
CONTRIBUTION_SHAVE = 2.0**-40
"""Off a record's weight in Chorus' rounds: docs/proofs/margins.md#voices."""
LEDGER_SHAVE = 2.0**-40
"""Off the level of a pair that has spent before: docs/proofs/margins.md#the-ledger."""

GRID_EPSILON, GRID_DELTA = 1e-7, 1e-15
"""Set aside for Gaussian noise on a grid: docs/proofs/margins.md#noise-on-a-grid."""
GRID_TAIL = 394
"""19.8^2 + 1, rounded up: noise within 19.8 deviations is compared point by point."""
MOST_NUMBERS = 1 << 40
"""Of discrete Gaussian numbers in one fit, for which the tail beyond that is counted."""
LARGEST_EPSILON = 128.0
"""Up to which that tail, times e^epsilon, fits in GRID_DELTA: beyond it Chorus is not proven."""
SMALLEST_DELTA = 1e-14
"""Of one publication: below it more than a tenth would be set aside."""
MOST_ITEMS = 1 << 23
"""Of a catalogue in Chorus' rounds, so that a person's exact sums stay below 2^63."""


def rounded_up(exact: Fraction) -> float:
    """A float that is at least an exact number, for the scale of a noise.

    >>> rounded_up(Fraction(1, 3)) > Fraction(1, 3)
    True
    """
    try:
        nearest = float(exact)  # of a fraction: rounded to nearest
    except OverflowError:
        raise ParameterError("an epsilon so small asks for noise beyond 64 bits") from None
    return math.nextafter(nearest, math.inf)


def rounded_down(exact: Fraction) -> float:
    """The largest float that is at most an exact number, for a share or a budget.

    >>> rounded_down(Fraction(1, 2))
    0.5
    """
    nearest = float(exact)
    return nearest if nearest <= exact else math.nextafter(nearest, -math.inf)


def root_rounded_down(exact: Fraction) -> float:
    """A float that is at most the root of an exact number >= 0, for a part of a Gaussian budget.

    >>> root_rounded_down(Fraction(4))
    2.0
    """
    root = math.sqrt(exact)
    while Fraction(root) ** 2 > exact:
        root = math.nextafter(root, 0.0)
    return root
