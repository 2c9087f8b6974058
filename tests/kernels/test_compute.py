"""What computes changes no bit of a release: any number of threads, and a device of one's own."""

import sys
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest

import discreet as dc
from discreet.arrays import Array, Floats, Integers
from discreet.errors import ParameterError
from discreet.kernels import compute, reference
from discreet.kernels.compute import Compute, Rows
from discreet.readers.club import Club


@dataclass(frozen=True)
class OnPaper:
    """The NumPy twins as a device: all that another one has to offer."""

    threads: int

    def votes(
        self, item: Array, rating: Array, weights: Array, scale: tuple[float, float], items: int
    ) -> Integers:
        sums = np.zeros((2, items), dtype=np.int64)
        reference.add_votes(0, len(item), item, rating, weights, *scale, *sums)
        return sums

    def user_vectors(
        self, records: Rows, z: Array, floor: float, *, grid: int, exact: int
    ) -> Floats:
        U = np.empty((len(records.ptr) - 1, z.shape[1]))
        reference.user_vectors(0, len(U), *records, z, floor, grid, exact, U)
        return U

    def item_sums(self, records: Rows, U: Floats, *, finer: int, exact: int) -> Integers:
        V = np.empty((len(records.ptr) - 1, U.shape[1]), dtype=np.int64)
        reference.item_sums(0, len(V), *records, U, finer, exact, V)
        return V


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> Compute:
    """A device is a file, and a line in the table."""
    file = ModuleType("paper_device")
    file.OnPaper = OnPaper  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "paper_device", file)
    monkeypatch.setitem(compute.DEVICES, "paper", "paper_device:OnPaper")
    return Compute(device="paper")


@pytest.mark.parametrize("unit", ["rating", "person"])
def test_another_device_gives_the_same_release_to_the_bit(
    unit: str, club: Club, paper: Compute
) -> None:
    for scheme in (
        dc.Tally(items=club.items, unit=unit),
        dc.Chorus(items=club.items, unit=unit, delta=1e-6, factors=2, rounds=2),
    ):
        fits = [
            scheme.fit(club.ratings, dc.PrivacySpec.groups(seed=7), seed=3, compute=how)
            for how in (Compute(), Compute(threads=1), Compute(threads=3), paper)
        ]
        files = [fit.release.files() for fit in fits]
        assert all(other == files[0] for other in files[1:])


def test_an_unknown_device_is_named(small: dc.Ratings) -> None:
    with pytest.raises(ParameterError, match=r"device must be one of 'cpu'.*: got 'abacus'"):
        dc.Tally().fit(small, compute=Compute(device="abacus"))
