"""Strips: the table from which noise of one law and scale is drawn, made of whole numbers alone.

The area under f(x) = exp(-q(x)), x >= 0, is covered by strips of one width, each a little higher
than f, and by a tail. A point of the cover is drawn, and is kept if it lies below f: docs/proofs/
noise.md has why what is kept has the law f, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Integers
from discreet.errors import ParameterError
from discreet.kernels.noise import (
    ALIAS,
    BITS,
    COLUMNS,
    CUT,
    CUT_BITS,
    FINE_BITS,
    SURE,
    SURE_BITS,
)
from discreet.privacy.exponential import exp_bounds

STRIPS = COLUMNS - 2
TAIL, AGAIN = STRIPS, STRIPS + 1
"""Outcomes beside the strips: beyond them all, and an attempt that fails at once."""
PLACES = 52
"""Bits of a real number's place in its strip that are drawn at first."""
WIDEST = 51
"""The largest strip, 2^51, that the kernel's 64 bits have room for."""
_MOST_BELOW = 62
"""Bits that the kernel rounds off at most."""
_TOTAL = COLUMNS << CUT_BITS
_POINT = 128
"""Bits of f at the corners; more of them are carried from one to the next."""
_CARRIED = 192
_FALL = Fraction(7, 10)
"""More than log 2: from one strip of the tail to the next, f falls by more than half."""


class Law(Enum):
    """What is drawn: f(x) = exp(-q(x)), and over which x."""

    LAPLACE = "discrete Laplace"
    """q = |x|/s over the integers."""
    GAUSSIAN = "discrete Gaussian"
    """q = x^2/2s^2 over the integers."""
    ROUNDED = "rounded Gaussian"
    """q = x^2/2s^2 over the real numbers; what is drawn is the integer next to x."""

    @property
    def whole(self) -> bool:
        """Whether x itself is an integer."""
        return self is not Law.ROUNDED

    @property
    def power(self) -> int:
        """That of x in q."""
        return 1 if self is Law.LAPLACE else 2


@dataclass(frozen=True, eq=False)
class Strips:
    """The cover of one law, and how a point of it is drawn from words of 64 bits.

    >>> strips = strips_of(Law.LAPLACE, 1000.0)
    >>> strips.exponent, strips.weights[0] == strips.height
    (4, True)
    """

    law: Law
    scale: Fraction
    exponent: int
    """k: a strip is W = 2^k wide."""
    tail_exponent: int
    """A strip of the tail is W_T = 2^(k + this) wide."""
    height: int
    """S, the weight of a strip of height 1."""
    weights: tuple[int, ...] = field(repr=False)
    """M: of 2^42 pairs of a column and a number below 2^32, so many lead to each outcome."""
    columns: Integers = field(repr=False)
    """What the kernel reads: a row for each of `kernels.noise`'s names."""

    @property
    def places(self) -> int:
        """Bits of a place in a strip: all there are, or the first of a real number's."""
        return self.exponent if self.law.whole else max(PLACES, self.exponent + 1)

    @property
    def fits_kernel(self) -> bool:
        """Whether 64 bits have room for every number but those of the tail."""
        return self.exponent <= WIDEST

    def exponent_of(self, x: int, places: int) -> tuple[int, int]:
        """q(x W/2^places), as a quotient of integers."""
        shift = places - self.exponent
        n, d = self.scale.numerator << max(shift, 0), self.scale.denominator << max(-shift, 0)
        if self.law.power == 1:
            return x * d, n
        return (x * d) ** 2, 2 * n**2

    def nearest(self, x: int, places: int) -> int:
        """What is drawn where x W/2^places, or a little more, was found: floor(x + 1/2)."""
        below = places - self.exponent
        return x if below == 0 else (x + (1 << (below - 1))) >> below

    @property
    def layout(self) -> tuple[int, int, int, int, int, int]:
        """For the kernel: bits of a place, those that 20 lack or have too many, those to round off,
        half a step of what remains, and whether -0 is refused."""
        places, below = self.places, self.places - self.exponent
        half = 1 << (below - 1) if below else 0
        if below > _MOST_BELOW:  # all strips together end below 1/2: what is drawn is 0
            below, half = _MOST_BELOW, 0
        up, down = max(BITS - places, 0), max(places - BITS, 0)
        return places, up, down, below, half, int(self.law.whole)


@lru_cache(maxsize=128)
def strips_of(law: Law, scale: float) -> Strips:
    """The table of a law whose scale is exactly what this float is."""
    if not 0 < scale < float("inf"):
        raise ParameterError(f"the scale of noise must be finite and > 0: got {scale!r}")
    s = Fraction(scale)
    return make_strips(law, s, _exponent(law, s))


def make_strips(law: Law, s: Fraction, k: int) -> Strips:
    """Strips of width 2^k. What is drawn has the law for every k; that of `strips_of` is fast."""
    W = Fraction(2) ** k
    tail = _tail_exponent(law, s, W)
    corners = _corners(law, W / s)
    height, weights = _weights(corners, tail)
    cut, alias = _alias(weights)
    columns = np.zeros((6, COLUMNS), dtype=np.int64)
    columns[CUT], columns[ALIAS] = cut, alias
    # A strip of one integer has neither another corner nor a bend.
    single = law.whole and k == 0
    for b in range(STRIPS):
        right, bend = (b, 0) if single else (b + 1, _bend(law, W / s, b))
        over = height, weights[b]
        columns[SURE:, b] = _tests(corners[b], corners[right], over, bend)
    columns.setflags(write=False)
    return Strips(law, s, k, tail, height, weights, columns)


