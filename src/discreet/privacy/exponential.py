"""Exponentials in whole numbers: bounds as close as asked for, and no floating-point operation."""

from __future__ import annotations

_SMALL = 6
"""Arguments are halved until they are below 2^-6: then each term of the series is that much smaller
than the one before."""


def exp_bounds(over: int, under: int, bits: int) -> tuple[int, int]:
    """Whole numbers lo <= 2^bits exp(-over/under) <= hi, a few steps apart; over >= 0, under > 0.

    exp(-q) = exp(-q/2^h)^(2^h): a series, then h squarings, all rounded outwards:
    docs/proofs/noise.md#exponentials.

    >>> lo, hi = exp_bounds(1, 1, 64)
    >>> lo / 2**64, hi - lo
    (0.36787944117144233, 1)
    """
    if over >= bits * under:  # exp(-bits) < 2^-bits
        return 0, 1
    halvings = (over // under).bit_length() + _SMALL
    work = bits + halvings + 16
    lo, hi = _series((over << (work - halvings)) // under, work)
    for _ in range(halvings):
        lo, hi = lo * lo >> work, -(-hi * hi >> work)
    spare = work - bits
    return lo >> spare, -(-hi >> spare)


def _series(z: int, work: int) -> tuple[int, int]:
    """Bounds of 2^work exp(-y) for every y from z/2^work to (z + 1)/2^work, where z <= 2^(work-6).

    Terms are rounded down, and every one is less than 2 below the exact one: 1 for its own
    rounding, and 2/64 that it takes over from the one before. The first that is left out is less
    than 2 as well, and what follows it is smaller, with alternating signs.
    """
    total = term = 1 << work
    count = 0
    while term:
        count += 1
        term = term * z // (count << work)
        total += -term if count % 2 else term
    error = 2 * count + 3
    return total - error, total + error
