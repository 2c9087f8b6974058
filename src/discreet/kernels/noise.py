"""Noise from words of 64 random bits that are passed in: integers alone, no floating point.

One attempt takes a word, and usually a second for the place in a strip: docs/proofs/noise.md. Words
are read as int64: mixed with uint64, Numba would turn them into floats. The twin, word for word, is
`privacy.attempts.attempt`.
"""

from __future__ import annotations

from numba import njit

COLUMNS = 1024
CUT_BITS, SURE_BITS, FINE_BITS, BITS = 32, 21, 40, 20
"""A word has 10 bits for the column, 32 to compare with its cut, one for the sign, and 21 of u;
another 19 make them 40. 20 bits of a place are multiplied with a drop."""
CUT, ALIAS, SURE, CORNER, DROP, BAND = range(6)
"""Rows of a table of strips: `privacy.strips`."""
MOST_WORDS = 3
"""That an attempt may take in the kernel."""
EXTRA = FINE_BITS - SURE_BITS
_LARGEST, _LEAST = (1 << 63) - 1, -(1 << 63)


@njit(cache=True, nogil=True)
def add_noise(lo, hi, words, at, columns, layout, sums):  # type: ignore[no-untyped-def]
    """sums[i] += noise for i from lo on; cut off at 64 bits. How far it came: i, and a word.

    It stops before an attempt for which words may be wanting, or which it cannot decide: that one
    is made anew, from the same words, in Python's integers.
    """
    strips = columns.shape[1] - 2
    places, up, down, below, half, whole = layout
    place_mask = (1 << places) - 1
    i = lo
    while i < hi and at + MOST_WORDS <= len(words):
        word = words[at]
        b = (word >> 54) & 1023
        if (word >> 22) & 0xFFFFFFFF >= columns[CUT, b]:
            b = columns[ALIAS, b]
        if b >= strips:
            if b == strips:  # the tail
                break
            at += 1
            continue
        u = word & 0x1FFFFF
        place = words[at + 1] & place_mask
        used = 2
        if u >= columns[SURE, b]:
            used = 3
            u = (u << EXTRA) | (words[at + 2] & ((1 << EXTRA) - 1))
            chord = columns[CORNER, b] - ((columns[DROP, b] * ((place << up) >> down)) >> BITS)
            if u >= chord - columns[BAND, b]:
                if u < chord + columns[BAND, b]:  # too close to tell
                    break
                at += used
                continue
        at += used
        noise = ((b << places) + place + half) >> below
        if (word >> 21) & 1:
            if noise == 0 and whole:  # 0 has one chance, not two
                continue
            noise = -noise
        # Cut off where the sum would leave 64 bits.
        sums[i] = min(sums[i], _LARGEST - noise) if noise > 0 else max(sums[i], _LEAST - noise)
        sums[i] += noise
        i += 1
    return i, at
