"""Noise: the one module that draws it; everything else is given what was drawn here."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.errors import MissingExtraError, ParameterError, require_choice, require_count
from discreet.kernels.threads import WORTH_THREADS, even_ranges, run_ranges, thread_count
from discreet.privacy.attempts import add_exactly
from discreet.privacy.hashing import derive_key
from discreet.privacy.provenance import OPENSSL_ENTROPY, SEEDED, SYSTEM_ENTROPY
from discreet.privacy.strips import Law, strips_of

SAMPLERS = {"exact": "exact (Discreet)", "opendp": "exact (OpenDP)"}
"""What draws noise on integers where there is no seed, and what certificates call it: `privacy.
attempts`, or, for one more release and for Laplace noise alone, OpenDP's vetted samplers."""


@dataclass(frozen=True)
class Randomness:
    """The source of all noise of one fit: the operating system, or, repeatably, a seed.

    A seed is for experiments: whoever knows it can remove the noise, and nobody is protected.

    >>> sums = np.array([3, 5])
    >>> (Randomness(1).add_laplace(sums, 2.0) == Randomness(1).add_laplace(sums, 2.0)).all()
    np.True_
    """

    seed: int | None
    run: int = 0
    """Tells repeated runs with one seed apart, so that they do not draw the same noise."""
    sampler: str = "exact"
    """One of `SAMPLERS`; with a seed NumPy draws instead."""

    def __post_init__(self) -> None:
        require_choice("noise", self.sampler, SAMPLERS)
        if self.seed is not None:
            require_count("seed", self.seed, least=0)

    @property
    def entropy(self) -> str:
        """Where the noise comes from, as the certificate says it."""
        if self.seed is not None:
            return SEEDED
        return OPENSSL_ENTROPY if self.sampler == "opendp" else SYSTEM_ENTROPY

    @cached_property
    def training(self) -> np.random.Generator:
        """For starting points and shuffles, which protect nobody and need not be secure."""
        return self._generator(0)

    @cached_property
    def _seeded_noise(self) -> np.random.Generator:
        return self._generator(1)

    def _generator(self, stream: int) -> np.random.Generator:
        return np.random.default_rng(None if self.seed is None else [stream, self.run, self.seed])

    def key(self, purpose: str) -> str:
        """A key for the keyed hash, the same whenever it is asked for: secret, or from the seed."""
        if self.seed is None:
            return self._secret_keys.setdefault(purpose, secrets.token_hex(32))
        return derive_key(f"{purpose}:{self.run}", self.seed)

    @cached_property
    def _secret_keys(self) -> dict[str, str]:
        return {}

    def spherical(self, rows: int, d: int, scale: float) -> NDArray[np.float64]:
        """Rows with density proportional to exp(-|eta| / scale), the noise of Theorem 1.

        A uniform direction times a length drawn from Gamma(d, scale).
        """
        normal, length = self._normals_and_gammas(rows, d)
        norm = np.sqrt(np.einsum("jd,jd->j", normal, normal))
        return np.asarray(normal * (scale * length / norm)[:, None], dtype=np.float64)

    def add_laplace(
        self, sums: NDArray[np.int64], scale: float, *, threads: int | None = None
    ) -> NDArray[np.int64]:
        """The Laplace mechanism on integers: an x of probability ~ exp(-|x| / scale) is added.

        A record that moves the sums by D in all (L1) is thereby protected with epsilon = D/scale.

        Without a seed exactly: no floating-point number is involved, and where a result leaves 64
        bits it is cut off after the addition.
        """
        if self.seed is None:
            add = _by_opendp if self.sampler == "opendp" else _exactly
            return add(Law.LAPLACE, sums, scale, threads)
        # The difference of two geometric numbers has this distribution.
        stop = -np.expm1(-1 / scale)
        one, other = (self._seeded_noise.geometric(stop, sums.shape) for _ in range(2))
        return np.asarray(sums + one - other, dtype=np.int64)

    def add_gaussian(
        self, sums: NDArray[np.int64], scale: float, *, threads: int | None = None
    ) -> NDArray[np.int64]:
        """The Gaussian mechanism, rounded to integers: sums + scale N, N a normal number.

        The sums are integers, so to add a rounded number is to round afterwards: a record that
        moves the sums by D (L2) is protected as by real numbers, with mu = D/scale.
        `privacy.accounting` has what that promises.

        Without a seed exactly, as `add_laplace`.
        """
        if self.seed is None:
            if self.sampler == "opendp":
                raise ParameterError(
                    "noise='opendp' goes with Laplace noise only: OpenDP draws no rounded Gaussian "
                    "noise, and what its discrete Gaussian would promise is not proven here"
                )
            return _exactly(Law.ROUNDED, sums, scale, threads)
        noise = self._seeded_noise.standard_normal(sums.shape)
        noise *= scale
        noisy = np.rint(noise, out=noise).astype(np.int64)
        noisy += sums
        return noisy

    @property
    def grid_sampler(self) -> str:
        """The sampler of the discrete noises, as the certificate says it."""
        return SAMPLERS[self.sampler] if self.seed is None else "NumPy, seeded"

    def _normals_and_gammas(self, rows: int, d: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows of d normal numbers, and a Gamma(d) number for each."""
        if self.seed is not None:  # 32 bits of direction are plenty for an experiment
            noise = self._seeded_noise
            return noise.standard_normal((rows, d), dtype=np.float32), noise.standard_gamma(d, rows)
        even = d + d % 2
        uniform = _system_uniforms(rows * (even + d)).reshape(rows, even + d)
        # Box and Muller: two uniform numbers make two independent normal ones.
        radius = np.sqrt(-2 * np.log1p(-uniform[:, : even // 2]))
        angle = 2 * np.pi * uniform[:, even // 2 : even]
        normal = np.hstack([radius * np.cos(angle), radius * np.sin(angle)])[:, :d]
        # A Gamma(d) number is a sum of d exponential ones; 1 - uniform is never zero.
        return normal, -np.log1p(-uniform[:, even:]).sum(axis=1)


def _exactly(law: Law, sums: Integers, scale: float, threads: int | None) -> Integers:
    """Sums with noise of this law: `privacy.attempts`, from the operating system's words."""
    strips, noisy = strips_of(law, float(scale)), np.array(sums, dtype=np.int64).ravel()

    def add(lo: int, hi: int) -> None:
        add_exactly(lo, hi, strips, _system_words, noisy)

    workers = thread_count(threads)
    run_ranges(add, even_ranges(len(noisy), workers, least=WORTH_THREADS), workers)
    return noisy.reshape(sums.shape)


def require_sampler(name: str) -> None:
    """An error, before any work is done, if there is no sampler of this name, or not here."""
    require_choice("noise", name, SAMPLERS)
    if name == "opendp":
        _import_opendp()


def _import_opendp() -> Any:
    try:
        import opendp.prelude as dp  # imported here: it takes a third of a second
    except ImportError:
        raise MissingExtraError(
            "noise='opendp' needs OpenDP: install the extra with: pip install 'discreet[opendp]', "
            "or leave it to noise='exact', which draws the same law"
        ) from None
    return dp


def _by_opendp(law: Law, sums: Integers, scale: float, threads: int | None) -> Integers:
    """Sums through OpenDP's discrete Laplace mechanism, which needs no floating point either."""
    assert law is Law.LAPLACE
    dp = _import_opendp()
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    noisy = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    flat, out = sums.ravel(), np.empty(sums.size, dtype=np.int64)

    def fill(lo: int, hi: int) -> None:
        out[lo:hi] = noisy(flat[lo:hi].tolist())

    workers = thread_count(threads)
    run_ranges(fill, even_ranges(len(flat), workers), workers)
    return out.reshape(sums.shape)


def _system_words(count: int) -> Integers:
    """Words of 64 bits from the operating system's generator, which alone has a state."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.int64)


def _system_uniforms(count: int) -> NDArray[np.float64]:
    """Multiples of 2^-53 in [0, 1) from the operating system's generator."""
    bits = _system_words(count).view(np.uint64)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
