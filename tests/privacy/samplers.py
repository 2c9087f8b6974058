"""A sampler as a value, that can be broken; what its proof says, in 150 digits; and made-up words.

A `Sampler` is the production code, or a copy of it that was broken in one place.
"""

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np

from discreet.kernels import noise as kernel
from discreet.privacy import attempts, exponential, strips

DIGITS = 150
MASK = (1 << 64) - 1
MODULES = {
    "discreet.kernels.noise": kernel,
    "discreet.privacy.exponential": exponential,
    "discreet.privacy.strips": strips,
    "discreet.privacy.attempts": attempts,
}


class Sampler(NamedTuple):
    """All that draws."""

    kernel: Any
    exponential: Any
    strips: Any
    attempts: Any

    def table(self, law: str, scale: float | Fraction, k: int | None = None) -> Any:
        """A table, of strips as wide as usual or of another width."""
        of = self.strips.Law[law]
        if k is None:
            return self.strips.strips_of(of, scale)
        return self.strips.make_strips(of, Fraction(scale), k)


SOUND = Sampler(*MODULES.values())


def broken(changes: Mapping[str, tuple[str, str]]) -> Sampler:
    """A copy of the production code, not compiled, in which some words stand in others' place."""
    kept, made = {name: sys.modules[name] for name in MODULES}, []
    for name in changes:
        assert f"discreet.{name}" in MODULES, name
    try:
        for name in MODULES:
            found = find_spec(name)
            assert found is not None
            assert found.origin is not None
            source = Path(found.origin).read_text().replace("@njit(cache=True, nogil=True)\n", "")
            if (change := changes.get(name.removeprefix("discreet."))) is not None:
                assert source.count(change[0]) == 1, f"{change[0]!r} is not in {name} once"
                source = source.replace(*change)
            module = ModuleType(name)
            sys.modules[name] = module  # the next ones import from it
            exec(compile(source, found.origin, "exec"), vars(module))
            made.append(module)
    finally:
        sys.modules.update(kept)
    return Sampler(*made)


class Truth:
    """What the proof says about one table, in 150 digits."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.W = Fraction(2) ** table.exponent
        self.power = table.law.power

    def f(self, x: Fraction) -> Any:
        with mp.workdps(DIGITS):
            q = (x / self.table.scale) ** self.power / self.power
            return mp.exp(-mp.mpf(q.numerator) / q.denominator)

    def t(self, b: int, x: Fraction) -> Any:
        """f over the height of strip b."""
        with mp.workdps(DIGITS):
            return self.f(x) * self.table.height / self.table.weights[b]

    def interval(self, b: int, place: int) -> tuple[Fraction, Fraction]:
        """What x may be, from the first digits of its place."""
        step = self.W / 2**self.table.places
        lo = b * self.W + place * step
        return lo, lo if self.table.law.whole else lo + step

    def number(self, x: Fraction, sign: int) -> int | None:
        """What is drawn there; None: nothing."""
        found = int(x) if self.table.law.whole else int(x + Fraction(1, 2))
        if sign and found == 0 and self.table.law.whole:
            return None
        return -found if sign else found


def array(*words: int) -> Any:
    """Words as the kernel gets them, which may not be written to."""
    return np.frombuffer(np.array([w & MASK for w in words], np.uint64).tobytes(), np.int64)


def first_word(table: Any, b: int, sign: int, u: int) -> int:
    """A word that leads to an outcome."""
    column, v = b, int(table.columns[0, b]) - 1
    if v < 0:
        column, v = int(np.flatnonzero(table.columns[1] == b)[0]), (1 << 32) - 1
    return column << 54 | v << 22 | sign << 21 | u


class Shown(NamedTuple):
    """What a kernel did with three words."""

    drawn: int | None
    used: int


def shown(sampler: Sampler, table: Any, *words: int) -> Shown:
    sums = np.zeros(1, np.int64)
    i, at = sampler.kernel.add_noise(0, 1, array(*words), 0, table.columns, table.layout, sums)
    return Shown(int(sums[0]) if i else None, int(at))


def script(words: Iterator[int], sizes: int = 5) -> Callable[[int], Any]:
    """The operating system's words, as a test wants them: so many at a time."""

    def entropy(count: int) -> Any:
        return array(*itertools.islice(words, min(count, sizes)))

    return entropy


def answered(sampler: Sampler, table: Any, words: Iterator[int]) -> int | None:
    """What an attempt in Python's integers makes of these words."""
    found: int | None = sampler.attempts.attempt(table, sampler.attempts.Words(script(words, 1), 1))
    return found


def hostile_words(seed: int) -> Iterator[int]:
    """Random words; every now and then with many ones or zeros, at the end or all over."""
    rng = np.random.default_rng(seed)
    while True:
        for word in rng.integers(0, 2**64, 64, dtype=np.uint64).tolist():
            kind = int(rng.integers(0, 12))
            if kind == 0:
                yield word | 0x3FFFFF  # u as large as can be
            elif kind == 1:
                yield word & int(rng.choice([0, MASK << 21, 0x1FFFFF]))
            elif kind == 2:
                yield word | MASK << int(rng.integers(0, 64))
            else:
                yield word
