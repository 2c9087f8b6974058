"""Threads and device of a fit: they affect its speed alone, results are the same to the bit.

The sums over all ratings are the work that grows with a table; a device is a file that offers them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from discreet.arrays import Array, Floats, Integers
from discreet.errors import require_choice
from discreet.kernels.threads import thread_count


class Rows(NamedTuple):
    """Fixed-point numbers of a compressed table: those of row i are values[ptr[i]:ptr[i+1]]."""

    ptr: Integers
    cols: Array
    values: Array


class Sums(Protocol):
    """The sums over all ratings, in integers: exact, and so the same on every device.

    Grids come as arguments, from `privacy.fixedpoint`: `grid` is how many steps the number 1 has,
    `finer` how many times finer the grid of sums is than that of contributions, `exact` how many
    products a 64-bit float adds up without rounding; a device that adds integers may ignore it.
    NumPy twins of all three are in `kernels.reference`, and tests/kernels/test_compute.py makes a
    device of them.
    """

    def votes(
        self, item: Array, rating: Array, weights: Array, scale: tuple[float, float], items: int
    ) -> Integers:
        """Votes (against, in favour) of every item: a record adds its weight to the two.

        In favour goes weight (rating - lo)/span, rounded down, with scale = (lo, span).
        """
        ...

    def user_vectors(
        self, records: Rows, z: Array, floor: float, *, grid: int, exact: int
    ) -> Floats:
        """u_i = g_i / sqrt(|g_i|^2 + h_i^2 + floor), g_i = sum_j a_ij z_j, h_i^2 = sum_j a_ij^2.

        One row of 64-bit floats for every person; `floor` keeps those with few ratings short.
        """
        ...

    def item_sums(self, records: Rows, U: Floats, *, finer: int, exact: int) -> Integers:
        """Sum over i of a_ij u_i for every item j, each product cut off on the finer grid."""
        ...


DEVICES = {"cpu": "discreet.kernels.sums:OnCPU"}
"""What offers the sums, made with a number of threads; imported when it is first asked for."""


@dataclass(frozen=True)
class Compute:
    """What a fit runs on: how many threads (all cores by default), and which device.

    >>> Compute(threads=2).workers
    2
    """

    threads: int | None = None
    device: str = "cpu"

    @property
    def workers(self) -> int:
        """How many threads to use."""
        return thread_count(self.threads)

    @property
    def sums(self) -> Sums:
        """The device's sums."""
        module, _, name = DEVICES[require_choice("device", self.device, DEVICES)].partition(":")
        return cast("Sums", getattr(import_module(module), name)(self.workers))
