"""Noise: the one module that draws it; everything else is given what was drawn here."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import require_count
from discreet.privacy.hashing import derive_key

SYSTEM_ENTROPY = "operating system"
SEEDED = "seeded: protects nobody"


@dataclass(frozen=True)
class Randomness:
    """All that one fit draws: with no seed from the operating system, with a seed repeatable.

    >>> Randomness(1).spherical(2, 3, 1.0).shape
    (2, 3)
    """

    seed: int | None

    def __post_init__(self) -> None:
        if self.seed is not None:
            require_count("seed", self.seed, least=0)

    @property
    def entropy(self) -> str:
        """Where the noise comes from, as the certificate says it."""
        return SYSTEM_ENTROPY if self.seed is None else SEEDED

    @cached_property
    def training(self) -> np.random.Generator:
        """For starting points and shuffles, which protect nobody and need not be secure."""
        return self._generator(0)

    @cached_property
    def _seeded_noise(self) -> np.random.Generator:
        return self._generator(1)

    def _generator(self, stream: int) -> np.random.Generator:
        return np.random.default_rng(None if self.seed is None else [stream, self.seed])

    def key(self, purpose: str) -> str:
        """A key for the keyed hash: secret, or derived from the seed."""
        return secrets.token_hex(32) if self.seed is None else derive_key(purpose, self.seed)

    def spherical(self, rows: int, d: int, scale: float) -> NDArray[np.float64]:
        """Rows with density proportional to exp(-|eta| / scale), the noise of Theorem 1.

        A uniform direction times a length drawn from Gamma(d, scale).
        """
        normal, uniform = self._normals_and_uniforms(rows, d)
        # A Gamma(d) number is a sum of d exponential ones; 1 - uniform is never zero.
        length = -scale * np.log1p(-uniform).sum(axis=1)
        norm = np.sqrt(np.einsum("jd,jd->j", normal, normal))
        return np.asarray(normal * (length / norm)[:, None])

    def discrete_laplace(self, count: int, scale: float) -> NDArray[np.int64]:
        """Integers with probability proportional to exp(-|x| / scale).

        Without a seed by OpenDP's sampler, which is exact: no floating-point number is involved.
        """
        if self.seed is None:
            return _exact_laplace(count, scale)
        # The difference of two geometric numbers has this distribution.
        stop = -np.expm1(-1 / scale)
        one, other = (self._seeded_noise.geometric(stop, count) for _ in range(2))
        return np.asarray(one - other, dtype=np.int64)

    @property
    def laplace_sampler(self) -> str:
        """The sampler of `discrete_laplace`, as the certificate says it."""
        return "discrete Laplace, " + ("exact (OpenDP)" if self.seed is None else "NumPy, seeded")

    def _normals_and_uniforms(self, rows: int, d: int) -> tuple[NDArray[Any], NDArray[Any]]:
        if self.seed is not None:
            return (
                self._seeded_noise.standard_normal((rows, d)),
                self._seeded_noise.random((rows, d)),
            )
        even = d + d % 2
        uniform = _system_uniforms(rows * (even + d)).reshape(rows, even + d)
        # Box and Muller: two uniform numbers make two independent normal ones.
        radius = np.sqrt(-2 * np.log1p(-uniform[:, : even // 2]))
        angle = 2 * np.pi * uniform[:, even // 2 : even]
        normal = np.hstack([radius * np.cos(angle), radius * np.sin(angle)])[:, :d]
        return normal, uniform[:, even:]


def _exact_laplace(count: int, scale: float) -> NDArray[np.int64]:
    import opendp.prelude as dp  # imported here: it takes a third of a second

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    mechanism = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    return np.array(mechanism([0] * count), dtype=np.int64)


def _system_uniforms(count: int) -> NDArray[np.float64]:
    """Multiples of 2^-53 in [0, 1) from the operating system's generator."""
    bits = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
