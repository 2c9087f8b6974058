"""What must be true of a sampler, said without statistics: docs/proofs/noise.md, in 150 digits.

Every check takes one and fails if it is wrong. Kernels are asked what they do with words that were
made for it.
"""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np

from tests.privacy.samplers import (
    DIGITS,
    MASK,
    Sampler,
    Shown,
    Truth,
    answered,
    first_word,
    hostile_words,
    script,
    shown,
)


def exponentials_are_bounded(sampler: Sampler) -> None:
    """noise.md#exponentials."""
    bounds, series = sampler.exponential.exp_bounds, sampler.exponential._series
    rng = np.random.default_rng(0)
    some = [Fraction(*map(int, rng.integers(1, 2**40, 2))) for _ in range(20)]
    edges = [Fraction(0), Fraction(1), Fraction(1, 3**90), Fraction(63, 64), Fraction(500, 7)]
    with mp.workdps(DIGITS):
        for q, bits in itertools.product([*some, *edges], (64, 128, 300)):
            lo, hi = bounds(q.numerator, q.denominator, bits)
            exact = mp.ldexp(mp.exp(-mp.mpf(q.numerator) / q.denominator), bits)
            assert lo <= exact <= hi
            assert hi - lo <= 2
        for work in (90, 200):
            for z in [
                0,
                1,
                1 << (work - 6),
                *(int(x) << (work - 70) for x in rng.integers(0, 2**62, 9)),
            ]:
                lo, hi = series(z, work)
                assert lo <= mp.ldexp(mp.exp(-mp.ldexp(z + 1, -work)), work)
                assert hi >= mp.ldexp(mp.exp(-mp.ldexp(z, -work)), work)
                assert hi - lo < 400


def heights_cover(table: Any) -> None:
    """noise.md#heights: every strip is high enough, the tail too, and none by more than needed."""
    truth, n = Truth(table), len(table.weights) - 2
    M, S, W_T = table.weights, table.height, truth.W * 2**table.tail_exponent
    assert sum(M) == 1 << 42
    assert min(M) >= 0
    with mp.workdps(DIGITS):
        for b in range(n):
            assert 0 <= M[b] - S * truth.f(b * truth.W) < 1 + mp.mpf(2) ** -60
        ends = n * truth.W
        # Half of the tail's weight is for its first strip, which is W_T/W times as wide.
        ceiling = int(mp.ceil(S * truth.f(ends))) or 1
        assert M[n] * truth.W == 2 * W_T * ceiling
        for g in range(60):
            height = Fraction(M[n], S) * truth.W / W_T / 2 ** (g + 1)
            assert truth.f(ends + g * W_T) * height.denominator <= height.numerator


def pairs_lead_to_weights(sampler: Sampler, table: Any) -> None:
    """noise.md#the-choice-of-a-strip, counted; and what kernel and Python do at every cut."""
    columns, n = table.columns, len(table.weights) - 2
    cut, alias = columns[0].tolist(), columns[1].tolist()
    reached = [0] * (n + 2)
    for c in range(n + 2):
        reached[c] += cut[c]
        reached[alias[c]] += (1 << 32) - cut[c]
    assert tuple(reached) == table.weights
    for c in range(0, n, 41):
        for v, b in ((cut[c] - 1, c), (cut[c], alias[c])):
            if 0 <= v < 1 << 32 and b < n:
                word = c << 54 | v << 22
                x = b * Truth(table).W  # with u = 0 and place 0
                expected = Truth(table).number(x, 0)
                if columns[2, b] > 0:
                    assert shown(sampler, table, word, 0, 0) == (expected, 2)
                    assert answered(sampler, table, iter([word, 0])) == expected


