"""One stable hash of (key, user, item): levels and coins belong to the record, not to its row.

A record's uniform number n (0 to 3) is made of 13 hexadecimal digits, from digit 16 n on, of

    SHA-256( key | bytes in user | ":" | user | ":" | item )

over 2^52, where key is 64 hexadecimal digits and the ids are written as text in UTF-8 (integers in
decimal). The key's length is fixed and the user's is given, so no two pairs share a message. Every
engine can compute it; in Spark SQL, number n is

    conv(substring(sha2(concat(key, octet_length(user), ':', user, ':', item), 256),
                   16 * n + 1, 13), 16, 10) / 4503599627370496
"""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.kernels.sha256 import hash_pairs
from discreet.kernels.threads import even_ranges, run_ranges, thread_count
from discreet.privacy.fixedpoint import COIN_GRID

Hashes = tuple[NDArray[np.int64], NDArray[np.int64]]
"""How ledgers name the pairs of a table's records: 104 bits of each, as two integers of 52."""
HASH_BITS = 52


def derive_key(purpose: str, seed: int) -> str:
    """The key of a seeded run: 64 hexadecimal digits; each purpose has its own.

    >>> derive_key("levels", 7)[:16]
    'a128f185cccad173'
    """
    return hashlib.sha256(f"discreet:{purpose}:{seed}".encode()).hexdigest()


def pair_uniforms(
    key: str,
    user_ids: pl.Series,
    item_ids: pl.Series,
    user: NDArray[np.int32],
    item: NDArray[np.int32],
    *,
    count: int = 1,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """`count` numbers in [0, 1) for every pair (user_ids[user[k]], item_ids[item[k]]).

    They depend on the key and the two ids alone: the same on every machine and in every order.
    """
    assert len(key) == 64
    assert 1 <= count <= 4
    out = np.empty((len(user), count))
    workers = thread_count(threads)
    user_text = user_ids.cast(pl.String)
    prefixed = pl.select(
        pl.concat_str(
            user_text.str.len_bytes().cast(pl.String), pl.lit(":"), user_text, pl.lit(":")
        )
    ).to_series()
    run_ranges(
        hash_pairs,
        even_ranges(len(user), workers),
        workers,
        np.frombuffer(key.encode("ascii"), dtype=np.uint8),
        user,
        item,
        *_packed(prefixed),
        *_packed(item_ids.cast(pl.String)),
        out,
    )
    return out


def pair_hashes(
    key: str,
    user_ids: pl.Series,
    item_ids: pl.Series,
    user: NDArray[np.int32],
    item: NDArray[np.int32],
) -> Hashes:
    """How a ledger with this key names pairs: 104 bits of each one's hash, which tell no id."""
    numbers = pair_uniforms(key, user_ids, item_ids, user, item, count=2)
    whole = (numbers * COIN_GRID).astype(np.int64)
    return whole[:, 0], whole[:, 1]


def pair_hash(key: str, user: str, item: str) -> tuple[int, int]:
    """One pair's name in a ledger, as `pair_hashes` would give it, without setting up tables.

    >>> pair_hash("0" * 64, "ann", "film")
    (1303403138352106, 776833447205237)
    """
    text = f"{key}{len(user.encode())}:{user}:{item}"
    digits = hashlib.sha256(text.encode()).hexdigest()
    return int(digits[:13], 16), int(digits[16:29], 16)


def _packed(texts: pl.Series) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All texts in one array of bytes, and where each begins."""
    ptr = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(texts.str.len_bytes().to_numpy(), out=ptr[1:])
    joined = "".join(texts).encode("utf-8")
    return np.frombuffer(joined, dtype=np.uint8), ptr
