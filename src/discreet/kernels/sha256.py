"""SHA-256 of many short messages that share a 64-byte key; the twin is hashlib."""

from __future__ import annotations

import numpy as np
from numba import njit

from discreet.kernels.simd.vectors import copy_row


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % p for p in found):
            found.append(candidate)
        candidate += 1
    return found


def _integer_root(value: int, power: int) -> int:
    """The largest x with x^power <= value."""
    lo, hi = 0, 1 << (value.bit_length() // power + 1)
    while lo < hi - 1:
        middle = (lo + hi) // 2
        lo, hi = (middle, hi) if middle**power <= value else (lo, middle)
    return lo


# FIPS 180-4 defines the constants: 32 fractional bits of the square and cube roots of primes.
_START = np.array([_integer_root(p << 64, 2) & 0xFFFFFFFF for p in _primes(8)], dtype=np.uint32)
_ROUND = np.array([_integer_root(p << 96, 3) & 0xFFFFFFFF for p in _primes(64)], dtype=np.uint32)


@njit(inline="always")
def _rotate(x, n):  # type: ignore[no-untyped-def]
    return (x >> np.uint32(n)) | (x << np.uint32(32 - n))


@njit(cache=True, nogil=True)
def _compress(state, block, w):  # type: ignore[no-untyped-def]
    """state <- the compression of state with one block of 64 bytes; w is scratch of 64 words."""
    for t in range(16):
        w[t] = (
            (np.uint32(block[4 * t]) << np.uint32(24))
            | (np.uint32(block[4 * t + 1]) << np.uint32(16))
            | (np.uint32(block[4 * t + 2]) << np.uint32(8))
            | np.uint32(block[4 * t + 3])
        )
    for t in range(16, 64):
        x, y = w[t - 15], w[t - 2]
        s0 = _rotate(x, 7) ^ _rotate(x, 18) ^ (x >> np.uint32(3))
        s1 = _rotate(y, 17) ^ _rotate(y, 19) ^ (y >> np.uint32(10))
        w[t] = np.uint32(w[t - 16] + s0 + w[t - 7] + s1)
    a, b, c, d = state[0], state[1], state[2], state[3]
    e, f, g, h = state[4], state[5], state[6], state[7]
    for t in range(64):
        big1 = _rotate(e, 6) ^ _rotate(e, 11) ^ _rotate(e, 25)
        t1 = np.uint32(h + big1 + ((e & f) ^ (~e & g)) + _ROUND[t] + w[t])
        big0 = _rotate(a, 2) ^ _rotate(a, 13) ^ _rotate(a, 22)
        t2 = np.uint32(big0 + ((a & b) ^ (a & c) ^ (b & c)))
        h, g, f, e = g, f, e, np.uint32(d + t1)
        d, c, b, a = c, b, a, np.uint32(t1 + t2)
    state[0] += a
    state[1] += b
    state[2] += c
    state[3] += d
    state[4] += e
    state[5] += f
    state[6] += g
    state[7] += h


@njit(cache=True, nogil=True)
def hash_pairs(lo, hi, key, rows, cols, row_bytes, row_ptr, col_bytes, col_ptr, out):  # type: ignore[no-untyped-def]
    """out[k, n] = bits 64n .. 64n+51 of SHA-256(key | row bytes | column bytes), over 2^52."""
    w = np.empty(64, dtype=np.uint32)
    block = np.empty(64, dtype=np.uint8)
    # The key fills one block, so its compression is shared by every message.
    keyed = _START.copy()
    copy_row(key, block)
    _compress(keyed, block, w)
    state = np.empty(8, dtype=np.uint32)
    for k in range(lo, hi):
        copy_row(keyed, state)
        filled = 0
        row, col = rows[k], cols[k]
        length = 64
        for p in range(row_ptr[row], row_ptr[row + 1]):
            block[filled] = row_bytes[p]
            filled += 1
            length += 1
            if filled == 64:
                _compress(state, block, w)
                filled = 0
        for p in range(col_ptr[col], col_ptr[col + 1]):
            block[filled] = col_bytes[p]
            filled += 1
            length += 1
            if filled == 64:
                _compress(state, block, w)
                filled = 0
        block[filled] = 0x80
        filled += 1
        if filled > 56:
            block[filled:] = 0
            _compress(state, block, w)
            filled = 0
        block[filled:56] = 0
        bits = np.uint64(8 * length)
        for p in range(8):
            block[56 + p] = np.uint8((bits >> np.uint64(56 - 8 * p)) & np.uint64(0xFF))
        _compress(state, block, w)
        for n in range(out.shape[1]):
            word = (np.uint64(state[2 * n]) << np.uint64(32)) | np.uint64(state[2 * n + 1])
            out[k, n] = np.float64(word >> np.uint64(12)) * 2.0**-52
