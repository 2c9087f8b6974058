"""Tables of plain numbers in delimited text, parsed where they lie, a range of lines a call.

Plain is what has one reading only: integers in their usual writing ("7", not "07" or "+7") and
decimal numbers of at most 15 digits. Whoever calls falls back to a general parser on all else.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from discreet.kernels.simd.instructions import ones

SKIPPED, INTEGER, NUMBER = 0, 1, 2
_NEWLINE, _RETURN, _MINUS, _POINT, _QUOTE, _ZERO = 10, 13, 45, 46, 34, 48
_DIGITS = 15
"""So many fit a 64-bit float exactly, and so does their power of ten: one division rounds once."""
# The same in each of eight bytes.
_NEWLINES, _LOW = np.uint64(0x0A0A0A0A0A0A0A0A), np.uint64(0x7F7F7F7F7F7F7F7F)
_POWERS = 10.0 ** np.arange(_DIGITS + 1)


@njit(cache=True, nogil=True)
def count_lines(lo, hi, text, words):  # type: ignore[no-untyped-def]
    """How many lines end in text[lo:hi]; `words` is the same text, eight bytes to a word."""
    first, last = (lo + 7) // 8, hi // 8
    count = np.int64(0)
    for k in range(lo, min(8 * first, hi)):
        count += text[k] == _NEWLINE
    for k in range(max(8 * last, 8 * first), hi):
        count += text[k] == _NEWLINE
    for k in range(first, last):
        other = words[k] ^ _NEWLINES
        # The top bit of a byte is set here unless the byte is zero.
        top = ((other & _LOW) + _LOW) | other
        count += np.int64(ones(~(top | _LOW)))
    return count


@njit(cache=True, nogil=True, inline="always")
def _digits(text, p, value):  # type: ignore[no-untyped-def]
    """Digits added to a value, one by one, and where they end."""
    digit = np.uint8(text[p] - _ZERO)
    while digit < 10:
        value = value * 10 + digit
        p += 1
        digit = np.uint8(text[p] - _ZERO)
    return value, p


@njit(cache=True, nogil=True)
def parse_lines(lo, hi, text, separator, kinds, slots, first, integers, numbers):  # type: ignore[no-untyped-def]
    """The lines of text[lo:hi], which ends with a newline, as rows from `first` on.

    Column c goes to integers[slots[c]] or numbers[slots[c]], or is skipped, as kinds[c] says.
    Returns whether every line was plain and had as many fields as there are columns, and whether
    the results hold what was read.
    """
    row, p, last, held = first, lo, len(kinds) - 1, True
    while p < hi:
        for c in range(last + 1):
            kind, slot = kinds[c], slots[c]
            negative = text[p] == _MINUS
            if kind == SKIPPED:
                while text[p] != separator and text[p] != _NEWLINE:
                    # A quote may hide a separator; what is not ASCII must be checked as a whole.
                    if text[p] == _QUOTE or text[p] >= 128:
                        return False, held
                    p += 1
            elif kind == INTEGER:
                if negative:
                    p += 1
                start = p
                value, p = _digits(text, p, np.int64(0))
                size = p - start
                usual = size == 1 or text[start] != _ZERO
                if not 0 < size <= 18 or not usual or (negative and value == 0):
                    return False, held
                value = -value if negative else value
                integers[slot, row] = value
                held &= integers[slot, row] == value
            else:
                if negative:
                    p += 1
                start = p
                value, p = _digits(text, p, np.int64(0))
                size = p - start
                number = np.float64(value)
                if text[p] == _POINT:
                    value, p = _digits(text, p + 1, value)
                    places = p - start - size - 1
                    if not 0 < places <= _DIGITS - size:
                        return False, held
                    number = np.float64(value) / _POWERS[places]
                if not 0 < size <= _DIGITS:
                    return False, held
                if negative:
                    if value == 0:
                        return False, held
                    number = -number
                numbers[slot, row] = number
                held &= numbers[slot, row] == number
            if c == last and text[p] == _RETURN:
                p += 1
            if text[p] != (_NEWLINE if c == last else separator):
                return False, held
            p += 1
        row += 1
    return True, held
