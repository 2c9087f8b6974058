"""Attempts: one number from as many random words as it takes, in Python's integers, exactly.

The kernel does the same a hundred times faster, word for word, and leaves to this module the few
attempts that it cannot decide. Random words are passed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from discreet.arrays import Integers
from discreet.kernels.noise import (
    ALIAS,
    CUT,
    CUT_BITS,
    EXTRA,
    FINE_BITS,
    SURE,
    SURE_BITS,
    add_noise,
)
from discreet.privacy.exponential import exp_bounds
from discreet.privacy.strips import AGAIN, STRIPS, TAIL, Strips

WORD = 64
CLOSER = 32
"""Bits of f beyond those of u that are known."""
BLOCK = 1 << 15
"""Words that are asked for at once, at most: 256 kB stay in a cache."""
Entropy = Callable[[int], Integers]
"""So many independent words of 64 fair bits."""
_WORD_MASK = (1 << WORD) - 1


class Words:
    """Random words, each read once, one after the other; they are asked for in blocks."""

    def __init__(self, entropy: Entropy, most: int) -> None:
        self.entropy = entropy
        self.most = most
        self.block: Integers = entropy(0)
        self.at = 0

    def take(self) -> int:
        """The next word."""
        if self.at == len(self.block):
            self.block, self.at = self.entropy(self.most), 0
        self.at += 1
        return int(self.block[self.at - 1]) & _WORD_MASK

    def bits(self, count: int) -> int:
        """So many bits: the last of as many words as they need, and of one at least."""
        value = self.take()
        for _ in range(WORD, count, WORD):
            value = value << WORD | self.take()
        return value & ((1 << count) - 1)

    def ones(self) -> int:
        """How many coins show heads before the first tail: g with probability 2^-(g + 1)."""
        count = 0
        while (word := self.take()) == _WORD_MASK:
            count += WORD
        return count + WORD - (word ^ _WORD_MASK).bit_length()


class _Point(NamedTuple):
    """A point of the cover: x W/2^places, or a little more, and what is known of its height."""

    x: int
    places: int
    height: tuple[int, int]
    """Of the cover there, as a quotient."""
    u: int
    known: int
    """u <= 2^known U < u + 1, and U times the height is the point's."""


def attempt(strips: Strips, words: Words) -> int | None:
    """A number of the law, or None: try again. Whether it fails does not depend on others."""
    word = words.take()
    b, u = word >> (WORD - 10), word & ((1 << SURE_BITS) - 1)
    cut, alias, sure = (int(strips.columns[row, b]) for row in (CUT, ALIAS, SURE))
    if (word >> (SURE_BITS + 1)) & ((1 << CUT_BITS) - 1) >= cut:
        b, sure = alias, int(strips.columns[SURE, alias])
    if b == AGAIN:
        return None
    places = strips.places
    if b == TAIL:
        point = _in_the_tail(strips, words, u)
        kept = _below(strips, point, words)
    else:
        height = strips.weights[b], strips.height
        point = _Point((b << places) + words.bits(places), places, height, u, SURE_BITS)
        kept = u < sure
        if not kept:
            finer = u << EXTRA | words.bits(EXTRA)
            kept = _below(strips, point._replace(u=finer, known=FINE_BITS), words)
    if not kept:
        return None
    number = strips.nearest(point.x, places)
    if word >> SURE_BITS & 1:
        return None if number == 0 and strips.law.whole else -number
    return number


def _in_the_tail(strips: Strips, words: Words, u: int) -> _Point:
    """Strip g of the tail has half the weight of the one before: g is drawn by coins."""
    wide, g, places = strips.tail_exponent, words.ones(), strips.places
    left = (STRIPS + (g << wide)) << places
    height = strips.weights[TAIL], strips.height << (wide + g + 1)
    return _Point(left + words.bits(places + wide), places, height, u, SURE_BITS)


def _below(strips: Strips, point: _Point, words: Words) -> bool:
    """Whether the point lies below f: U height < f(x), decided from as few bits as it takes.

    Bounds of f are compared with those of U; if they overlap, 64 more bits of U are drawn, and of
    the place, where x is a real number.
    """
    x, places, (over, under), u, known = point
    whole = strips.law.whole
    while True:
        bits = known + CLOSER + (under // over).bit_length()
        lo, hi = exp_bounds(*strips.exponent_of(x, places), bits)
        if not whole:  # x is anywhere from here to the next place
            lo, _ = exp_bounds(*strips.exponent_of(x + 1, places), bits)
        if (u + 1) * over << bits <= lo * under << known:
            return True
        if u * over << bits >= hi * under << known:
            return False
        u, known = u << WORD | words.take(), known + WORD
        if not whole:
            x, places = x << WORD | words.take(), places + WORD


def add_exactly(
    lo: int, hi: int, strips: Strips, entropy: Entropy, sums: Integers, *, block: int = BLOCK
) -> None:
    """sums[lo:hi] += independent numbers of the law, cut off at 64 bits after the addition."""
    words = Words(entropy, min(block, 2 * (hi - lo) + 16))
    i, limits = lo, np.iinfo(np.int64)
    while i < hi:
        if strips.fits_kernel:
            i, words.at = add_noise(
                i, hi, words.block, words.at, strips.columns, strips.layout, sums
            )
        if i < hi and (number := attempt(strips, words)) is not None:
            sums[i] = min(max(int(sums[i]) + number, limits.min), limits.max)
            i += 1
