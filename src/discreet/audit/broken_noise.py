"""Small patches of the sampler, each of which breaks a promise: what draws noise itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.arrays import Integers
from discreet.audit.breaking import Change, instead
from discreet.privacy import noise
from discreet.privacy.strips import Law, Strips


def words_that_repeat() -> list[Change]:
    """Random words are the same whenever they are asked for."""

    def made(_: Any) -> Callable[[int], Integers]:
        def words(count: int) -> Integers:
            return np.frombuffer(np.random.default_rng(0).bytes(8 * count), dtype=np.int64)

        return words

    return instead(noise, "_system_words", made)


def no_sign() -> list[Change]:
    """The sign is forgotten: noise is never below zero."""

    def made(own: Any) -> Any:
        def add(lo: int, hi: int, strips: Strips, entropy: Any, sums: Integers) -> None:
            drawn = np.zeros(hi - lo, dtype=np.int64)
            own(0, hi - lo, strips, entropy, drawn)
            sums[lo:hi] += np.abs(drawn)

        return add

    return instead(noise, "add_exactly", made)


def deviation_for_scale() -> list[Change]:
    """Tables are made as if a scale were the deviation: Laplace noise is too small by root 2."""

    def made(own: Any) -> Any:
        def strips_of(law: Law, scale: float) -> Any:
            return own(law, scale / np.sqrt(2) if law is Law.LAPLACE else scale)

        return strips_of

    return instead(noise, "strips_of", made)