def places_of(table: Any) -> list[int]:
    """Places in a strip that are likely to go wrong."""
    last = (1 << table.places) - 1
    return sorted({0, 1 & last, last // 3, last // 2 + 1 & last, last})


def chord_is_near(table: Any, strips: range) -> None:
    """noise.md#lazy-comparison (a) and (b): the numbers that draws are compared with."""
    truth = Truth(table)
    last = (1 << table.places) - 1
    for b in strips:
        sure, corner, drop, band = table.columns[2:, b].tolist()
        with mp.workdps(DIGITS):
            least = min(truth.t(b, x) for x in truth.interval(b, last))
            assert sure <= mp.ldexp(least, 21)
            for place in places_of(table):
                y = place << 20 >> table.places
                chord = corner - (drop * y >> 20)
                for x in truth.interval(b, place):
                    assert abs(mp.ldexp(truth.t(b, x), 40) - chord) <= band


def decisions_are_right(sampler: Sampler, table: Any, strips: list[int]) -> None:
    """noise.md#lazy-comparison: the kernel's answers, at and around every digit where they turn."""
    truth = Truth(table)
    for b, place, sign in itertools.product(strips, places_of(table), (0, 1)):
        sure, corner, drop, band = table.columns[2:, b].tolist()
        near, far = truth.interval(b, place)
        with mp.workdps(DIGITS):
            t_most, t_least = (mp.ldexp(truth.t(b, x), 40) for x in (near, far))
        chord = corner - (drop * (place << 20 >> table.places) >> 20)
        turns = {0, (1 << 40) - 1, int(mp.floor(t_least)), sure << 19}
        turns |= {chord + side * band for side in (-1, 1)}
        for u in sorted({u + step for u in turns for step in (-2, -1, 0, 1)}):
            if not 0 <= u < 1 << 40:
                continue
            words = first_word(table, b, sign, u >> 19), place | place_noise(table), u & 0x7FFFF
            words = (*words[:2], words[2] | 0x5A5A5 << 40)
            drawn, used = shown(sampler, table, *words)
            expected = truth.number(near, sign)
            if u >> 19 < sure:
                assert ((u >> 19) + 1) << 19 <= t_least
                assert (drawn, used) == (expected, 2)
            elif drawn is not None or (used and expected is None and u + 1 <= t_least):
                assert u + 1 <= t_least
                assert (drawn, used) == (expected, 3)
            elif used:
                assert u >= t_most
                assert used == 3
            else:  # left to Python: only where it is close
                assert abs(u - t_least) <= 2 * band + 1
            # The same in Python's integers, whose words go on with whatever is asked for.
            if u + 1 <= t_least or u >= t_most:
                right = expected if u + 1 <= t_least else None
                told = itertools.chain(words, hostile_words(u % 2**32))
                assert answered(sampler, table, told) == right


def place_noise(table: Any) -> int:
    """Bits of the second word that nobody should look at."""
    return (0xA5A5_A5A5_A5A5_A5A5 >> table.places << table.places) & MASK


def laziness_is_right(sampler: Sampler, table: Any) -> None:
    """noise.md#lazy-comparison (c): with few digits known, and the true ones to come."""
    truth, n = Truth(table), len(table.weights) - 2
    rng = np.random.default_rng(5)
    places = table.exponent if table.law.whole else table.exponent + 3
    if not table.law.whole and places < 0:
        places = 3
    for b in (0, 1, 5, n // 8):
        for trial in range(12):
            digits = [int(x) for x in rng.integers(0, 2**63, 8)]
            place = digits[0] & ((1 << places) - 1)
            more = [] if table.law.whole else digits[1:5]
            x = Fraction(place, 2**places)
            for count, word in enumerate(more):
                x += Fraction(word, 2 ** (places + 64 * (count + 1)))
            x = (b + x) * truth.W
            with mp.workdps(DIGITS):
                t = truth.t(b, x)
                # U as near to t as the trial wants: the answer turns in a late digit.
                away = mp.mpf(1) / 2 ** (3 + 10 * trial) if trial < 11 else mp.mpf(2) ** -150
                for (U, below), known in itertools.product(
                    ((t - away, True), (t + away, False)), (5, 69)
                ):
                    if not 0 < U < 1:
                        continue
                    exact = int(mp.floor(mp.ldexp(U, 325)))
                    of_u = [exact >> shift & MASK for shift in range(256, -1, -64)][known // 64 :]
                    told = itertools.chain.from_iterable(
                        (u, *more[c : c + 1]) for c, u in enumerate(of_u)
                    )
                    height = table.weights[b], table.height
                    point = sampler.attempts._Point(
                        (b << places) + place, places, height, exact >> (325 - known), known
                    )
                    words = sampler.attempts.Words(script(iter(told), 1), 1)
                    assert sampler.attempts._below(table, point, words) == below


def tail_is_right(sampler: Sampler, table: Any) -> None:
    """noise.md#an-attempt: coins for g, the place, the height, the answer."""
    truth, n, wide = Truth(table), len(table.weights) - 2, table.tail_exponent
    W_T = truth.W * 2**wide
    for g in (0, 1, 2, 5, 63, 64, 65, 130):
        ones = sampler.attempts.Words(script(iter(_coins(g)), 1), 1)
        assert ones.ones() == g
        if g > 5:
            continue
        height = Fraction(table.weights[n], table.height) * truth.W / W_T / 2 ** (g + 1)
        bits = table.places + wide
        for place in (0, 1, (1 << bits) - 1):
            x = (n + g * 2**wide) * truth.W + place * truth.W / 2**table.places
            with mp.workdps(DIGITS):
                t = mp.ldexp(truth.f(x) * height.denominator / height.numerator, 21)
            for u in {0, int(t) - 1, int(t) + 1, (1 << 21) - 1}:
                if not 0 <= u < 1 << 21 or int(t) == u:
                    continue
                for sign in (0, 1):
                    word = first_word(table, n, sign, u)
                    assert shown(sampler, table, word, 0, 0) == (None, 0)
                    told = [word, *_coins(g), *_split(place, bits), 1, 1]
                    expected = truth.number(x, sign) if u < t else None
                    assert answered(sampler, table, iter(told)) == expected


def _coins(g: int) -> list[int]:
    """Words whose coins show heads g times."""
    return [MASK] * (g // 64) + [MASK >> (64 - g % 64) << (64 - g % 64)]


def _split(value: int, bits: int) -> list[int]:
    count = max(1, -(-bits // 64))
    return [value >> 64 * (count - 1 - c) & MASK for c in range(count)]


def twins_agree(sampler: Sampler, table: Any, count: int, seed: int) -> None:
    """The kernel and what surrounds it against one attempt after the other, word for word."""
    told, read = itertools.tee(hostile_words(seed))
    words = sampler.attempts.Words(script(read, 1), 1)
    expected = []
    while len(expected) < count:
        if (number := sampler.attempts.attempt(table, words)) is not None:
            expected.append(number)
    told, *others = itertools.tee(told, 8)
    found = np.zeros(count, np.int64)
    sampler.attempts.add_exactly(0, count, table, script(told, 1 << 30), found)
    assert found.tolist() == expected
    for size, some in zip((3, 4, 5, 6, 7, 1), others, strict=False):
        in_parts = np.zeros(60, np.int64)
        sampler.attempts.add_exactly(0, 60, table, script(some, size), in_parts, block=size)
        assert in_parts.tolist() == expected[:60], f"buffers of {size} words"


def sums_are_cut_off(sampler: Sampler) -> None:
    """After the addition, on both sides."""
    table, most = sampler.table("LAPLACE", 1000.0), 2**63 - 1
    for start in (most, -most - 1, 0):
        sums, zeros = np.full(400, start, np.int64), np.zeros(400, np.int64)
        for some in (sums, zeros):
            told = script(hostile_words(3), 1 << 30)
            sampler.attempts.add_exactly(0, 400, table, told, some)
        exact = [min(max(start + int(noise), -most - 1), most) for noise in zeros]
        assert sums.tolist() == exact
        assert start == 0 or exact.count(start) > 50


def probabilities(sampler: Sampler, table: Any, strips: range) -> None:
    """Where a strip is one integer: the kernel's own probability of it, between two bounds.

    How many of 2^40 digits u are accepted, and how many refused, is found by halving.
    """
    truth = Truth(table)
    assert table.places == 0
    for b in strips:

        def asked(u: int, b: int = b) -> Shown:
            return shown(sampler, table, first_word(table, b, 0, u >> 19), MASK, u & 0x7FFFF)

        guess = int(table.columns[3, b])
        accepted = _first(lambda u: asked(u).drawn is None, guess)
        refused = _first(lambda u: asked(u) == (None, 3), guess)
        assert refused - accepted <= 12
        with mp.workdps(DIGITS):
            assert accepted <= mp.ldexp(truth.t(b, Fraction(b)), 40) <= refused


def _first(holds: Callable[[int], bool], guess: int) -> int:
    """The smallest number of 40 bits for which something holds that holds for all larger ones."""
    lo, hi = max(guess - 16, 0), min(guess + 16, 1 << 40)
    if holds(lo) or not (hi == 1 << 40 or holds(hi)):
        lo, hi = 0, 1 << 40
    while lo < hi:
        middle = (lo + hi) // 2
        lo, hi = (lo, middle) if holds(middle) else (middle + 1, hi)
    return lo
