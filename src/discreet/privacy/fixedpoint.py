"""Fixed point: every grid that counts, and every margin that privacy rests on, in one place.

Secrets are added up as integers, so that a sum depends on no order of its terms; noise is drawn on
the same grid. What floating point computes on the way is rounded to the side of more privacy.
Every line below has its inequality in words; docs/proofs/margins.md derives it, and
tests/privacy/test_fixedpoint.py and tests/schemes/test_margins_of_noise.py check it.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import ParameterError

# Grids: a number x is stored as an integer, x times the grid, cut off towards zero.
ONE_VOTE = 1 << 20
"""Votes. A record of weight w counts at most floor(2^20 w): proofs/tally.md#theorem."""
GRID = 1 << 20
"""Contributions a_ij and directions z_j, |a| < 1 and |z| <= 1: proofs/chorus.md#theorem."""
SUM_GRID = 1 << 30
"""Sums of contributions times user vectors, which have the noise: proofs/chorus.md#theorem."""
COIN_GRID = 1 << 52
"""Coins of the sampling. pi 2^52 of them keep a record, rounded down: #coins."""
EXACT_RECORDS = 1 << 12
"""So many products on GRID add up exactly in a float: 2^12 2^40 < 2^53: #integer-sums."""

# Shaves: a factor 1 - shave covers what the quotient before it may have been rounded up by.
WEIGHT_SHAVE = 2.0**-50
"""Off a record's weight: W <= 2^20 epsilon/t although two operations round: #weights."""
PERSON_SHAVE = 2.0**-40
"""Off a person's weight before it is shared: n^(1/p) W <= 2^20 V omega: #people."""
COIN_SHAVE = 2.0**-46
"""Off an inclusion probability: pi as computed <= pi (1 + 60 2^-53): #coins."""
CONTRIBUTION_SHAVE = 2.0**-40
"""Off a record's weight in Chorus' rounds: |a| + rho <= omega (X + rho): #contributions."""
BUDGET_SHAVE = 2.0**-36
"""Off an epsilon and a delta that Gaussian noise is made for: parts of a whole, each rounded, and
their sums are within it: #gaussian-accounting, #the-ledger."""
LEDGER_SHAVE = 2.0**-40
"""Off the level of a pair that has spent before: what was allowed adds up to <= E: #the-ledger."""
MU_SHAVE = 2.0**-40
"""Off a record's weight in the rounds of a divided ledger: its mu^2, as it is used, is within what
the ledger is told, although a root, a quotient and the sums are rounded: #the-purses."""
LARGEST_SHARE = 0.99
"""Of an epsilon that may be pure, and of one that may not: what rounds it up is within what
BUDGET_SHAVE leaves of the other part: #the-purses."""
DELTA_PARTS = 16
"""What was spent of a delta before it was divided counts in sixteenths, rounded up: #the-purses."""
FUNCTIONS_HAIR = 2.0**-48
"""More than erfc, exp, log and four roundings err by, as a share: #gaussian-accounting."""

MOST_ITEMS = 1 << 23
"""Of a catalogue in Chorus' rounds: 2^23 (2^20 - 1) 2^20 < 2^63, a person's sums: #integer-sums."""


def cut_off(items: int, factors: int) -> float:
    """rho: how far cutting off products may move the sums of one person, at most: #rho.

    Every product of the person's other records moves by less than one step of SUM_GRID, and 64-bit
    floating point by less: 2 sqrt(items factors) 2^-30 in the root of the sum of squares.
    """
    return 2 * math.sqrt(items * factors) / SUM_GRID


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