def _exponent(law: Law, s: Fraction) -> int:
    """k with s/2^k in [64, 128), or [32, 64) for Laplace; integers need k >= 0."""
    bits = 7 if law.power == 2 else 6
    k = s.numerator.bit_length() - s.denominator.bit_length() - bits
    while s / Fraction(2) ** k >= 1 << bits:
        k += 1
    return max(k, 0) if law.whole else k


def _tail_exponent(law: Law, s: Fraction, W: Fraction) -> int:
    """The smallest j >= 0 for which f falls by half or more from n W to n W + 2^j W."""
    j = 0
    while _q(law, (STRIPS + 2**j) * W / s) - _q(law, STRIPS * W / s) < _FALL:
        j += 1
    return j


def _q(law: Law, x: Fraction) -> Fraction:
    return x if law.power == 1 else x * x / 2


def _corners(law: Law, ratio: Fraction) -> list[tuple[int, int]]:
    """Bounds of 2^128 f(b W) for b = 0 to n; ratio = W/s.

    f((b+1) W) = f(b W) r_b, and r_(b+1) = r_b d: r_b = exp(-W/s), d = 1, or
    r_b = exp(-(2b + 1) W^2/2s^2), d = exp(-W^2/s^2). Products are rounded outwards.
    """
    one = 1 << _CARRIED
    first, twice = _q(law, ratio), ratio * ratio
    r = exp_bounds(first.numerator, first.denominator, _CARRIED)
    d = (one, one)
    if law.power == 2:
        d = exp_bounds(twice.numerator, twice.denominator, _CARRIED)
    f, found = (one, one), []
    for _ in range(STRIPS + 1):
        found.append((f[0] >> (_CARRIED - _POINT), -(-f[1] >> (_CARRIED - _POINT))))
        f, r = _product(f, r), _product(r, d)
    return found


def _product(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] * other[0] >> _CARRIED, -(-one[1] * other[1] >> _CARRIED)


def _weights(corners: list[tuple[int, int]], tail: int) -> tuple[int, tuple[int, ...]]:
    """S, and M = ceil(S f(b W)) or a little more for every strip, for the tail and for "again".

    The tail's is 2 (W_T/W) ceil(S f(n W)): half of it is for its first strip, which is W_T/W times
    as wide as others.
    """
    upper = [hi for _, hi in corners]
    ceilings = STRIPS + (2 << tail)
    S = ((_TOTAL - ceilings) << _POINT) // (sum(upper[:STRIPS]) + (upper[STRIPS] << (tail + 1)))
    M = [-(-S * hi >> _POINT) for hi in upper]
    M[TAIL] <<= tail + 1
    M.append(_TOTAL - sum(M))
    return S, tuple(M)


def _alias(weights: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Column j leads to j for numbers below cut_j, and to alias_j for others, out of 2^32.

    Every outcome is then reached by exactly as many pairs as its weight says, which is counted.
    """
    full = 1 << CUT_BITS
    left, cut, alias = list(weights), [full] * COLUMNS, list(range(COLUMNS))
    low = [j for j in range(COLUMNS) if left[j] < full]
    high = [j for j in range(COLUMNS) if left[j] > full]
    while low:
        j, giver = low.pop(), high[-1]
        cut[j], alias[j] = left[j], giver
        left[giver] -= full - left[j]
        if left[giver] <= full:
            high.pop()
        if left[giver] < full:
            low.append(giver)
    reached = [0] * COLUMNS
    for j in range(COLUMNS):
        reached[j] += cut[j]
        reached[alias[j]] += full - cut[j]
    if tuple(reached) != weights or min(cut) < 0:
        raise ArithmeticError("a table of noise does not add up to its weights")
    return cut, alias


def _tests(
    left: tuple[int, int], right: tuple[int, int], over: tuple[int, int], bend: int
) -> tuple[int, int, int, int]:
    """What a draw is compared with in one strip: bounds of t = f S/M, given those of its corners.

    SURE, in 2^-21: below it every place is accepted. CORNER and DROP, in 2^-40: the chord from the
    left corner to the right one. BAND: t is never farther from it than that.
    """
    S, M = over

    def share(value: int, bits: int) -> int:
        return (value * S << bits) // (M << _POINT)

    corner, end = share(left[0], FINE_BITS), share(right[0], FINE_BITS)
    rounding = max(share(left[1], FINE_BITS) - corner, share(right[1], FINE_BITS) - end) + 1
    drop = corner - end
    return share(right[0], SURE_BITS), corner, drop, bend + rounding + (drop >> BITS) + 2


def _bend(law: Law, ratio: Fraction, b: int) -> int:
    """How far t is from its chord in strip b at most, in 2^-40: W^2/8 max |t''|; ratio = W/s.

    |t''| <= 1/s^2, times the larger of 1 and (x/s)^2 for Gaussians, as t <= 1.
    """
    n, d = ratio.numerator**2, ratio.denominator**2
    steepest = max(d, (b + 1) ** 2 * n) if law.power == 2 else d
    # Beyond twice the height of everything no draw is decided by the chord anyway.
    return min(-((-n * steepest << (FINE_BITS - 3)) // d**2), 2 << FINE_BITS)
